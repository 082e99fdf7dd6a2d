"""JSON documents with a list that may be very long: short ones are sent whole, others as the reader takes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

_SHORT: Final = 64 * 1024
"""Bytes that are sent in one piece, with their length."""
_A_PIECE: Final = 100
"""Values of a list that are encoded at a time."""


class LongList:
    """A list that is made while it is written. `values` is called for each pass and gives the same values."""

    __slots__ = ("_values",)

    def __init__(self, values: Callable[[], Iterator[Any]]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return self._values()


def json_answer(document: Mapping[str, Any], status: int, headers: Mapping[str, str], media_type: str) -> Response:
    """Make the answer. A member that is a `LongList` is made as the reader takes it."""
    written, begun, size = _encode(document), [], 0
    for piece in written:
        begun.append(piece)
        size += len(piece)
        if size > _SHORT:
            return _Long(document, chain(begun, written), status, headers, media_type)
    return Response(b"".join(begun), status, headers, media_type)


class _Long(StreamingResponse):
    def __init__(
        self,
        document: Mapping[str, Any],
        pieces: Iterable[bytes],
        status: int,
        headers: Mapping[str, str],
        media_type: str,
    ) -> None:
        super().__init__(_in_turn(pieces), status, headers, media_type)
        self._document = document

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":  # the body, which is not sent, is not made
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        if scope["http_version"] == "1.0":
            # Chunks came with HTTP/1.1: a client of 1.0 would take their sizes for a part of the document. It gets a
            # Content-Length instead, for which the document is made twice: kept until it is taken, it would fill the
            # memory.
            length = sum([len(piece) async for piece in _in_turn(_encode(self._document))])
            self.headers["content-length"] = str(length)
        await super().__call__(scope, receive, send)


async def _in_turn(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)  # other requests have their turn, however quick this reader is


def _encode(document: Mapping[str, Any]) -> Iterator[bytes]:
    before = b"{"
    for name, value in document.items():
        yield before + msgspec.json.encode(name) + b":"
        yield from _list(iter(value)) if isinstance(value, LongList) else (msgspec.json.encode(value),)
        before = b","
    yield b"}" if document else b"{}"


def _list(values: Iterator[Any]) -> Iterator[bytes]:
    before = b"["
    while some := list(islice(values, _A_PIECE)):
        yield before + msgspec.json.encode(some)[1:-1]
        before = b","
    yield b"]" if before == b"," else b"[]"
