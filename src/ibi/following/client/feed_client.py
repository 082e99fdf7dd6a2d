"""The feeds of changes of remote Archives, as a resolver reads them, with their statements about Copies.

Each request has a connection of its own (`GET /api/changes`). Only the Archive's registered address is dialled, if the
address guard allows it. Answers are not trusted: they have a size limit and are parsed strictly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from itertools import pairwise
from ssl import SSLContext
from typing import Annotated, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from ibi.following.model.subscription import FeedEntry, SourceAddress, SourcePage
from ibi.following.ports.subscriptions import FeedBegunAgain, SourceAway, SourceRecord, SourceUnusable
from ibi.items.model.change import AnnouncedCopies, ChangeKind, FollowedChange, FollowedPage
from ibi.items.rules.provenance import LONGEST_LINK, MOST_LINKS
from ibi.membership.rules.authority import ArchiveRef
from ibi.net.address_guard import OPERATOR_NETWORKS, AddressGuard
from ibi.net.api_client import item_path
from ibi.net.http_connection import HttpResponse
from ibi.net.server_url import ServerUrl
from ibi.net.single_request import SingleRequests, settle
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.holders import FOLLOWER, LONGEST_STATEMENT
from ibi.standard.messages.membership import PATH_FORM
from ibi.standard.networks import IpNetwork
from ibi.standard.origin import Origin
from ibi.standard.reply import Failure
from ibi.standard.safe_text import printable
from ibi.standard.vocabulary import State

_MOST_BODY: Final = 2 << 20
_FEED_PATIENCE: Final = 3.0
"""Seconds beyond the time that the Archive is asked to wait."""
_OK: Final = 200
_NOT_FOUND: Final = 404

_Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
_Short = Annotated[str, msgspec.Meta(max_length=512)]


class _FollowedEntry(msgspec.Struct):
    label: _Short
    related: bool = True
    kind: _Short = ""
    ibip: _Short | None = None


class _Copies(msgspec.Struct):
    at: _Number
    path: _Short


class _FollowedPage(msgspec.Struct):
    epoch: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    changes: Annotated[list[_FollowedEntry], msgspec.Meta(max_length=1_000)]
    after: _Number
    end: _Number
    copies: _Copies | None = None


class _Statement(msgspec.Struct):
    statement: Annotated[str, msgspec.Meta(max_length=LONGEST_STATEMENT)]


class _Provenance(msgspec.Struct):
    chain: Annotated[list[Annotated[str, msgspec.Meta(max_length=LONGEST_LINK)]], msgspec.Meta(max_length=MOST_LINKS)]


class ArchiveFeeds:
    """Reads feeds at the addresses of their Archives. It never raises an error for their behaviour."""

    def __init__(self, guard: AddressGuard, *, tls: SSLContext | None = None) -> None:
        """`tls` is for HTTPS Archives; without it the machine's authorities are trusted."""
        self._requests = SingleRequests(guard, tls)

    async def read_feed(self, archive: ArchiveRef, after: int | None, epoch: str, wait: int) -> FollowedPage | None:
        query = "most=1" if after is None else f"after={after}&epoch={quote(epoch, safe='')}&wait={wait}"
        response = await self._get(archive, f"{archive.feed}?{query}", wait + _FEED_PATIENCE)
        if not isinstance(response, HttpResponse) or response.status != _OK:
            return None
        page = _read_page(response.body)
        if page is None or after is None:
            return page
        return page if page.epoch == epoch and after <= page.after <= page.end else None

    async def read_copies(self, archive: ArchiveRef, path: str) -> str | None:
        """Return the Archive's signed statement about the holders of its Copies, unchecked; None if there is none."""
        response = await self._get(archive, path)
        if not isinstance(response, HttpResponse) or response.status != _OK:
            return None
        try:
            return msgspec.json.decode(response.body, type=_Statement).statement
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    async def read_provenance(self, archive: ArchiveRef, label: Label) -> tuple[str, ...] | None:
        """Return the chain of an item's releases, unchecked; empty if the Archive has none, None if it does not
        answer."""
        response = await self._get(archive, f"/api/items/{quote(label.spelling, safe='/')}/provenance")
        if not isinstance(response, HttpResponse) or response.status not in (_OK, _NOT_FOUND):
            return None
        try:
            return () if response.status != _OK else tuple(msgspec.json.decode(response.body, type=_Provenance).chain)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    async def _get(self, archive: ArchiveRef, target: str, within: float = _FEED_PATIENCE) -> HttpResponse | Failure:
        origin, fields = Origin.parse(archive.address, archive.protocol.scheme), {"Accept": "application/json"}
        request = self._requests.send(origin, target, fields, most=_MOST_BODY, networks=archive.networks)
        return await settle(request, within)


def _read_entry(entry: _FollowedEntry) -> FollowedChange:
    return FollowedChange(entry.label, entry.related, entry.kind == ChangeKind.DELETED, entry.ibip)


def _read_page(body: bytes) -> FollowedPage | None:
    try:
        page = msgspec.json.decode(body, type=_FollowedPage)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    changes = tuple(_read_entry(entry) for entry in page.changes)
    copies = page.copies
    if copies is None or not PATH_FORM.fullmatch(copies.path):
        return FollowedPage(page.epoch, page.after, page.end, changes)
    return FollowedPage(page.epoch, page.after, page.end, changes, AnnouncedCopies(copies.at, copies.path))


MOST_ENTRIES: Final = 1_000
"""Maximum entries on a page of the feed."""
_MOST_PAGE: Final = 2 << 20
_MOST_RECORD: Final = 16 << 20
"""A record of ten thousand files has some megabytes."""
_MOST_SEARCH: Final = 8 << 20
_PATIENCE: Final = 10.0
"""Seconds for an answer, beyond the time that the source is asked to wait."""
_SEARCH_SIZE: Final = 100
_INTRODUCED_FOR: Final = 60.0
"""Seconds for which one statement about the follower is sent; the source accepts it for five minutes."""
_MOST_FOUND: Final = 1_000_000
"""Maximum items that a followed search may find."""
_MOST_PAGES_BETWEEN: Final = 100
"""Maximum pages of a search without any of the wanted items."""
_NOT_THERE: Final = frozenset({404})
_GONE: Final = 410

T = TypeVar("T")


class _Entry(msgspec.Struct):
    number: _Number
    label: _Short
    kind: _Short
    at: _Short
    version: _Number


class _Page(msgspec.Struct):
    epoch: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    changes: Annotated[list[_Entry], msgspec.Meta(max_length=MOST_ENTRIES)]
    after: _Number
    end: _Number
    archive: _Short = ""


class _Labels(msgspec.Struct):
    rep: _Short | None = None
    ibip: _Short | None = None


class _Record(msgspec.Struct):
    labels: _Labels
    state: _Short


class _Listed(msgspec.Struct):
    labels: _Labels


class _Links(msgspec.Struct):
    next: Annotated[str, msgspec.Meta(max_length=8_192)] | None = None


class _Found(msgspec.Struct):
    items: Annotated[list[_Listed], msgspec.Meta(max_length=_SEARCH_SIZE)]
    links: _Links


class SourceClient:
    """Implements the port `SourceGateway` over HTTP, for an event loop.

    The operator named the address. Every answer has a limit of size and time, and is parsed strictly: numbers continue
    without a gap, labels are names of items, and a redirect is no answer.
    """

    def __init__(
        self,
        guard: AddressGuard,
        networks: Sequence[IpNetwork] = (),
        *,
        tls: SSLContext | None = None,
        introduce: Callable[[str], str | None] | None = None,
    ) -> None:
        """`networks` are allowed beside public addresses for sources that a token named, since the operator may not
        know them. `tls` is for HTTPS; without it the machine's authorities are trusted. `introduce` returns a statement
        for the source at an address that names its follower; it may block."""
        self._requests, self._networks = SingleRequests(guard, tls), networks
        self._introduce = introduce
        self._introductions: dict[str, tuple[float, str | None]] = {}

    def _networks_of(self, source: SourceAddress) -> Sequence[IpNetwork]:
        return OPERATOR_NETWORKS if source.is_named_by_operator else self._networks

    async def page(self, source: SourceAddress, after: int | None, epoch: str, wait: int) -> SourcePage:
        query = {"most": 1} if after is None else {"after": after, "epoch": epoch, "wait": wait}
        fields = {} if after is None else await self._introduction(source)
        target = f"/api/changes?{urlencode(query)}"
        response = await self._get(source, target, _MOST_PAGE, within=wait + _PATIENCE, fields=fields)
        if response.status == _GONE and after is not None:
            raise FeedBegunAgain(source=source.url)
        page = _decode(source, _check_response(source, response), _Page)
        if after is None:
            return SourcePage(page.epoch, page.end, page.end, (), page.archive)
        if page.epoch != epoch:
            raise FeedBegunAgain(source=source.url)
        return SourcePage(page.epoch, page.after, page.end, _entries(source, page, after), page.archive)

    async def _introduction(self, source: SourceAddress) -> Mapping[str, str]:
        """Return the field that names the follower; its value is the same for a minute."""
        introduce = self._introduce
        if introduce is None:
            return {}
        now = asyncio.get_running_loop().time()
        made, text = self._introductions.get(source.url, (float("-inf"), None))
        if now - made >= _INTRODUCED_FOR:
            text = await asyncio.to_thread(introduce, source.url)
            self._introductions = {
                url: each for url, each in self._introductions.items() if now - each[0] < _INTRODUCED_FOR
            } | {source.url: (now, text)}
        return {} if text is None else {FOLLOWER.decode(): text}

    async def record(self, source: SourceAddress, label: Label, token: str | None) -> SourceRecord | None:
        response = await self._get(source, item_path(label), _MOST_RECORD, token=token)
        if response.status in _NOT_THERE:
            return None
        body = response.body if response.status == _GONE else _check_response(source, response)
        return _record(source, _decode(source, body, _Record))

    async def search(self, source: SourceAddress, words: str, token: str | None) -> AsyncIterator[RepositoryName]:
        query, seen, number = _search_query(words), set[str](), 0
        while True:
            page = await self._search_page(source, query, token)
            for name in _names(source, page):
                number += 1
                yield name
            # Take only the query of the link: this server is asked, whatever host its links name.
            query = urlsplit(page.links.next or "").query
            if not query or not page.items:
                return
            if query in seen or number > _MOST_FOUND:
                raise SourceUnusable(source=source.url, reason="the pages of its search do not come to an end")
            seen.add(query)

    async def find_among(
        self, source: SourceAddress, words: str, names: Collection[RepositoryName], token: str | None
    ) -> frozenset[RepositoryName]:
        """Return those of the items that the search finds.

        A source with another order than that of the dates, or with results before the requested date, is read to its
        end.
        """
        walk, pages = _WalkByDate(words, names), 0
        while walk.left:
            pages += 1
            if pages > len(names) + _MOST_PAGES_BETWEEN:
                raise SourceUnusable(source=source.url, reason="the pages of its search do not come to an end")
            page = await self._search_page(source, walk.next_query(), token)
            if not walk.take(_names(source, page), urlsplit(page.links.next or "").query):
                return await self._find_unordered(source, words, names, token)
        return frozenset(walk.found.intersection(names))

    async def _find_unordered(
        self, source: SourceAddress, words: str, names: Collection[RepositoryName], token: str | None
    ) -> frozenset[RepositoryName]:
        left = set(names)
        async for name in self.search(source, words, token):
            left.discard(name)
            if not left:
                break
        return frozenset(names) - left

    async def _search_page(self, source: SourceAddress, query: str, token: str | None) -> _Found:
        response = await self._get(source, f"/api/items?{query}", _MOST_SEARCH, token=token)
        return _decode(source, _check_response(source, response), _Found)

    async def _get(
        self,
        source: SourceAddress,
        target: str,
        most: int,
        *,
        token: str | None = None,
        within: float = _PATIENCE,
        fields: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        server = ServerUrl.parse(source.url)
        authorization = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = self._requests.send(
            server.origin,
            f"{server.path}{target}",
            {"Accept": "application/json", **(fields or {}), **authorization},
            most=most,
            networks=self._networks_of(source),
        )
        response = await settle(request, within)
        if response is Failure.TIMED_OUT:
            raise SourceAway(source=source.url, reason=f"no answer within {within:g} seconds")
        if isinstance(response, Failure):
            kind = SourceAway if response.is_silence else SourceUnusable
            raise kind(source=source.url, reason=response.value)
        return response


_NO_HOST: Final = "nowhere.invalid"
"""A host that no item has: in this position of a list only the date counts."""


class _WalkByDate:
    """A walk through the results of a search in the order of their dates, which looks for certain items.

    It begins at the date of the first item, and skips the dates between items. If the items were deposited one after
    the other, a page covers a hundred.
    """

    def __init__(self, words: str, names: Collection[RepositoryName]) -> None:
        self._words, self._query, self._read_until = words, "", 0
        self.left: list[RepositoryName] = sorted(names, key=_date_of)
        """Items that later pages may have. It is empty at the end of the walk."""
        self.found = set[RepositoryName]()
        """All results so far."""

    def next_query(self) -> str:
        """Return the query of the next page."""
        if not self._query:
            first = self.left[0].instant
            self._query = _search_query(self._words, {"after": str(RepositoryName.from_parts(_NO_HOST, 80, first))})
            self._read_until = first.seconds
        return self._query

    def take(self, listed: Sequence[RepositoryName], following: str) -> bool:
        """Take in the results of a page. `following` is the query of the page after it, empty at the last one.

        Return False if they are not in the order of their dates.
        """
        self.found.update(listed)
        if not following or not listed:
            self.left = []
            return True
        dates = [each.instant.seconds for each in listed]
        if not _ascend([self._read_until, *dates]):
            return False
        # The order within a second is arbitrary, and a page within one second shows no order.
        self._read_until = dates[-1]
        if dates[0] < self._read_until:
            self.left = [each for each in self.left if each.instant.seconds >= self._read_until]
        self.left = [each for each in self.left if each not in self.found]
        is_gap = bool(self.left) and self.left[0].instant.seconds > self._read_until
        self._query = "" if is_gap else following
        return True


def _date_of(name: RepositoryName) -> Instant:
    return name.instant


def _ascend(dates: Sequence[int]) -> bool:
    return all(earlier <= later for earlier, later in pairwise(dates))


def _search_query(words: str, more: Mapping[str, str] | None = None) -> str:
    return urlencode({"q": words, "sort": "oldest", "size": _SEARCH_SIZE, **(more or {})})


def _check_response(source: SourceAddress, response: HttpResponse) -> bytes:
    """Return the body of a successful answer."""
    if response.status == 200:
        return response.body
    if 300 <= response.status < 400:
        raise SourceUnusable(source=source.url, reason="it sends elsewhere, and only the source itself is asked")
    # A server that is overloaded, stopping or switched off answers again later.
    kind = SourceAway if response.status >= 500 or response.status == 429 else SourceUnusable
    raise kind(source=source.url, reason=f"HTTP status {response.status}")


def _decode(source: SourceAddress, body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        reason = printable(" ".join(str(error).split())[:200])
        raise SourceUnusable(source=source.url, reason=f"its answer cannot be read ({reason})") from None


def _entries(source: SourceAddress, page: _Page, after: int) -> tuple[FeedEntry, ...]:
    numbers = range(after + 1, after + 1 + len(page.changes))
    if [entry.number for entry in page.changes] != list(numbers):
        raise SourceUnusable(source=source.url, reason=f"the numbers of its feed do not go on after {after}")
    if page.after != after + len(page.changes) or page.end < page.after:
        raise SourceUnusable(
            source=source.url, reason=f"its feed says that it goes on after {page.after} of {page.end}"
        )
    if not page.changes and page.end > after:
        raise SourceUnusable(source=source.url, reason=f"its feed ends at {page.end}, and tells nothing after {after}")
    return tuple(_entry(source, each) for each in page.changes)


def _entry(source: SourceAddress, entry: _Entry) -> FeedEntry:
    try:
        name, kind = RepositoryName.parse(entry.label), ChangeKind(entry.kind)
    except (ValueError, InvalidInput):
        reason = f"entry {entry.number} of its feed has {printable(entry.kind[:40])} {printable(entry.label[:80])}"
        raise SourceUnusable(source=source.url, reason=reason) from None
    return FeedEntry(entry.number, str(name), kind, entry.at, entry.version)


def _names(source: SourceAddress, page: _Found) -> list[RepositoryName]:
    try:
        return [RepositoryName.parse(each.labels.rep or "") for each in page.items]
    except InvalidInput:
        raise SourceUnusable(source=source.url, reason="its search lists what has no repository name") from None


def _record(source: SourceAddress, record: _Record) -> SourceRecord:
    try:
        return SourceRecord(RepositoryName.parse(record.labels.rep or ""), State(record.state))
    except (ValueError, InvalidInput) as error:
        raise SourceUnusable(source=source.url, reason=f"its record cannot be read ({printable(str(error))})") from None
