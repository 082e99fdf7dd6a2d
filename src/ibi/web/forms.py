"""Forms with parts, parsed while they arrive (RFC 7578)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from ibi.web.request import RawHeaders, only_value, values
from ibi.web.request_errors import MalformedBody, UnsupportedMediaType

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
