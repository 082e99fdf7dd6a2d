"""The bytes of a file as an answer: whole or a part, read beside the event loop, a piece at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Send

from ibi.model.item import Item
from ibi.ports.content import Content, ContentDamaged, OpenFile
from ibi.web.byte_range import byte_range
from ibi.web.headers import RawHeaders, values
from ibi.web.preconditions import Validators

__all__ = ["LARGEST_PIECE", "PIECE", "FileAnswer", "open_file"]

PIECE = 64 * 1024
"""Bytes read at first: of what is not taken, no more is in memory, whatever the size of the file."""
LARGEST_PIECE = 1024 * 1024
"""Bytes read at a time for a reader who takes them quickly: few large pieces cost less than many small ones."""
_PROVEN = 8 * 1024 * 1024
"""Bytes after which it is known that a reader takes them: before that it may be the system that does."""
_QUICK = 0.02
"""Seconds within which a piece is taken over a quick line."""


class FileAnswer:
    """One request for one file that the reader may see. Decided before the first byte is sent."""

    def __init__(self, item: Item, file: OpenFile, method: str, headers: RawHeaders) -> None:
        """`PreconditionFailed` or `RangeNotSatisfiable` if the request contradicts the file."""
        self._file, self._name = file, str(item.rep)
        self._validators = validators = Validators(file.digest, item.updated.seconds)
        validators.check(headers)
        self._sends_body, self._piece = method == "GET", PIECE
        self.status, self.offset, self.length = HTTPStatus.OK, 0, file.size
        if validators.is_known(headers):
            self.status, self.length = HTTPStatus.NOT_MODIFIED, 0
        elif method == "GET" and validators.allow_range(headers):
            part = byte_range(values(headers, b"range"), file.size)
            if part is not None:
                self.status, (self.offset, self.length) = HTTPStatus.PARTIAL_CONTENT, part

    async def send(self, receive: Receive, send: Send, headers: Mapping[str, str]) -> None:
        """`headers` are those of the whole file, whatever part of it is sent."""
        shown = {**headers, **self._own_headers()}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in shown.items()]
        await send({"type": "http.response.start", "status": int(self.status), "headers": raw})
        if self._sends_body:
            await self._send_body(receive, send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _own_headers(self) -> dict[str, str]:
        headers = {
            "etag": self._validators.etag,
            "last-modified": self._validators.last_modified,
            "accept-ranges": "bytes",
        }
        if self.status == HTTPStatus.PARTIAL_CONTENT:
            headers["content-range"] = f"bytes {self.offset}-{self.offset + self.length - 1}/{self._file.size}"
        if self.status != HTTPStatus.NOT_MODIFIED:
            headers["content-length"] = str(self.length)
        return headers

    async def _send_body(self, receive: Receive, send: Send) -> None:
        """To whoever has gone, uvicorn sends without complaint: of a large file it is asked who is still there."""
        leaving = asyncio.ensure_future(_left(receive)) if self.length > PIECE else None
        clock, sent = asyncio.get_running_loop().time, 0
        try:
            async for piece in self._pieces():
                began = clock()
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                # Waits until the reader has taken enough of it: the next piece would wait in memory too.
                await send({"type": "http.response.body", "body": b"", "more_body": True})
                sent += len(piece)
                is_quick = sent >= _PROVEN and clock() - began < _QUICK
                self._piece = min(2 * self._piece, LARGEST_PIECE) if is_quick else PIECE
                if leaving is not None and leaving.done():
                    raise ClientDisconnect
        finally:
            if leaving is not None:
                leaving.cancel()

    async def _pieces(self) -> AsyncIterator[bytes]:
        offset, end = self.offset, self.offset + self.length
        while offset < end:
            piece = await asyncio.to_thread(self._file.read, offset, min(self._piece, end - offset))
            if not piece:
                # Half an answer is out: the connection is broken, so that nobody takes it for whole.
                raise ContentDamaged(name=self._name, problem="E092", reason="a file is shorter than it was")
            offset += len(piece)
            yield piece


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def open_file(content: Content, item: Item, path: str) -> OpenFile:
    """Blocks."""
    return content.open(str(item.rep), f"doc/{path}")
