"""Delivery of files to readers: opened, checked, sent in ranges, and counted as use.

Access is decided before: by the reader's address for links, by a token for programs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from time import monotonic
from typing import Final, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ibi.archive.counting import counted_download, counts_as_download
from ibi.archive.profile import encoded_path
from ibi.archive.reader_requests import LinkOver
from ibi.instant import Instant
from ibi.model.content import BLOCK
from ibi.model.file import File
from ibi.model.item import Item
from ibi.ports.archive_store import ContentDamaged
from ibi.services.correspondence.reader_requests import ReaderRequests
from ibi.services.integrity.verified_file import PIECE, FirstReading, FirstReadingUnderWay, VerifiedFile
from ibi.services.items.stored_item import ItemChanging
from ibi.services.sites import ArchiveSite
from ibi.web.http.headers import Validators, attachment_headers, byte_range, is_to_run
from ibi.web.http.request import RawHeaders, media_type_in_full, reader_address, repr_digest, values
from ibi.web.http.request_errors import NoSuchFile, PathNotFound
from ibi.web.http.request_middleware import AnswerBroken
from ibi.web.pages.rendering import render
from ibi.web.pages.words import shown_title

# --- the answer -------------------------------------------------------------------------------------------------------

MOST_SENT: Final = 256 * 1024
"""Bytes passed to the connection at a time."""
_SLOW: Final = 1.0
"""Seconds in which a fast reader takes a block. A slower one gets small pieces."""


class BlockMemory:
    """Memory for whole blocks, shared by all downloads: fast readers cost less in large pieces.

    When it is used up, and for slow readers, pieces are small. For one event loop.
    """

    def __init__(self, most: int = 16 << 20) -> None:
        self._left = most

    def take(self, size: int) -> bool:
        if size > self._left:
            return False
        self._left -= size
        return True

    def give_back(self, size: int) -> None:
        self._left += size


_MEMORY: Final = BlockMemory()


class SentContent(Protocol):
    """The content of an answer: a file, or bytes made from several."""

    size: int
    digest: str
    """Changes with the bytes."""

    @property
    def is_at_hand(self) -> bool: ...

    def pieces(self, offset: int, length: int, by_block: Callable[[], bool]) -> Iterator[bytes]: ...


class FileAnswer:
    """The answer to one request for one file that the reader may see: whole or a part.

    Everything is decided before the first byte is sent. Threads read and check the bytes, a piece at a time. Damage
    found before the first byte is a refusal. Later, the connection is broken before the last piece.
    """

    def __init__(
        self, item: Item, file: SentContent, method: str, headers: RawHeaders, memory: BlockMemory = _MEMORY
    ) -> None:
        """Raise `PreconditionFailed` or `RangeNotSatisfiable` if the request contradicts the file."""
        self._file, self._memory, self._taken = file, memory, 0
        self._is_slow, self._first = False, b""
        self._validators = validators = Validators(file.digest, item.updated.seconds)
        validators.check(headers)
        self._sends_body = method == "GET"
        self.status, self.offset, self.length = HTTPStatus.OK, 0, file.size
        if validators.is_known(headers):
            self.status, self.length = HTTPStatus.NOT_MODIFIED, 0
        elif method == "GET" and validators.allow_range(headers):
            part = byte_range(values(headers, b"range"), file.size)
            if part is not None:
                self.status, (self.offset, self.length) = HTTPStatus.PARTIAL_CONTENT, part

    @property
    def is_part(self) -> bool:
        """True if less than the whole file is sent."""
        return self._sends_body and self.length < self._file.size and self.status == HTTPStatus.PARTIAL_CONTENT

    @property
    def sends_bytes(self) -> bool:
        return self._sends_body and self.length > 0

    async def send(self, receive: Receive, send: Send, headers: Mapping[str, str]) -> None:
        """Send the file. `headers` are those of the whole file, whatever part of it is sent.

        Raise `ContentDamaged` for damage found before the first byte was sent, `AnswerBroken` for damage found after
        it.
        """
        try:
            await self._send(receive, send, headers)
        finally:
            self._give_back()

    async def _send(self, receive: Receive, send: Send, headers: Mapping[str, str]) -> None:
        pieces: Iterator[bytes] = iter(())
        if self._sends_body and self.length:
            self._take()
            pieces = self._file.pieces(self.offset, self.length, self._has_memory)
            self._first = next(pieces) if self._file.is_at_hand else await _next(pieces)
        shown = {**headers, **self._own_headers()}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in shown.items()]
        await send({"type": "http.response.start", "status": int(self.status), "headers": raw})
        if self._first:
            await self._send_body(pieces, receive, send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _own_headers(self) -> dict[str, str]:
        headers = {
            "etag": self._validators.etag,
            "last-modified": self._validators.last_modified,
            **self._digest_header(),
            "accept-ranges": "bytes",
        }
        if self.status == HTTPStatus.PARTIAL_CONTENT:
            headers["content-range"] = f"bytes {self.offset}-{self.offset + self.length - 1}/{self._file.size}"
        if self.status != HTTPStatus.NOT_MODIFIED:
            headers["content-length"] = str(self.length)
        return headers

    def _digest_header(self) -> dict[str, str]:
        return {"repr-digest": repr_digest(self._file.digest)}

    def _take(self) -> None:
        """Take memory for the block that is sent and, for a longer part, for the next one, which is read meanwhile."""
        wanted = min(self._file.size, BLOCK) if self.length <= BLOCK else 2 * BLOCK
        is_worth_it = not (self._taken or self._is_slow or self._file.is_at_hand)
        if is_worth_it and self._memory.take(wanted):
            self._taken = wanted

    def _has_memory(self) -> bool:
        return self._taken > 0 and not self._is_slow

    def _give_back(self) -> None:
        self._memory.give_back(self._taken)
        self._taken = 0

    async def _send_body(self, rest: Iterator[bytes], receive: Receive, send: Send) -> None:
        """Send the body. For a large file, watch for a disconnect: uvicorn reports no error when the reader has
        gone."""
        leaving = asyncio.ensure_future(_wait_for_disconnect(receive)) if self.length > PIECE else None
        left, coming = self.length, None
        piece, self._first = self._first, b""
        try:
            while True:
                left -= len(piece)
                self._take()
                coming = asyncio.ensure_future(_next(rest)) if left and self._has_memory() else None
                began = monotonic()
                await _send_piece(piece, send)
                if not left:
                    return
                if leaving is not None and leaving.done():
                    raise ClientDisconnect
                if not self._has_memory():
                    self._give_back()
                self._is_slow = self._is_slow or monotonic() - began > _SLOW
                piece = await (coming or _next(rest))
                if not piece:
                    raise AnswerBroken  # less than was promised
        except (ContentDamaged, ItemChanging):
            raise AnswerBroken from None
        finally:
            if leaving is not None:
                leaving.cancel()
            if coming is not None:
                _abandon(coming)


def _abandon(coming: asyncio.Future[bytes]) -> None:
    """Drop a piece that is no longer needed. Damage in it has been noted already."""
    if coming.done() and not coming.cancelled():
        coming.exception()
    coming.cancel()


async def _send_piece(piece: bytes, send: Send) -> None:
    """Send a piece and wait until the reader has taken enough of it: the next piece would wait in memory too."""
    view = memoryview(piece)
    for start in range(0, len(view), MOST_SENT):
        await send({"type": "http.response.body", "body": view[start : start + MOST_SENT], "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": True})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _next(pieces: Iterator[bytes]) -> bytes:
    return await asyncio.to_thread(next, pieces, b"")


# --- delivery ---------------------------------------------------------------------------------------------------------

_CONDITIONS = frozenset({b"if-none-match", b"if-modified-since"})
"""Headers with which a reader who has the file already receives none of it."""

HeadersOf = Callable[[str], Mapping[str, str]]
"""Returns the headers of a file by its media type."""


class FileDelivery:
    def __init__(self, site: ArchiveSite) -> None:
        self._site, self._first_reading = site, FirstReading()

    async def send(
        self,
        item: Item,
        file: File,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: HeadersOf,
        *,
        version: tuple[int, Item] | None = None,
        is_use: bool = True,
    ) -> None:
        """Answer a request for a file that the reader may see.

        The file is in an earlier `version`, given by its number and the item as it was, or in the present one. Without
        `is_use`, the answer is not counted.
        """
        open_file = partial(self._open_file, item, file.path, None if version is None else version[0])
        at_once = scope["method"] == "GET" and not any(name in _CONDITIONS for name, _ in scope["headers"])
        opened, media_type = await asyncio.to_thread(_open, open_file, file, at_once=at_once)
        with opened:
            shown = item if version is None else version[1]
            answer = FileAnswer(shown, opened, scope["method"], scope["headers"])
            await self._check(item, file, opened, answer, open_file)
            if is_use:
                self.count(item, file.path, scope, answer.status, answer.offset)
            await answer.send(receive, send, headers(media_type))

    def _open_file(self, item: Item, path: str, number: int | None) -> VerifiedFile:
        if number is None:
            return self._site.open_file(item, path)
        return self._site.versions.open_file(item, number, path)

    async def _check(
        self, item: Item, file: File, opened: VerifiedFile, answer: FileAnswer, open_again: Callable[[], VerifiedFile]
    ) -> None:
        """Refuse to send bytes that are known to be damaged.

        A reader who has the file already gets no error, because the reader's bytes are right. A part of a large file is
        sent once its blocks are known.
        """
        integrity = self._site.integrity
        if integrity is not None and answer.status != HTTPStatus.NOT_MODIFIED:
            integrity.require_file(str(item.rep), file.path, opened.digest)
        if answer.is_part and not await asyncio.to_thread(opened.knows_blocks):
            try:
                await self._first_reading.learn(opened.digest, open_again)
            except TimeoutError:
                raise FirstReadingUnderWay(name=str(item.rep), path=file.path) from None

    def count(self, item: Item, path: str, scope: Scope, status: int, offset: int = 0) -> None:
        """Count an answer as use, if it is a download. A second one of the same `path` right after it is a double
        click."""
        if not counts_as_download(scope["method"], status, offset):
            return
        site, agent = self._site, " ".join(values(scope["headers"], b"user-agent"))[:500]
        address, robot = reader_address(scope, site.proxies), site.is_robot(agent)
        counted = counted_download(item, path, f"{address} {agent}", site.recent, site.now, robot=robot)
        site.count(counted, " ".join(values(scope["headers"], b"referer")))


def _open(open_file: Callable[[], VerifiedFile], file: File, *, at_once: bool) -> tuple[VerifiedFile, str]:
    """Open the file and return it with its media type. This call blocks.

    A file that lost bytes on the disk is never sent as if it were whole. A small file that will certainly be sent is
    read `at_once`: another trip to a thread would cost more.
    """
    opened = open_file()
    try:
        if opened.digest == file.sha512 and opened.size != file.size:
            raise opened.damage("it has lost or gained bytes")
        if at_once:
            opened.take_in_hand()
        return opened, _media_type(file, opened)
    except BaseException:
        opened.close()
        raise


def _media_type(file: File, opened: VerifiedFile) -> str:
    try:
        return media_type_in_full(file.media_type, opened)
    except ContentDamaged:
        return file.media_type  # noted already; a reader who has the file still gets 304


# --- granted files ----------------------------------------------------------------------------------------------------


_SECRET: Final = {"cache-control": "no-store", "referrer-policy": "no-referrer", "x-robots-tag": "noindex, nofollow"}
MOST_FILES: Final = 1000
"""Number of files on the page. Further files can be fetched by their names."""


def granted_routes(site: ArchiveSite | None) -> list[Route]:
    requests = None if site is None or site.item_services is None else site.item_services.requests
    return [] if site is None or requests is None else GrantedFiles(site, requests).routes()


class GrantedFiles:
    """`/request/files/<secret>`: files that were granted for a time to a reader who asked for a copy.

    The secret is the only proof. So no cache stores these answers, and no other site or robot learns the address. Files
    are saved, and never shown on the host of the pages.
    """

    def __init__(self, site: ArchiveSite, requests: ReaderRequests) -> None:
        self._site, self._requests, self._delivery = site, requests, FileDelivery(site)

    def routes(self) -> list[Route]:
        return [
            Route("/request/files/{secret}", self.list, methods=["GET"]),
            Route("/request/files/{secret}/{path:path}", self.file, methods=["GET"]),
        ]

    async def list(self, request: Request) -> Response:
        found = await asyncio.to_thread(self._requests.open_link, request.path_params["secret"])
        item, expires = found.item, found.request.expires
        if item is None or expires is None:
            raise LinkOver()
        return render(
            request.scope,
            "request_files.html",
            headers=_SECRET,
            item=item,
            title=shown_title(item),
            files=item.files[:MOST_FILES],
            base=request.url.path,
            place=encoded_path,
            expires=Instant(expires),
            page=self._site.urls.metadata(item, None, None),
        )

    async def file(self, request: Request) -> Response:
        found = await asyncio.to_thread(self._requests.open_link, request.path_params["secret"])
        item, path = found.item, request.path_params["path"]
        file = None if item is None else item.file(path)
        if item is None or file is None:
            raise NoSuchFile(label="" if item is None else item.rep.spelling, path=repr(path[:200]))
        if is_to_run(request.scope["headers"]):
            raise PathNotFound()
        await asyncio.to_thread(self._requests.count_use, found.request.number)
        return _SavedFile(self._delivery, item, file)


class _SavedFile(Response):
    """A file for saving, sent while it is read."""

    def __init__(self, delivery: FileDelivery, item: Item, file: File) -> None:
        super().__init__()
        self._delivery, self._item, self._file = delivery, item, file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def headers(media_type: str) -> Mapping[str, str]:
            return {**attachment_headers(media_type, self._file.path), **_SECRET}

        await self._delivery.send(self._item, self._file, scope, receive, send, headers)
