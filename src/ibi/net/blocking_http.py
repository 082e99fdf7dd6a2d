"""The HTTP client for blocking code: commands, checks, Copies, sign-in through a provider.

It dials only the given addresses, so that a name cannot lead elsewhere after its addresses were checked. TLS verifies
the name. All waits are limited, and so are heads and bodies of answers. Answers are parsed strictly: anything that is
not plainly one answer (RFC 9112) ends the connection. Proxies, cookies and content encodings are not supported, and
redirects are returned as answers. Code on an event loop uses `ibi.net.single_request`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from sys import maxsize
from time import monotonic
from typing import TYPE_CHECKING, Final

from ibi.net.server_url import ServerUrl, default_tls
from ibi.standard.errors import IbiError

if TYPE_CHECKING:
    from ssl import SSLContext

_MOST_ADDRESSES: Final = 4
"""Maximum addresses of one name that are tried, one after the other."""
_MOST_HEAD: Final = 64 * 1024
_MOST_INTERIM: Final = 8
_MOST_LINE: Final = 256
"""Maximum bytes of the line before a chunk."""
_LONGEST_WAIT: Final = 86_400.0
"""Sockets accept no unlimited number of seconds."""
_READ_AHEAD: Final = 16 * 1024
_SMALL_PIECE: Final = 64 * 1024
PIECE: Final = 1 << 20
IN_TURN: Final = 4
"""Buffers of a connection for large pieces."""
Piece = bytes | memoryview
_BEGINNING: Final = b"HTTP/1."
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")
_TARGET: Final = re.compile(r"[!-~]+")
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_WITHOUT_BODY: Final = frozenset({204, 304})


class BrokenAnswer(IbiError):
    """It does not answer as a server does: {reason}."""

    code = "broken-answer"


@dataclass(frozen=True, slots=True)
class Waits:
    """The timeouts of a connection, in seconds."""

    connect: float
    """Timeout for one address; the TLS handshake has as long again."""
    head: float
    """From the end of the request to the end of the answer's head."""
    silence: float
    """Without a byte of a body."""
    slowest: float = 0.0
    """Minimum bytes per second of a body, after its first `silence` seconds."""
    in_all: float = inf
    """Timeout for the connection and all its answers."""


class _Patience:
    """The timeout for the next bytes of a head or a body."""

    def __init__(self, until: float, silence: float = inf, slowest: float = 0.0, reason: str = "timed out") -> None:
        self._until, self._silence, self._slowest, self._reason = until, silence, slowest, reason
        self._began, self._received = monotonic(), 0

    def count(self, received: int) -> None:
        self._received += received

    def left(self) -> float:
        now = monotonic()
        left = min(self._silence, self._until - now, _LONGEST_WAIT)
        if self._slowest:
            left = min(left, self._began + self._silence + self._received / self._slowest - now)
        if left <= 0:
            raise TimeoutError(None, self._reason)
        return left


class BlockingConnection:
    """A connection to a server. The next request may follow when the last answer was read to its end.

    Raises `OSError` when the connection fails, and `BrokenAnswer` for an invalid answer.
    """

    def __init__(
        self, server: ServerUrl, addresses: Sequence[str], waits: Waits, tls: SSLContext | None = None
    ) -> None:
        """Only `addresses` are dialled, in their order; the name of the `server` is for its certificate. Without `tls`
        the authorities of this machine are trusted."""
        self._server, self.waits = server, waits
        self._until = monotonic() + waits.in_all
        self._buffers: list[memoryview] = []
        self._turn = -1
        self.ahead = b""
        """Received bytes that are not read yet."""
        self.is_usable = True
        """True if another request can be sent."""
        self.socket = self._dial(addresses[:_MOST_ADDRESSES], tls)

    def _dial(self, addresses: Sequence[str], tls: SSLContext | None) -> socket.socket:
        refused = OSError(None, "its name cannot be resolved")
        for count, address in enumerate(addresses, 1):
            try:
                return self._dial_address(address, tls, is_last=count == len(addresses))
            except OSError as error:
                refused = error
            except ValueError as error:  # a name that no certificate can have
                refused = OSError(None, str(error))
        raise refused

    def _dial_address(self, address: str, tls: SSLContext | None, *, is_last: bool) -> socket.socket:
        left = self._left(inf)
        # Leave time for the next address if this one does not answer.
        plain = socket.create_connection(
            (address, self._server.origin.effective_port), min(self.waits.connect, left if is_last else left / 2)
        )
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not self._server.is_secure:
                return plain
            plain.settimeout(self._left(self.waits.connect))
            return (tls or default_tls()).wrap_socket(plain, server_hostname=self._server.origin.name)
        except BaseException:
            plain.close()
            raise

    def _left(self, most: float) -> float:
        return _Patience(min(self._until, monotonic() + most)).left()

    def close(self) -> None:
        self.is_usable = False
        with suppress(OSError):
            self.socket.close()

    def break_off(self) -> None:
        """Make the running request fail in its thread. May be called from another thread."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | Iterable[bytes] | None = None
    ) -> BlockingAnswer:
        """Send a request and return the answer with an unread body.

        Pieces of a request body are sent as they come; `headers` must give their length. Raise `ValueError` for
        characters that would change the request.
        """
        self.is_usable = False
        pieces = (body,) if isinstance(body, bytes) else body or ()
        length = len(body) if isinstance(body, bytes) else 0 if body is None and method in _WITH_BODY else None
        head = _request_head(method, target, {"Host": self._server.origin.authority, **headers}, length)
        # A refusing server does not wait for the rest: its answer is worth more than the broken connection.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._send(head, pieces)
        patience = _Patience(min(self._until, monotonic() + self.waits.head))
        for _ in range(_MOST_INTERIM):
            answer = BlockingAnswer(self, method, self._read_head(patience))
            if answer.status >= 200:
                return answer
        raise BrokenAnswer(reason="it promises to go on, and does not")

    def _send(self, head: bytes, pieces: Iterable[bytes]) -> None:
        self.socket.settimeout(self._left(self.waits.head))
        if isinstance(pieces, tuple):
            self.socket.sendall(b"".join((head, *pieces)))
            return
        self.socket.sendall(head)
        for piece in pieces:
            self.socket.settimeout(self._left(self.waits.head))
            self.socket.sendall(piece)

    def _read_head(self, patience: _Patience) -> bytes:
        while len(self.ahead) < len(_BEGINNING):
            self.ahead += self._receive(_READ_AHEAD, patience)
        if not self.ahead.startswith(_BEGINNING):  # for example, a mail server would send nothing more
            raise BrokenAnswer(reason="it does not begin as one")
        return self.read_until(b"\r\n\r\n", _MOST_HEAD, patience)

    def patience(self, within: float) -> _Patience:
        """Return the timeout for a body that has to be complete `within` so many seconds."""
        until = min(self._until, monotonic() + within)
        return _Patience(until, self.waits.silence, self.waits.slowest, "it answers too slowly")

    def read_until(self, mark: bytes, longest: int, patience: _Patience) -> bytes:
        """Return the bytes before a mark."""
        while (end := self.ahead.find(mark)) < 0 and len(self.ahead) <= longest:
            self.ahead += self._receive(_READ_AHEAD, patience)
        if not 0 <= end <= longest:
            raise BrokenAnswer(reason="a line or the head of it is too long")
        found, self.ahead = self.ahead[:end], self.ahead[end + len(mark) :]
        return found

    def read_some(self, most: int, patience: _Patience) -> Piece:
        """Return the available bytes. Large pieces are filled up first, because they are processed faster."""
        if self.ahead:
            piece, self.ahead = self.ahead[:most], self.ahead[most:]
            return piece
        if most < PIECE:
            return self._receive(most, patience)
        view, filled = self._buffer(), 0
        while filled < PIECE:
            count = self._receive_into(view[filled:], patience)
            if not count:
                if filled:  # return the received bytes; the next read finds the end
                    break
                raise ConnectionResetError(None, "it hung up")
            filled += count
        return view[:filled]

    def _receive(self, most: int, patience: _Patience) -> bytes:
        content = bytearray(most)
        count = self._receive_into(memoryview(content), patience)
        if not count:
            raise ConnectionResetError(None, "it hung up")
        return bytes(content[:count])

    def _receive_into(self, view: memoryview, patience: _Patience) -> int:
        self.socket.settimeout(patience.left())
        try:
            count = self.socket.recv_into(view)
        except TimeoutError:
            patience.left()  # names the exceeded limit, if it was not the silence alone
            raise
        patience.count(count)
        return count

    def _buffer(self) -> memoryview:
        """Return one of a few buffers in turn, because to create one costs as much as to fill it."""
        if len(self._buffers) < IN_TURN:
            self._buffers.append(memoryview(bytearray(PIECE)))
            return self._buffers[-1]
        self._turn = (self._turn + 1) % IN_TURN
        return self._buffers[self._turn]


class BlockingAnswer:
    """An answer: its head, and its body while it is read."""

    def __init__(self, connection: BlockingConnection, method: str, head: bytes) -> None:
        self._connection, self._method = connection, method
        first, *lines = head.split(b"\r\n")
        status = _STATUS.fullmatch(first)
        if status is None:
            raise BrokenAnswer(reason="it does not begin as one")
        self.status = int(status[2])
        self.headers = tuple(map(_read_field, lines))
        """Names in lower case, and values, in their order."""
        said = self.header("connection").lower()
        self._is_last = "close" in said or (status[1] == b"0" and "keep-alive" not in said)

    def header(self, name: str) -> str:
        """Return the joined values of the header with this lower-case name; empty if there is none."""
        return ", ".join(value for each, value in self.headers if each == name)

    def read(self, most: int, within: float = inf) -> bytes:
        """Return the body, cut after `most` bytes. Raise `TimeoutError` if it takes longer than `within` seconds."""
        content = bytearray()
        for piece in self._pieces(maxsize, min(most, _SMALL_PIECE), within):
            content += piece[: most - len(content)]
            if len(content) == most:
                break
        return bytes(content)

    def pieces(self, most: int = maxsize, within: float = inf) -> Iterator[Piece]:
        """Yield the body in pieces, never more than `most` bytes; raise `BrokenAnswer` for a longer one, whatever its
        length header. A piece is valid until `IN_TURN` - 1 more were yielded."""
        return self._pieces(most, PIECE, within)

    def _pieces(self, most: int, largest: int, within: float) -> Iterator[Piece]:
        patience, names = self._connection.patience(within), {name for name, _ in self.headers}
        if self._method == "HEAD" or self.status in _WITHOUT_BODY:
            pass
        elif "transfer-encoding" in names:
            if self.header("transfer-encoding").lower() != "chunked" or "content-length" in names:
                raise BrokenAnswer(reason="it is encoded in a way that was not asked for")
            yield from self._read_chunks(most, largest, patience)
        elif "content-length" in names:
            length = self._length()
            if length > most:
                raise BrokenAnswer(reason=f"it has {length} bytes, and {most} are expected at most")
            yield from self._read_exactly(length, largest, patience)
        else:
            yield from self._read_to_end(most, patience)
            return
        self._connection.is_usable = not self._is_last and not self._connection.ahead

    def _length(self) -> int:
        text = self.header("content-length")
        if not (text.isascii() and text.isdigit()) or len(text) > 18:
            raise BrokenAnswer(reason="its length cannot be read")
        return int(text)

    def _read_exactly(self, length: int, largest: int, patience: _Patience) -> Iterator[Piece]:
        while length:
            piece = self._connection.read_some(min(length, largest), patience)
            length -= len(piece)
            yield piece

    def _read_chunks(self, most: int, largest: int, patience: _Patience) -> Iterator[Piece]:
        while length := self._chunk_length(patience):
            most -= length
            if most < 0:
                raise BrokenAnswer(reason="it is longer than expected")
            yield from self._read_exactly(length, largest, patience)
            if self._line(patience):
                raise BrokenAnswer(reason="a chunk of it is longer than it says")
        for _ in range(_MOST_INTERIM):
            if not self._line(patience):
                return
        raise BrokenAnswer(reason="its end is too long")

    def _chunk_length(self, patience: _Patience) -> int:
        found = _CHUNK.fullmatch(self._line(patience))
        if found is None:
            raise BrokenAnswer(reason="a chunk of it has no length")
        return int(found[1], 16)

    def _line(self, patience: _Patience) -> bytes:
        return self._connection.read_until(b"\r\n", _MOST_LINE, patience)

    def _read_to_end(self, most: int, patience: _Patience) -> Iterator[Piece]:
        """Yield a body that ends with the connection (RFC 9112 §6.3): it has neither a length nor chunks."""
        while True:
            try:
                piece = self._connection.read_some(_SMALL_PIECE, patience)
            except ConnectionResetError as error:
                if error.errno is None:
                    return
                raise
            most -= len(piece)
            if most < 0:
                raise BrokenAnswer(reason="it is longer than expected")
            yield piece


def _request_head(method: str, target: str, headers: Mapping[str, str], length: int | None) -> bytes:
    if not _TARGET.fullmatch(target):
        raise ValueError("an address has no such characters")
    fields = {**headers, **({} if length is None else {"Content-Length": str(length)})}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header has no such characters")
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _read_field(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name) or b"\r" in value or b"\n" in value:
        raise BrokenAnswer(reason="a header of it cannot be read")
    return name.decode("ascii").lower(), value.strip(b" \t").decode("latin-1")
