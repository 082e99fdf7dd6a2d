"""HTTP/1.1 with bounds that uvicorn leaves to a proxy in front.

The bounds are on:

- the size of a request's head, and its time to arrive;
- the overhead of a body in chunks;
- the connections of a client;
- the requests that wait for the answer to another;
- the time in which a client must take an answer.

A request that can be answered at once is answered without a task.

The parser gets one request at a time. Bytes behind it stay unparsed until that one is answered, and meanwhile nothing
more is read: parsed, they would take eighty times as much memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ibi.server.connection import EMPTY_LINE, BoundedConnection
from ibi.server.connection_bounds import plain_refusal
from ibi.server.fast_path import RawResponse, server_lines
from ibi.web.request_errors import HeadTooLarge

MOST_HEAD = 64 * 1024
"""Bytes of request line and headers; also of the chunk sizes within a body and the fields after it."""

MOST_FIELDS = 128
"""Headers of a request. Each takes far more memory than its bytes, and browsers send a dozen or two."""

_NOT_PLAIN: Final = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection"})
"""Headers that concern the connection, or announce a body."""
_LOOKED_AT: Final = _NOT_PLAIN | {b"host"}
_HOST: Final = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Za-z:.%]+\])(?::[0-9]*)?")
"""RFC 3986 §3.2, without a user."""
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_CONTROL: Final = bytes({*range(0x09), *range(0x0A, 0x20), 0x7F})
"""Bytes that no header may contain, line breaks among them."""
_MOST_IN_ONE_GO: Final = 8
"""Requests of one connection that are answered in a row before other connections have their turn."""
_MOST_SLICES: Final = 256
"""Parts of one connection's input that the parser gets before other connections have their turn."""


_EIGHT_BIT: Final = re.compile(rb"[\x80-\xff]")
_BEGUN: Final = re.compile(rb"[\r\n]*[^\n]*")


def _is_one_head(data: bytes) -> bool:
    """Return whether the data is exactly one head, without octets that the parser refuses."""
    size = len(data)
    return size <= MOST_HEAD and data.find(EMPTY_LINE) == size - len(EMPTY_LINE) and data.isascii()


def _encode_octets(line: bytes) -> bytes:
    """Return a request line in ASCII (RFC 9112 §3.2): raw octets of a link, as old browsers send them, become `%XX`
    (E33)."""
    return line if line.isascii() else _EIGHT_BIT.sub(lambda octet: b"%%%02X" % ord(octet[0]), line)


class _Unreadable(Exception):
    """A request that a proxy in front may read in another way."""


class GuardedProtocol(BoundedConnection):
    """One HTTP/1.1 connection with bounds. A head that arrives whole, as nearly all do, costs no more than without
    them."""

    at_once: Callable[[Scope], RawResponse | None] | None = None
    """The fast path, if there is one."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_message = self._has_body = False
        self._is_plain = self._is_answered = False
        self._left = self._hosts = self._body_left = 0
        self._has_coding = self._is_too_large = self._is_line_read = False
        self._host = b""

    def on_message_begin(self) -> None:
        self._in_head, self._in_message, self._size, self._hosts = True, True, 0, 0
        self._is_plain, self._is_answered, self._has_coding, self._body_left = self.at_once is not None, False, False, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Fields after a body (RFC 9112 §7.1.2) are not used here. To hold them would fill the memory.
        if self._in_head:
            name = name.lower()
            if name not in _LOOKED_AT:  # as uvicorn does with most, but without the call: browsers send a dozen
                self.headers.append((name, value))
                return
            super().on_header(name, value)
            if name == b"host":
                self._take_host(value)
            else:
                self._is_plain = False
                self._take_framing(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.headers) > MOST_FIELDS:
            self._is_too_large = True
            raise _Unreadable("too many fields")
        if self._timer is not None:
            self._stop_timer()
        if self._is_plain and self._hosts == 1 and self._is_alone():
            self._answer_at_once()
        if not self._is_answered:
            self._check_head()
            super().on_headers_complete()
            if self._is_retiring:
                self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        self._body_left = max(0, self._body_left - len(body))
        super().on_body(body)
        if self.cycle.response_complete and not self.flow.is_resting:
            # To drop it at full speed would read megabytes here while others wait.
            self.flow.rest()
            self.loop.call_soon(self._wake)

    def on_message_complete(self) -> None:
        self._in_message = False
        if not self._is_answered:
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._in_message or self._refused or self._held or self.flow.write_paused or not _is_one_head(data):
            self._take(data)
        elif getattr(self.cycle, "response_complete", True):  # one request without a body, as nearly all are
            self._left = _MOST_IN_ONE_GO
            super().data_received(data)
            if not self.transport.is_closing():
                self._settle(data)
        else:
            self._hold(data)

    def _take(self, data: bytes) -> None:
        if self._refused:
            self._look_at(data)
        elif self._held:  # some arrives although reading is paused
            self._held += data
        else:
            self._left = _MOST_IN_ONE_GO
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        """Give the parser one message after the other. Bytes behind an unanswered one are held."""
        start, end, size = 0, 0, len(data)
        for _ in range(_MOST_SLICES):
            if not self._in_message and self._has_to_wait():
                break
            end = self._slice_end(data, start)
            if not self._feed(data if end - start == size else data[start:end]):
                return
            start = end
            if start == size:
                break
        if start < size:
            self._hold(data[start:])
        else:
            self._settle(data)

    def _settle(self, data: bytes) -> None:
        """Wait for the next bytes after all of `data` was read."""
        if self._is_answered and not self._in_message and not self._waiting:
            self._wait_for_more()
            return
        if self._refused:
            return
        if self._in_message:
            self._tail = (self._tail + data[-3:])[-3:]
        if self._in_head:
            if len(self.headers) > MOST_FIELDS:
                self._refuse()
                return
            if self._timer is None:
                self._start_timer()
            self._count_waiting()
            return
        if not self._is_answering():
            # After immediate answers, empty lines, or a part of a body that the application does not read.
            self._wait_for_more()
        if self._waiting:
            self._count_waiting()

    def _has_to_wait(self) -> bool:
        """Return whether the next request has to wait for its turn, or for the client to take earlier answers."""
        return self._left <= 0 or self.flow.write_paused or self._is_answering()

    def _slice_end(self, data: bytes, start: int) -> int:
        """Return the end of the head or body that begins or continues at `start`, or the end of `data` if that is
        earlier."""
        if self._body_left and not self._in_head:
            return min(len(data), start + self._body_left)
        if start == 0 and self._tail:  # an empty line may have begun in the bytes before
            begun, self._tail = self._tail, b""
            found = (begun + data[:3]).find(EMPTY_LINE)
            if found >= 0:
                return found + len(EMPTY_LINE) - len(begun)
        found = data.find(EMPTY_LINE, start)
        return len(data) if found < 0 else found + len(EMPTY_LINE)

    def _feed(self, data: bytes) -> bool:
        """Parse `data`, part of one message. Return whether more may be parsed behind it."""
        is_head = self._in_head or not self._in_message
        if is_head:
            data = self._with_plain_line(data)
        if is_head and len(data) + self._size > MOST_HEAD:
            self._refuse()
            return False
        self._has_body = False
        super().data_received(data)
        if self._refused or self.transport.is_closing():
            return False
        if not self._in_message or self._has_body or is_head != self._in_head:
            self._size = 0
        else:
            self._size += len(data)
            if self._size > MOST_HEAD:
                self._refuse()
                return False
        return True

    def _with_plain_line(self, data: bytes) -> bytes:
        """Return a part of a head, with the request line in this part in ASCII."""
        if self._in_message and self._is_line_read:
            return data
        match = _BEGUN.match(data)
        end = match.end() if match else 0
        self._is_line_read = end < len(data)
        return data if data.isascii() else _encode_octets(data[:end]) + data[end:]

    def _hold(self, rest: bytes) -> None:
        """Hold bytes that came behind a request, and read no more until that one is answered."""
        self._held = rest
        self.flow.hold()
        self._count_waiting()
        if self._in_message or not (self.flow.write_paused or self._is_answering()):
            self.loop.call_soon(self._go_on)  # it only waits for other connections to have their turn

    def _go_on(self) -> None:
        """Read the held bytes. They are gone if the connection is."""
        if not self._held or self._refused or self.transport.is_closing():
            return
        rest, self._held = self._held, b""
        self._left = _MOST_IN_ONE_GO
        self._parse(rest)
        if not self._held and not self.transport.is_closing():
            self.flow.release()
            self._count_waiting()

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request in its turn.

        Requests before it are answered first: inside their answers, a client would take the refusal for a part of them.
        """
        if self._is_too_large:
            self._in_head = True
            self._refuse()
        elif not self._is_answering():
            self._say_400(msg)
        elif not self.cycle.more_body:  # the last request is whole: its answer is the last
            self._refused, self.cycle.keep_alive = True, False
        elif self.pipeline or self.cycle.response_started:
            self._close()
        else:
            self.cycle.disconnected = True
            self._say_400(msg)

    def _say_400(self, msg: str) -> None:
        super().send_400_response(msg)
        self._write_watchdog().see_off()

    def _unsupported_upgrade_warning(self) -> None:
        """Close the connection after the answers: no other protocol is supported. The parser reads no further."""
        if self._is_answering():
            self.cycle.keep_alive = False
        else:
            self._close()

    def _take_host(self, value: bytes) -> None:
        self._hosts += 1
        if value != self._host:  # mostly it equals that of the request before
            if _HOST.fullmatch(value) is None:
                raise _Unreadable("Host")
            self._host = value

    def _take_framing(self, name: bytes, value: bytes) -> None:
        """Read the length of the body (RFC 9112 §6).

        A list of codings is refused: programs read it in different ways, and one program's body is another's request.
        """
        if name == b"content-length":
            self._body_left = int(value)
        elif name == b"transfer-encoding":
            if self._has_coding or value.strip(b" \t").lower() != b"chunked":
                raise _Unreadable("Transfer-Encoding")
            self._has_coding = True

    def _check_head(self) -> None:
        """Check RFC 9112 §3.2 and §6.1: exactly one host, where one is required, and no codings before HTTP/1.1."""
        version = self.parser.get_http_version()
        if version not in _VERSIONS or self._hosts > 1 or (self._hosts == 0 and version == "1.1"):
            raise _Unreadable(version)
        if self._has_coding and version == "1.0":
            raise _Unreadable("Transfer-Encoding")

    def _is_alone(self) -> bool:
        """Return whether an answer may be written now, because none is in progress."""
        is_free = getattr(self.cycle, "response_complete", True) and not self._is_retiring
        return is_free and self._left > 0 and self.parser.should_keep_alive()

    def _answer_at_once(self) -> None:
        path, _, query = self.url.partition(b"?")
        if path[:1] != b"/" or path[:2] == b"//" or b"%" in path or b"#" in self.url or not self.url.isascii():
            return
        scope: Any = self.scope
        scope["method"], scope["query_string"] = self.parser.get_method().decode("ascii"), query
        scope["path"], scope["raw_path"] = path.decode("ascii"), path
        assert self.at_once is not None
        answer = self.at_once(scope)
        if answer is not None and self._is_sent(answer, with_body=scope["method"] != "HEAD"):
            self._is_answered = True
            self._left -= 1
            self.server_state.total_requests += 1
            answer.after()

    def _is_sent(self, answer: RawResponse, *, with_body: bool) -> bool:
        lines, number = answer.head
        own = server_lines(self.server_state.default_headers)
        head = b"%b%b%b\r\n" % (STATUS_LINE[answer.status], own.lines, lines)
        # A value with a line break would be taken for another header. The application then refuses to send it.
        if len(head) - len(head.translate(None, _CONTROL)) != 2 * (1 + own.number + number + 1):
            return False
        self.transport.write(head + answer.body if with_body else head)
        return True

    def _refuse(self) -> None:
        """Refuse a head that is too large, and ignore further input for a moment.

        If the connection were closed at once, the client would never read the refusal. If an answer is already being
        sent, the connection is broken instead.
        """
        self._refused = True
        if (self._in_message and not self._in_head) or self._is_answering():
            self.transport.abort()
            return
        self._in_head = False
        self._linger(plain_refusal(HeadTooLarge(most=MOST_HEAD, fields=MOST_FIELDS)))
