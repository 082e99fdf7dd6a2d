"""Bodies: of requests, read within bounds, and of answers that are long lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ibi.web.http.request import RawHeaders, only_value
from ibi.web.http.request_errors import BodyTooLarge, BodyTooSlow, MalformedBody, UnsupportedMediaType

MOST = 64 * 1024
"""Bytes of a body."""

PATIENCE = 30.0
"""Seconds for a body to arrive."""


async def read_body(headers: RawHeaders, receive: Receive, most: int = MOST, patience: float = PATIENCE) -> bytes:
    """Read the whole body. An announced length that is too great is refused at once; the bytes that arrive are counted
    anyway."""
    _check_announced(headers, most)
    try:
        async with asyncio.timeout(patience):
            return await _receive_all(receive, most)
    except TimeoutError:
        raise BodyTooSlow(seconds=f"{patience:g}") from None


def _check_announced(headers: RawHeaders, most: int) -> None:
    try:
        length = (only_value(headers, b"content-length") or "0").lstrip("0")
    except ValueError:
        raise MalformedBody(reason="two lengths are announced for it") from None
    # Compared as text first: a number of sixty thousand digits is not worth converting.
    if length.isascii() and length.isdigit() and (len(length) > len(str(most)) or int(length) > most):
        raise BodyTooLarge(most=most)


async def _receive_all(receive: Receive, most: int) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise BodyTooLarge(most=most)
    return bytes(body)


def check_json(headers: RawHeaders) -> None:
    """Refuse a body that is not declared as JSON without an encoding."""
    check_media_type(headers, ("application/json",))


def check_media_type(headers: RawHeaders, wanted: Sequence[str]) -> None:
    """Refuse a body that is not declared as one of these, without an encoding."""
    if _only_header(headers, "Content-Type").partition(";")[0].strip() not in wanted:
        raise UnsupportedMediaType(field="Content-Type", wanted=" or ".join(wanted))
    if _only_header(headers, "Content-Encoding") not in {"", "identity"}:
        raise UnsupportedMediaType(field="Content-Encoding", wanted="sent as it is, without a coding")


def _only_header(headers: RawHeaders, name: str) -> str:
    try:
        return (only_value(headers, name.lower().encode("ascii")) or "").lower()
    except ValueError:
        raise UnsupportedMediaType(field=name, wanted="described once") from None


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
