"""One connection of HTTP/1.1 to a stranger, for threads: answers of any size, read strictly and piece by piece.

What waits is bounded by the clock: the head of an answer has to come within a time, and its body at a pace. No encoding
but chunks is known, redirects are the caller's to refuse. Anything that is not plainly one answer (RFC 9112) ends the
connection. Many answers come over one connection, each when the one before was read to its end.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from ssl import SSLContext
from time import monotonic
from typing import Final

from ibi.errors import IbiError

_MOST_HEAD: Final = 16 * 1024
_MOST_INTERIM: Final = 8
_MOST_LINE: Final = 256
"""Bytes of the line before a chunk."""
PIECE: Final = 1 << 20
IN_TURN: Final = 4
"""Buffers of a connection, in which large pieces come."""
Piece = bytes | memoryview
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*?)[ \t]*")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")

FOR_CONNECTION: Final = 10.0
FOR_HEAD: Final = 60.0
"""Seconds until an answer begins: what is asked for may have to be read first."""
_GRACE: Final = 30.0
_SLOWEST: Final = 4096
"""Bytes a second that come at least, after the first `_GRACE` seconds: slower ones keep a job for ever."""


class BrokenAnswer(IbiError):
    """It does not answer as a server does: {reason}."""

    code = "broken-answer"


@dataclass(slots=True)
class AnswerHead:
    """What an answer begins with. Names of headers are in lower case; of one that comes twice, values are joined."""

    status: int
    headers: dict[bytes, bytes] = field(default_factory=dict)
    is_last: bool = False
    """Whether the connection ends with it."""

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class BlockingConnection:
    """Raises `OSError` when the connection fails, `BrokenAnswer` for what is no answer."""

    def __init__(self, address: str, port: int, tls: SSLContext | None, host: str) -> None:
        """`address` alone is dialled; `host` is for the certificate."""
        plain = socket.create_connection((address, port), FOR_CONNECTION)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        self._ahead = b""
        """Bytes that were received and are not read yet."""
        self._is_usable = True
        self._buffers: list[memoryview] = []
        self._turn = -1

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent."""
        return self._is_usable

    def close(self) -> None:
        self._is_usable = False
        with suppress(OSError):
            self._socket.close()

    def ask(self, request: bytes) -> AnswerHead:
        """Send a request, whole; the head of the answer to it. Its body has to be read before the next."""
        self._is_usable = False
        self._socket.settimeout(FOR_HEAD)
        self._socket.sendall(request)
        deadline = monotonic() + FOR_HEAD
        for _ in range(_MOST_INTERIM):
            head = _parse_head(self._read_head(deadline))
            if head.status >= 200:
                return head
        raise BrokenAnswer(reason="it promises to go on, and does not")

    def _read_head(self, deadline: float) -> bytes:
        while (end := self._ahead.find(b"\r\n\r\n")) < 0:
            if len(self._ahead) > _MOST_HEAD:
                raise BrokenAnswer(reason="its head is too long")
            self._ahead += self._receive(4096, deadline)
        head, self._ahead = self._ahead[:end], self._ahead[end + 4 :]
        return head

    def _receive(self, most: int, deadline: float) -> bytes:
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError(None, "it takes too long")
        self._socket.settimeout(left)
        found = self._socket.recv(most)
        if not found:
            raise ConnectionResetError(None, "it hung up")
        return found

    # --- bodies ---

    def body(self, head: AnswerHead, most: int) -> Iterator[Piece]:
        """The body in pieces, never more than `most` bytes: `BrokenAnswer` for a longer one, whatever it announces. A
        piece of it is good until `IN_TURN` - 1 more were given."""
        if head.status in (204, 304):
            self._end(head)
            return
        pace = _Pace()
        if b"transfer-encoding" in head.headers:
            yield from self._chunks(head, most, pace)
        elif b"content-length" in head.headers:
            length = _length(head)
            if length > most:
                raise BrokenAnswer(reason=f"it has {length} bytes, and {most} are expected at most")
            yield from self._exactly(length, pace)
        else:
            yield from self._to_the_end(most, pace)
            return
        self._end(head)

    def _end(self, head: AnswerHead) -> None:
        self._is_usable = not head.is_last and not self._ahead

    def _exactly(self, length: int, pace: _Pace) -> Iterator[Piece]:
        while length:
            piece = self._some(min(length, PIECE), pace)
            length -= len(piece)
            yield piece

    def _some(self, most: int, pace: _Pace) -> Piece:
        """Some bytes, as many as there are at hand; large pieces are gathered, which are quicker to work with."""
        if self._ahead:
            piece, self._ahead = self._ahead[:most], self._ahead[most:]
            return piece
        if most < PIECE:
            piece = self._receive(most, pace.deadline())
            pace.count(len(piece))
            return piece
        view, filled = self._buffer(), 0
        while filled < most:
            self._socket.settimeout(pace.left())
            count = self._socket.recv_into(view[filled:])
            if not count:
                if filled:  # what has come is given; the next look finds the end
                    break
                raise ConnectionResetError(None, "it hung up")
            filled += count
            pace.count(count)
        return view[:filled]

    def _buffer(self) -> memoryview:
        """One of a few that are used in turn: to make each anew costs as much as to fill it."""
        if len(self._buffers) < IN_TURN:
            self._buffers.append(memoryview(bytearray(PIECE)))
            return self._buffers[-1]
        self._turn = (self._turn + 1) % IN_TURN
        return self._buffers[self._turn]

    def _chunks(self, head: AnswerHead, most: int, pace: _Pace) -> Iterator[Piece]:
        if head.headers[b"transfer-encoding"].lower() != b"chunked" or b"content-length" in head.headers:
            raise BrokenAnswer(reason="it is encoded in a way that was not asked for")
        while True:
            found = _CHUNK.fullmatch(self._line(pace))
            if found is None:
                raise BrokenAnswer(reason="a chunk of it has no length")
            length = int(found[1], 16)
            if not length:
                break
            most -= length
            if most < 0:
                raise BrokenAnswer(reason="it is longer than expected")
            yield from self._exactly(length, pace)
            if self._line(pace):
                raise BrokenAnswer(reason="a chunk of it is longer than it says")
        for _ in range(_MOST_INTERIM):
            if not self._line(pace):
                return
        raise BrokenAnswer(reason="its end is too long")

    def _line(self, pace: _Pace) -> bytes:
        while (end := self._ahead.find(b"\r\n")) < 0:
            if len(self._ahead) > _MOST_LINE:
                raise BrokenAnswer(reason="a line of it is too long")
            found = self._receive(65_536, pace.deadline())
            pace.count(len(found))
            self._ahead += found
        line, self._ahead = self._ahead[:end], self._ahead[end + 2 :]
        return line

    def _to_the_end(self, most: int, pace: _Pace) -> Iterator[Piece]:
        """RFC 9112 §6.3: with neither a length nor chunks, the end of the connection is that of the body."""
        while True:
            try:
                piece = self._some(65_536, pace)
            except ConnectionResetError as error:
                if error.errno is None:
                    return
                raise
            most -= len(piece)
            if most < 0:
                raise BrokenAnswer(reason="it is longer than expected")
            yield piece


class _Pace:
    """Bounds how slowly a body may come."""

    def __init__(self) -> None:
        self._began, self._received = monotonic(), 0

    def count(self, received: int) -> None:
        self._received += received

    def deadline(self) -> float:
        return self._began + _GRACE + self._received / _SLOWEST

    def left(self) -> float:
        left = min(_GRACE, self.deadline() - monotonic())
        if left <= 0:
            raise TimeoutError(None, "it is too slow")
        return left


def _parse_head(head: bytes) -> AnswerHead:
    first, *lines = head.split(b"\r\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        raise BrokenAnswer(reason="it does not begin as one")
    answer = AnswerHead(int(status[2]))
    for line in lines:
        found = _FIELD.fullmatch(line)
        if found is None:
            raise BrokenAnswer(reason="a header of it cannot be read")
        name, value = found[1].lower(), found[2]
        answer.headers[name] = b"%b, %b" % (answer.headers[name], value) if name in answer.headers else value
    said = answer.headers.get(b"connection", b"").lower()
    answer.is_last = b"close" in said or (status[1] == b"0" and b"keep-alive" not in said)
    return answer


def _length(head: AnswerHead) -> int:
    text = head.headers[b"content-length"]
    if not text.isdigit() or len(text) > 18:
        raise BrokenAnswer(reason="its length cannot be read")
    return int(text)
