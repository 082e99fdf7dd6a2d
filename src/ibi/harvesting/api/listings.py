"""Lists of all items for crawlers and harvesters: `/robots.txt`, `/sitemap.xml`, `/items.atom`, and dumps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from ibi.collections.service import Collections
from ibi.harvesting.ports import DumpFiles
from ibi.items.model.change import ChangeKind, ChangePage, ItemChange
from ibi.items.model.item import Item
from ibi.items.model.search import Facet
from ibi.items.ports.catalog import ChangeFeed
from ibi.jobs.promptness import beside
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.web.atom import MEDIA_TYPE, Feed, atom
from ibi.web.rendering import SITE, SiteFacts
from ibi.web.request_errors import InvalidParameter, PathNotFound, whole_number
from ibi.web.sites import ArchiveSite

SITEMAP: Final = "/sitemap.xml"
"""The address of the sitemap, named to crawlers if there is such a route."""

_SEARCH: Final = ("q", *(facet.value for facet in Facet), "sort")
"""Parameters of a search. `page` alone is no trap."""
_ANYWHERE: Final = ("format", "ibiurl.info", "ibiurl.trace", "servicesubject")
"""Parameters that show a page in another way: formats, traces, requests of resolvers."""
_SEGMENTS: Final = (
    *("account", "admin", "api", "claims", "deposit", "explain", "inbox", "jobs", "language", "oai"),
    *("sign-in", "sign-out"),
)
"""First segments below which nothing is for crawlers."""
_ENDS: Final = ("$", "/", "?")
"""Ends of a whole segment. Labels such as `jobs.example.org/…` begin in the same way."""
_DAY: Final = 86_400


def robots_txt(public_url: str, *, has_sitemap: bool) -> str:
    """Return the text for crawlers of the server at `public_url` (RFC 9309).

    Crawlers see items and files, and stay out of endless lists: every value of every facet leads to another list, each
    link has a trace, and each page of an item exists again in every format. A crawler that follows all of them requests
    millions of pages of an Archive with a thousand items. Lists without a query stay open: they lead to every item.
    """
    base = urlsplit(public_url).path.rstrip("/")
    lines = ["User-agent: *", *(f"Disallow: {base}{pattern}" for pattern in _list_closed())]
    if has_sitemap:
        lines += ["", f"Sitemap: {public_url}{SITEMAP}"]
    return "\n".join((*lines, ""))


def _list_closed() -> Iterator[str]:
    """Yield patterns. `*` stands for any text, and each pattern has an open end, except before `$`."""
    for name in _SEARCH:
        yield f"/search*?{name}="
        yield f"/search*&{name}="
    for name in _ANYWHERE:
        yield f"/*?{name}="
        yield f"/*&{name}="
    for segment in _SEGMENTS:
        for end in _ENDS:
            yield f"/{segment}{end}"


class RobotsPage:
    """The page `/robots.txt`, the same for all readers."""

    def __init__(self, public_url: str, *, has_sitemap: bool) -> None:
        self._body = robots_txt(public_url, has_sitemap=has_sitemap).encode()

    async def get(self, _: Request) -> Response:
        return Response(self._body, headers={"cache-control": f"max-age={_DAY}"}, media_type="text/plain")


PART: Final = 10_000
"""Numbers of the feed that belong to one part. The protocol allows 50,000 addresses and 50 MB."""
MOST_PARTS: Final = 50_000
_A_READING: Final = 1_000
_MEDIA_TYPE: Final = "application/xml"
_HEADERS: Final = {"cache-control": "public, max-age=3600"}
_NAMESPACE: Final = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class SitemapPages:
    """The sitemap: the pages of all items for crawlers, each with its date (sitemaps.org, protocol 0.9).

    The address without parameters is an index. `?after=N` is one part of it, with the items that have their current
    entry among the 10,000 after that number in the feed of changes. So a part takes two megabytes at most, and a change
    moves one item from its part to the last one. By the dates of the parts, crawlers read only the changes again.
    Tombstones are left out.
    """

    def __init__(self, site: ArchiveSite, feed: ChangeFeed, collections: Collections | None) -> None:
        self._feed, self._base, self._collections = feed, site.public_url, collections

    def routes(self) -> list[Route]:
        return [Route(SITEMAP, self.get)]

    async def get(self, request: Request) -> Response:
        after = _multiple_of(PART, request, "the index has")
        body = await beside(self._index if after is None else lambda: self._part(after))
        if body is None:
            raise PathNotFound()
        return Response(body, 200, _HEADERS, _MEDIA_TYPE)

    def _index(self) -> bytes | None:
        end = self._feed.since(0, 1).end
        parts = [
            f"<sitemap><loc>{escape(f'{self._base}{SITEMAP}?after={after}')}</loc>"
            f"<lastmod>{self._last_date(min(after + PART, end))}</lastmod></sitemap>\n"
            for after in range(0, min(end, PART * MOST_PARTS), PART)
            if next(self._pages(after), None) is not None
        ]
        return _document("sitemapindex", parts)

    def _last_date(self, number: int) -> Instant:
        """Return when the entry of that number, the last of its part, was listed."""
        return Instant(self._feed.since(number - 1, 1).changes[0].listed)

    def _part(self, after: int) -> bytes | None:
        parts = [
            f"<url><loc>{escape(f'{self._base}/col/{each.label}/metadata')}</loc>"
            f"<lastmod>{each.at[:19]}Z</lastmod></url>\n"
            for each in self._pages(after)
        ]
        return _document("urlset", parts if after else [*self._of_collections(), *parts])

    def _of_collections(self) -> Iterator[str]:
        """Yield the pages of collections, which are in the first part."""
        for each in () if self._collections is None else self._collections.list():
            yield (
                f"<url><loc>{escape(f'{self._base}/collections/{each.name}')}</loc>"
                f"<lastmod>{each.changed}</lastmod></url>\n"
            )

    def _pages(self, after: int) -> Iterator[ItemChange]:
        """Yield the entries of a part with items that have a page."""
        end = after + PART
        while True:
            found = self._feed.current(after, _A_READING).changes
            yield from (each for each in found if each.number <= end and each.kind is ChangeKind.PUT)
            if len(found) < _A_READING or found[-1].number >= end:
                return
            after = found[-1].number


def _document(name: str, parts: list[str]) -> bytes | None:
    """Return the document; None if it is empty, which the protocol does not allow."""
    if not parts:
        return None
    beginning = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} {_NAMESPACE}>\n'
    return f"{beginning}{''.join(parts)}</{name}>\n".encode()


DUMP: Final = "/dump.ndjson.gz"


class DumpPage:
    """The page `/dump.ndjson.gz` with the newest dump of the Archive, which its server writes every day.

    A dump never changes once it has its name: a download stays whole when the next dump takes its place.
    """

    def __init__(self, files: DumpFiles) -> None:
        self._files = files

    def routes(self) -> list[Route]:
        return [Route(DUMP, self.get)]

    async def get(self, _: Request) -> Response:
        newest = await beside(self._files.newest)
        if newest is None:  # the first one is being written
            raise PathNotFound()
        return FileResponse(newest, headers={"cache-control": "no-cache"}, media_type="application/gzip")


ITEMS_FEED: Final = "/items.atom"
FEED_PART: Final = 100
"""Numbers of the feed of changes in one part."""


class _Part(NamedTuple):
    """The items of a part in the order of their entries, the number after which it begins, and the end of the feed."""

    items: Sequence[Item]
    after: int
    epoch: str
    end: int

    @property
    def whole_parts(self) -> int:
        """The number at which the last whole part ends."""
        return self.end // FEED_PART * FEED_PART


class ItemsFeed:
    """`/items.atom`: all items in the order of their changes, as a feed that goes back to the first one (RFC 5005 §4).

    A part has the items that have their current entry among a hundred numbers of the feed of changes. These numbers
    never change within an epoch. A reader that has a part need not request it again, because an item that changes later
    is in a later part. The address without parameters has the last whole part, and the items after it.
    """

    def __init__(self, site: ArchiveSite, feed: ChangeFeed) -> None:
        self._site, self._feed = site, feed
        self._place = f"{site.public_url}{ITEMS_FEED}"

    def routes(self) -> list[Route]:
        return [Route(ITEMS_FEED, self.get)]

    async def get(self, request: Request) -> Response:
        after, epoch = _multiple_of(FEED_PART, request, "the links have"), request.query_params.get("epoch")
        part = await beside(self._newest if after is None else lambda: self._part(after))
        if after is not None and (epoch != part.epoch or after + FEED_PART > part.end):
            raise PathNotFound()  # of another epoch, or not whole yet: readers begin again with the newest
        facts, site = request.scope.get(SITE, SiteFacts()), self._site
        body = atom(
            self._facts(facts.name, part, is_archive=after is not None),
            part.items[::-1],
            site.now,
            lambda item: site.persistent_url(item.labels),
            lambda item: site.urls.metadata(item, None, None),
        )
        return Response(body, 200, {"cache-control": "public, max-age=300"}, MEDIA_TYPE)

    def _facts(self, name: str, part: _Part, *, is_archive: bool) -> Feed:
        links = []
        if is_archive:
            links.append(("current", self._place))
            if part.after >= FEED_PART:
                links.append(("prev-archive", self._address(part.epoch, part.after - FEED_PART)))
            if part.after + FEED_PART < part.whole_parts:
                links.append(("next-archive", self._address(part.epoch, part.after + FEED_PART)))
        elif part.whole_parts:
            links.append(("prev-archive", self._address(part.epoch, part.whole_parts - FEED_PART)))
        return Feed(
            title=name,
            own_url=self._address(part.epoch, part.after) if is_archive else self._place,
            id_url=self._place,
            page_url=f"{self._site.public_url}/search",
            author=name,
            is_archive=is_archive,
            archive_urls=tuple(links),
        )

    def _address(self, epoch: str, after: int) -> str:
        return f"{self._place}?epoch={epoch}&after={after}"

    def _newest(self) -> _Part:
        whole = self._feed.since(0, 1).end // FEED_PART * FEED_PART
        return self._read(max(0, whole - FEED_PART), 2 * FEED_PART)

    def _part(self, after: int) -> _Part:
        return self._read(after, FEED_PART)

    def _read(self, after: int, numbers: int) -> _Part:
        page = self._feed.current(after, numbers)
        return _Part(tuple(self._items(page, after + numbers)), after, page.epoch, page.end)

    def _items(self, page: ChangePage, last: int) -> Iterator[Item]:
        for change in page.changes:
            if change.number > last or change.kind is not ChangeKind.PUT:
                continue
            try:
                item = self._site.catalog.find(change.rep)
            except IbiError:  # skip it, and show the others
                continue
            if item is not None:
                yield item


def _multiple_of(part: int, request: Request, where: str) -> int | None:
    """Return the parameter `after`, a number of passed entries. `where` names the source of valid numbers."""
    text = request.query_params.get("after")
    if text is None:
        return None
    number = whole_number(text, 15)
    if number is None or number % part:
        raise InvalidParameter(field="after", reason=f"it is 0 or a multiple of {part}, as {where} it")
    return number
