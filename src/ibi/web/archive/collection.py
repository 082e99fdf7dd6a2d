"""`/col/<rep>/…`: an item's bytes, the list of its files, and its description.

The path is decoded once and must hold a label and the exact name of a file of that item; no spelling of `..` has a
meaning.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ibi.archive.counting import counted_download, counts_as_download
from ibi.archive.errors import UnknownItem
from ibi.archive.profile import Reader, encoded_path
from ibi.errors import IbiError, InvalidPersistentUrl
from ibi.label import Label, match_label
from ibi.messages.query import decode_query
from ibi.messages.values import IpAddress
from ibi.model.file import File
from ibi.model.item import Item
from ibi.persistent_url import PersistentUrl
from ibi.ports.content import ContentDamaged
from ibi.services.integrity.verified_file import FirstReading, FirstReadingUnderWay, VerifiedFile
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.archive.content_host import ContentHost
from ibi.web.archive.file_answer import FileAnswer
from ibi.web.archive.metadata import MetadataPage, gone_answer
from ibi.web.http.content_security import is_to_run, safety_headers
from ibi.web.http.request import media_type_in_full, percent_decode, raw_path, raw_query, reader_address, values
from ibi.web.http.request_errors import ListingNotPermitted, MethodNotAllowed, NoSuchFile, PathNotFound
from ibi.web.pages import redirect, refusal
from ibi.web.pages.item_page import FilePage
from ibi.web.pages.preview import PREVIEW
from ibi.web.pages.versions_page import VERSIONS, VersionsPage, version_in

PREFIX: Final = "/col/"
_DOC, _METADATA = "/doc/", "/metadata"
_CONDITIONS: Final = frozenset({b"if-none-match", b"if-modified-since"})
"""Headers with which a reader who has the file already is sent none of it."""


class Collection:
    """An ASGI application. Access is judged by the address that fetches the bytes, whatever a resolver was told."""

    def __init__(self, site: ArchiveSite, resolver: str | None = None) -> None:
        """`resolver` is where persistent URLs are resolved; without it that of the site, if it has one."""
        self._resolver, self._host = resolver or site.resolver, ContentHost(site)
        self._site, self._metadata, self._files = site, MetadataPage(site), FilePage(site)
        self._versions = VersionsPage(site)
        self._first_reading = FirstReading()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope, receive, send)
        except IbiError as error:
            answer = refusal(error, scope)
        if answer is not None:
            await without_body(answer, scope)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Return the answer; None if it is a file, which is sent already."""
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed(method=scope["method"][:20], allowed="GET, HEAD")
        path = percent_decode(raw_path(scope)).removeprefix(PREFIX)
        found = match_label(path)
        if found is None:
            raise PathNotFound()
        label, rest = found[0], path[found[1] :]
        item = await self._site.find(label)
        if item is None:
            return self._redirect_to_resolver(label, rest, raw_query(scope))
        is_file = rest.startswith(_DOC) and len(rest) > len(_DOC)
        elsewhere = self._host.for_bytes(scope) if is_file else self._host.for_pages(scope)
        if elsewhere is not None:
            return redirect(elsewhere)
        if is_file:
            return await self._file(item, rest[len(_DOC) :], scope, receive, send)
        return await self._page(item, rest, scope)

    # --- pages ---

    async def _page(self, item: Item, rest: str, scope: Scope) -> Response:
        query = decode_query(raw_query(scope))
        if rest == _METADATA:
            named = next((value for name, value in query if name == "format"), None)
            return await self._metadata.answer(item, named, scope)
        if rest == VERSIONS:
            if item.state is State.DELETED:
                return await gone_answer(self._site, item, scope)
            before = next((value for name, value in query if name == "before"), "")
            return await self._versions.answer(item, before, scope)
        if rest not in {"", "/", "/doc", _DOC}:
            raise PathNotFound()
        if item.state is State.DELETED:
            return await gone_answer(self._site, item, scope)
        if rest != _DOC:
            place = _DOC if rest == "/doc" else _METADATA
            return redirect(f"{self._site.public_url}/col/{item.rep.spelling}{place}")
        if any(name == "list" for name, _ in query):
            return self._list(item, next((value for name, value in query if name == "page"), "1"), scope)
        return self._target(item, scope)

    def _target(self, item: Item, scope: Scope) -> Response:
        """Redirect to the one address of the file: links inside it are relative to that address, and caches store it
        once."""
        urls, may_see = self._site.urls, self._may_see(item, reader_address(scope, self._site.proxies))
        if item.target is not None and (may_see or item.visibility.listing):
            return redirect(urls.file(item, item.target))
        if item.target_url is not None and may_see:
            return redirect(item.target_url)
        return redirect(urls.metadata(item, None, None))

    def _may_see(self, item: Item, address: IpAddress | None) -> bool:
        return Reader(() if address is None else (address,), self._site.now).may_see(item.visibility)

    def _list(self, item: Item, number: str, scope: Scope) -> Response:
        if not item.visibility.listing:
            raise ListingNotPermitted(label=str(item.rep))
        page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
        return self._files.answer(item, page, scope)

    # --- bytes ---

    async def _file(self, item: Item, path: str, scope: Scope, receive: Receive, send: Send) -> Response | None:
        if item.state is State.DELETED:
            return await gone_answer(self._site, item, scope)
        address = reader_address(scope, self._site.proxies)
        may_see = self._may_see(item, address)
        number = version_in(scope)
        # What an earlier version has is judged by what the item is now.
        shown = item if number is None or not may_see else await self._shown_version(item, number)
        file = None if shown is None else shown.file(path)
        # A reader who may neither list the files nor see them does not learn which names exist.
        if file is None and (may_see or item.visibility.listing):
            raise NoSuchFile(label=item.rep.spelling, path=repr(path[:200]))
        if is_to_run(scope["headers"]):
            raise PathNotFound()
        if shown is None or file is None or not may_see:
            return redirect(self._site.urls.metadata(item, None, None))
        at_once = scope["method"] == "GET" and not any(name in _CONDITIONS for name, _ in scope["headers"])
        opened, media_type = await asyncio.to_thread(self._open, item, file, number, at_once=at_once)
        with opened:
            answer = FileAnswer(shown, opened, scope["method"], scope["headers"])
            await self._check(item, file, opened, answer, number)
            looked_at = scope["query_string"] == PREVIEW.encode()
            if counts_as_download(scope["method"], answer.status, answer.offset) and not looked_at:
                self._count(item, file.path, str(address), scope)
            await answer.send(receive, send, self._headers(item, file.path, media_type))
        return None

    async def _shown_version(self, item: Item, number: int) -> Item | None:
        return (await asyncio.to_thread(self._site.versions.find, item, number)).item

    def _open_file(self, item: Item, path: str, number: int | None) -> VerifiedFile:
        if number is None:
            return self._site.open_file(item, path)
        return self._site.versions.open_file(item, number, path)

    async def _check(
        self, item: Item, file: File, opened: VerifiedFile, answer: FileAnswer, number: int | None
    ) -> None:
        """Refuse to send bytes that are known to be damaged. A reader who has the file already is not told: their bytes
        are right. A part of a large file is sent once its blocks are known."""
        integrity = self._site.integrity
        if integrity is not None and answer.status != HTTPStatus.NOT_MODIFIED:
            integrity.require_file(str(item.rep), file.path, opened.digest)
        if answer.is_part and not await asyncio.to_thread(opened.knows_blocks):
            try:
                await self._first_reading.learn(opened.digest, lambda: self._open_file(item, file.path, number))
            except TimeoutError:
                raise FirstReadingUnderWay(name=str(item.rep), path=file.path) from None

    def _open(self, item: Item, file: File, number: int | None, *, at_once: bool) -> tuple[VerifiedFile, str]:
        """Open the file and return it with its media type. Blocks. A file that lost bytes on the disk is never sent as
        if it were whole. A small one that is certainly sent is read `at_once`: another trip to a thread would cost
        more."""
        opened = self._open_file(item, file.path, number)
        try:
            if opened.digest == file.sha512 and opened.size != file.size:
                raise opened.damage("it has lost or gained bytes")
            if at_once:
                opened.take_in_hand()
            return opened, _media_type(file, opened)
        except BaseException:
            opened.close()
            raise

    def _headers(self, item: Item, path: str, media_type: str) -> dict[str, str]:
        """Headers that let caches store the file but revalidate it each time: visibility and content may have
        changed."""
        caching = "no-cache" if item.visibility.is_public else "private, no-cache"
        safe = safety_headers(media_type, path, pages=self._site.origin)
        return {**safe, "cache-control": caching}

    def _count(self, item: Item, path: str, address: str, scope: Scope) -> None:
        site, agent = self._site, " ".join(values(scope["headers"], b"user-agent"))[:500]
        robot = site.is_robot(agent)
        site.count(counted_download(item, path, f"{address} {agent}", site.recent, site.now, robot=robot))

    # --- what is not here ---

    def _redirect_to_resolver(self, label: Label, rest: str, query: str) -> Response:
        """Redirect to the resolver (E34): links between repositories are relative, and lead here wherever the other one
        is kept."""
        resolver = self._resolver
        wanted = None if resolver is None else _persistent(label, rest, query)
        if resolver is None or wanted is None:
            raise UnknownItem(label=label.spelling)
        return redirect(wanted.text(resolver, keep_spelling=True))


def _media_type(file: File, opened: VerifiedFile) -> str:
    try:
        return media_type_in_full(file.media_type, opened)
    except ContentDamaged:
        return file.media_type  # noted; a reader who has the file already still gets 304


def _persistent(label: Label, rest: str, query: str) -> PersistentUrl | None:
    """The persistent URL of what such an address names; None if it can name nothing."""
    pairs = decode_query(query)
    if rest == _METADATA:
        named = next((value for name, value in pairs if name == "format"), None)
        target = f":({named})" if named and named not in {"html", "json"} else ":"
    elif rest == _DOC and any(name == "list" for name, _ in pairs):
        target = "?ibiurl.verblist=GetFileList"
    elif rest in {"/doc", _DOC}:
        target = ""
    elif rest in {"", "/"}:
        target = ":"
    elif rest.startswith(_DOC):
        target = encoded_path(rest[len(_DOC) - 1 :]) + (f"?{query}" if query else "")
    else:
        return None
    try:
        return PersistentUrl.parse(f"/{label.spelling}{target}")
    except (InvalidPersistentUrl, UnicodeEncodeError):
        return None


def without_body(answer: Response, scope: Scope) -> Response:
    """The answer to a HEAD: the headers of the whole, without its body."""
    if scope["method"] == "HEAD":
        answer.body = b""
    return answer
