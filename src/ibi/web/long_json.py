"""A document with a list in it that may be very long: what is short is sent whole, the rest as it is taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

__all__ = ["json_answer"]

_SHORT: Final = 64 * 1024
"""Bytes that are sent in one piece, with their length."""
_A_PIECE: Final = 100
"""Values of a list that are written at a time."""


def json_answer(document: Mapping[str, Any], status: int, headers: Mapping[str, str], media_type: str) -> Response:
    """The answer. A member that is an iterator becomes a list, of which no more is made than the reader takes."""
    written, begun, size = _written(document), [], 0
    for piece in written:
        begun.append(piece)
        size += len(piece)
        if size > _SHORT:
            return _Long(chain(begun, written), status, headers, media_type)
    return Response(b"".join(begun), status, headers, media_type)


class _Long(StreamingResponse):
    def __init__(self, pieces: Iterable[bytes], status: int, headers: Mapping[str, str], media_type: str) -> None:
        super().__init__(_in_turn(pieces), status, headers, media_type)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["http_version"] != "1.0":
            await super().__call__(scope, receive, send)
            return
        # Chunks came with HTTP/1.1: whoever speaks 1.0 would take their sizes for a part of the document.
        body = b"".join(self._pieces)
        headers = [*self.raw_headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


async def _in_turn(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)  # others have their turn, also if this reader is quick


def _written(document: Mapping[str, Any]) -> Iterator[bytes]:
    before = b"{"
    for name, value in document.items():
        yield before + msgspec.json.encode(name) + b":"
        yield from _list(value) if isinstance(value, Iterator) else (msgspec.json.encode(value),)
        before = b","
    yield b"}" if document else b"{}"


def _list(values: Iterator[Any]) -> Iterator[bytes]:
    before = b"["
    while some := list(islice(values, _A_PIECE)):
        yield before + msgspec.json.encode(some)[1:-1]
        before = b","
    yield b"]" if before == b"," else b"[]"
