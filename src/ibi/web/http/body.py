"""Bodies: JSON requests within bounds, and JSON answers of any length."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import chain, islice
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ibi.model.errors import InvalidItem
from ibi.model.file import checked_media_type
from ibi.web.http.request import RawHeaders, only_value, values
from ibi.web.http.request_errors import (
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


# --- uploads ----------------------------------------------------------------------------------------------------------

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


# --- forms ------------------------------------------------------------------------------------------------------------

FORM: Final = "multipart/form-data"
MOST_HEAD: Final = 8 * 1024
"""Largest size of the headers of a part, in bytes."""
_MOST_HEADERS: Final = 16

_BOUNDARY: Final = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_PARAMETER: Final = re.compile(
    r"""[ \t]*;[ \t]*([!#$%&'+.^_`|~0-9A-Za-z-]+\*?)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"\\]+))""", re.DOTALL
)
_ESCAPED: Final = re.compile(r'\\(["\\])|%22')
_ENCODED_AS: Final = frozenset({"", "binary", "8bit", "7bit"})


class PartHead(NamedTuple):
    """The name and the headers of a part, before its content."""

    name: str
    filename: str | None
    headers: RawHeaders


class PartEnd(NamedTuple):
    """The event after the content of a part."""


Event = PartHead | bytes | PartEnd
_END: Final = PartEnd()
_State = Callable[[], tuple[tuple[Event, ...], bool]]
"""Returns events, and whether more of the body is needed."""


def is_form(headers: RawHeaders) -> bool:
    """Return whether a body is declared as multipart/form-data."""
    return any(value.partition(";")[0].strip().lower() == FORM for value in values(headers, b"content-type"))


def boundary_of(headers: RawHeaders) -> bytes:
    """Return the boundary between the parts of a body. Raise `UnsupportedMediaType` if it is no form, or is encoded."""
    try:
        given = only_value(headers, b"content-type") or ""
        coding = (only_value(headers, b"content-encoding") or "").strip().lower()
    except ValueError:
        raise UnsupportedMediaType(field="Content-Type", wanted="described once") from None
    if given.partition(";")[0].strip().lower() != FORM:
        raise UnsupportedMediaType(field="Content-Type", wanted=FORM)
    if coding not in {"", "identity"}:
        raise UnsupportedMediaType(field="Content-Encoding", wanted="sent as it is, without a coding")
    boundary = _parameters(given.partition(";")[1] + given.partition(";")[2]).get("boundary", "")
    if _BOUNDARY.fullmatch(boundary) is None:
        raise UnsupportedMediaType(field="Content-Type", wanted=f"{FORM} with its boundary")
    return boundary.encode("ascii")


class MultipartParser:
    """Parses a body of multipart/form-data (RFC 7578) piece by piece. It holds at most one head or boundary of the
    body.

    It refuses variants that the RFC allows and no sender needs: text before the first boundary or after the last one,
    folded lines, and headers without end. So no two readers can see two different forms.
    """

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._buffer = bytearray(b"\r\n")  # the first boundary begins a line too
        self._state: _State = self._at_start

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the next events. Content comes as it was received, in one or several pieces."""
        self._buffer += piece
        while True:
            events, is_waiting = self._state()
            yield from events
            if is_waiting:
                return

    def finish(self) -> None:
        """Raise `MalformedBody` if the body ended before its last boundary."""
        if self._state != self._at_end:
            raise MalformedBody(reason="it ends before its last boundary")

    def _at_start(self) -> tuple[tuple[Event, ...], bool]:
        if len(self._buffer) < len(self._delimiter):
            if not self._delimiter.startswith(self._buffer):
                raise MalformedBody(reason="it does not begin with its boundary")
            return (), True
        if not self._buffer.startswith(self._delimiter):
            raise MalformedBody(reason="it does not begin with its boundary")
        del self._buffer[: len(self._delimiter)]
        self._state = self._after_boundary
        return (), False

    def _after_boundary(self) -> tuple[tuple[Event, ...], bool]:
        if len(self._buffer) < 2:
            return (), True
        mark = bytes(self._buffer[:2])
        del self._buffer[:2]
        if mark == b"--":
            self._state = self._at_end
        elif mark == b"\r\n":
            self._state = self._in_head
        else:
            raise MalformedBody(reason="a boundary is not followed by the end of its line")
        return (), False

    def _in_head(self) -> tuple[tuple[Event, ...], bool]:
        end = self._buffer.find(b"\r\n\r\n", 0, MOST_HEAD + 4)
        if end < 0:
            if len(self._buffer) >= MOST_HEAD + 4:
                raise MalformedBody(reason=f"the headers of a part have more than {MOST_HEAD} bytes")
            return (), True
        head = _head(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        self._state = self._in_content
        return (head,), False

    def _in_content(self) -> tuple[tuple[Event, ...], bool]:
        end = self._buffer.find(self._delimiter)
        if end >= 0:
            content = bytes(memoryview(self._buffer)[:end])
            del self._buffer[: end + len(self._delimiter)]
            self._state = self._after_boundary
            return ((content, _END) if content else (_END,)), False
        # Bytes that may be the beginning of a boundary wait for the rest of it.
        sure = len(self._buffer) - len(self._delimiter) + 1
        if sure <= 0:
            return (), True
        content = bytes(memoryview(self._buffer)[:sure])
        del self._buffer[:sure]
        return (content,), True

    def _at_end(self) -> tuple[tuple[Event, ...], bool]:
        if self._buffer and not b"\r\n".startswith(self._buffer):
            raise MalformedBody(reason="something follows its last boundary")
        return (), True


def _head(lines: bytes) -> PartHead:
    headers = []
    for line in lines.split(b"\r\n"):
        field = _FIELD.fullmatch(line)
        if field is None:
            raise MalformedBody(reason="a header of a part cannot be read")
        headers.append((field[1].lower(), field[2].rstrip(b" \t")))
    if len(headers) > _MOST_HEADERS:
        raise MalformedBody(reason=f"a part has more than {_MOST_HEADERS} headers")
    try:
        said = only_value(headers, b"content-disposition") or ""
        coding = (only_value(headers, b"content-transfer-encoding") or "").lower()
    except ValueError:
        raise MalformedBody(reason="a part has a header twice") from None
    if coding not in _ENCODED_AS:
        raise MalformedBody(reason=f"a part is encoded as {coding[:40]!r}, and is to be sent as it is")
    kind, separator, rest = said.partition(";")
    if kind.strip().lower() != "form-data":
        raise MalformedBody(reason="a part has no Content-Disposition: form-data")
    told = _parameters(separator + rest)
    if "name" not in told:
        raise MalformedBody(reason="a part has no name")
    return PartHead(told["name"], _file_name(told), headers)


def _parameters(text: str) -> dict[str, str]:
    """Return the parameters of a header. Its bytes were read as Latin-1. Browsers send UTF-8."""
    found: dict[str, str] = {}
    position, text = 0, text.rstrip(" \t")
    while position < len(text):
        match = _PARAMETER.match(text, position)
        if match is None or match[1].lower() in found:
            raise MalformedBody(reason="the parameters of a header cannot be read")
        found[match[1].lower()] = _text(match[3] if match[2] is None else match[2])
        position = match.end()
    return {
        name: value if name.endswith("*") else _ESCAPED.sub(lambda each: each[1] or '"', value)
        for name, value in found.items()
    }


def _file_name(told: dict[str, str]) -> str | None:
    """Return the name of a file, also in the form for names that are not ASCII (RFC 8187)."""
    extended = told.get("filename*")
    if extended is None:
        return told.get("filename")
    charset, _, value = extended.partition("'")
    if charset.lower() != "utf-8" or "'" not in value:
        raise MalformedBody(reason="the name of a file cannot be read")
    return _text(unquote_to_bytes(value.partition("'")[2]).decode("latin-1"))


def _text(latin: str) -> str:
    try:
        return latin.encode("latin-1").decode()
    except (UnicodeDecodeError, UnicodeEncodeError):
        raise MalformedBody(reason="a header of a part is not UTF-8") from None
