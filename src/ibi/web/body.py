"""Bodies: JSON requests within bounds, and JSON answers of any length."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import chain, islice
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ibi.items.model.file import checked_media_type
from ibi.standard.document_errors import InvalidItem
from ibi.web.request import RawHeaders, only_value
from ibi.web.request_errors import (
    BodyTooLarge,
    BodyTooSlow,
    InvalidParameter,
    MalformedBody,
    UnsupportedMediaType,
    UploadTooSlow,
)

Document = TypeVar("Document", bound=msgspec.Struct)

MOST = 64 * 1024
"""Largest size of a body in bytes."""

PATIENCE = 30.0
"""Seconds for a body to arrive."""


async def read_body(headers: RawHeaders, receive: Receive, most: int = MOST, patience: float = PATIENCE) -> bytes:
    """Read the whole body.

    An announced length that is too large is refused at once. The received bytes are counted in any case.
    """
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
    # Compared as text first: a number with sixty thousand digits is not worth converting.
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
    """Refuse a body that is not declared as one of the `wanted` types, or that has a content encoding."""
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
"""Largest answer in bytes that is sent whole, with its length."""
_A_PIECE: Final = 100
"""Number of list values that are encoded at a time."""


class LongList:
    """A list that is made while it is written. `values` is called for each pass and must give the same values."""

    __slots__ = ("_values",)

    def __init__(self, values: Callable[[], Iterator[Any]]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return self._values()


JSON: Final = "application/json"
NO_STORE: Final = {"cache-control": "no-store"}
"""Headers of an answer that no cache may store."""


def short_json(document: object, status: int = HTTPStatus.OK, headers: Mapping[str, str] = NO_STORE) -> Response:
    """Return an answer that is encoded at once."""
    return Response(msgspec.json.encode(document), status, headers, JSON)


def json_answer(document: Mapping[str, Any], status: int, headers: Mapping[str, str], media_type: str) -> Response:
    """Return an answer that may be long. A member that is a `LongList` is encoded as the reader takes it."""
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
        if scope["method"] == "HEAD":  # the body of a HEAD is not sent, so it is not encoded
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        if scope["http_version"] == "1.0":
            # HTTP/1.0 has no chunks: a client would take their sizes for a part of the document. It gets a
            # Content-Length, for which the document is encoded twice. To hold it until it is sent would fill the
            # memory.
            length = sum([len(piece) async for piece in _in_turn(_encode(self._document))])
            self.headers["content-length"] = str(length)
        await super().__call__(scope, receive, send)


async def _in_turn(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)  # other requests have their turn, even if this reader is fast


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


async def read_json(request: Request, kind: type[Document]) -> Document:
    """Return the body of a request, decoded as this type. Raise `MalformedBody` if it does not match."""
    body = await read_body(request.scope["headers"], request.receive)
    check_json(request.scope["headers"])
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        # msgspec's message names the wrong member and the fault without quoting the value.
        text = " ".join(str(error).split())
        raise MalformedBody(reason=text[:1].lower() + text[1:200]) from None


PIECE: Final = 64 * 1024
"""Bytes that are worth a trip to the disk.

An upload holds little more in memory, for any size of the file, because many uploads run at the same time.
"""

LEAST_SPEED: Final = 1000
"""The least average speed in bytes a second: less than the slowest modem has.

A slower upload would occupy a connection, a thread's attention and room on the disk for days.
"""

_NOT_TOLD: Final = frozenset({"application/octet-stream", "application/x-www-form-urlencoded"})
"""Media types that programs send by default. The name of the file tells more."""


async def body_pieces(receive: Receive, patience: float, least_speed: int, of: str = "file") -> AsyncIterator[bytes]:
    """Read the body in pieces that are worth a trip to the disk. `of` names it: a file, an item or a batch.

    Each byte buys time to wait for the next ones, up to `patience`. Only waits for the sender count, not those for the
    disk.
    """
    piece, more, left, clock = bytearray(), True, patience, asyncio.get_running_loop().time
    while more:
        began = clock()
        try:
            async with asyncio.timeout(left):
                message = await receive()
        except TimeoutError:
            if piece:
                yield bytes(piece)  # these bytes may be useful without the rest
            raise UploadTooSlow(seconds=f"{patience:g}", least=least_speed, of=of) from None
        left = min(patience, max(0.0, left - (clock() - began)) + len(message.get("body", b"")) / least_speed)
        if message["type"] == "http.disconnect":
            if piece:
                yield bytes(piece)
            raise ClientDisconnect
        body, more = message.pop("body", b""), message.get("more_body", False)
        if not piece and len(body) >= PIECE:
            yield body  # uncopied: a copy would need as much memory again
            body = b""  # not held during the wait for the next message
        piece += body
        if len(piece) >= PIECE or (piece and not more):
            yield bytes(piece)
            piece.clear()


def told_media_type(headers: RawHeaders) -> str | None:
    """Return the media type that the sender declares, unless it is an uninformative default."""
    try:
        given = only_value(headers, b"content-type") or ""
    except ValueError:
        raise UnsupportedMediaType(field="Content-Type", wanted="described once") from None
    if not given or given.partition(";")[0].strip().lower() in _NOT_TOLD:
        return None
    try:
        return checked_media_type(given)
    except InvalidItem as error:
        raise InvalidParameter(field="Content-Type", reason=error.reason) from None
