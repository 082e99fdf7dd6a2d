"""The answer to one request for one file: conditions, ranges, and the bytes as they are read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from time import monotonic
from typing import Final, Protocol

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Send

from ibi.items.model.content import BLOCK
from ibi.items.model.item import Item
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.service.integrity.verified_file import PIECE
from ibi.items.service.stored_item import ItemChanging
from ibi.web.preconditions import Validators, byte_range
from ibi.web.request import RawHeaders, repr_digest, values
from ibi.web.request_middleware import AnswerBroken

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
