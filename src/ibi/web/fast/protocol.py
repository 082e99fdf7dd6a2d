"""HTTP/1.1 with bounds that uvicorn leaves to a proxy in front: the size of a request's head, and the time it takes;
what a body in chunks carries beside its bytes; how many connections one client has; how many requests wait for the
answer to another; and how long an answer waits to be taken. A request that can be answered at once is, without a task.

The parser gets one request at a time. Bytes behind it stay unparsed until that one is answered, and meanwhile nothing
more is read: parsed, they would take eighty times as much memory.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from typing import Any, Final

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ibi.errors import IbiError
from ibi.web.fast.connection_bounds import PATIENCE as TAKING_PATIENCE
from ibi.web.fast.connection_bounds import (
    Admission,
    BufferBound,
    Claim,
    ConnectionBound,
    Place,
    ReadingFlow,
    Refusals,
    WriteWatchdog,
    forget,
    plain_refusal,
)
from ibi.web.fast.fast_path import RawResponse, server_lines
from ibi.web.http.request_errors import HeadTooLarge, ServerFull, TooManyConnections

MOST_HEAD = 64 * 1024
"""Bytes of request line and headers; also of the chunk sizes within a body and the fields after it."""

MOST_FIELDS = 128
"""Headers of a request: each takes far more memory than its bytes, and browsers send a dozen or two."""

MOST_UNWRITTEN = 32 * 1024
"""Bytes of answers that wait to be sent over one connection before the next piece is asked for."""

PATIENCE = 20.0
"""Seconds for a head to arrive, counted from the connection or from its first byte."""

_NOT_PLAIN: Final = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection"})
"""Headers that concern the connection, or announce a body."""
_LOOKED_AT: Final = _NOT_PLAIN | {b"host"}
_HOST: Final = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Za-z:.%]+\])(?::[0-9]*)?")
"""RFC 3986 §3.2, without a user."""
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_CONTROL: Final = bytes({*range(0x09), *range(0x0A, 0x20), 0x7F})
"""Bytes that no header may contain, line breaks among them."""
_MOST_IN_ONE_GO: Final = 8
"""Requests of one connection answered in a row before other connections have their turn."""
_MOST_SLICES: Final = 256
"""Parts of one connection's input given to the parser before other connections have their turn."""
_EMPTY_LINE: Final = b"\r\n\r\n"
"""The end of a head, and of the fields behind a chunked body. The parser accepts no other."""
_LINGER = 2.0
"""Seconds for a refused client to send its request, and then to read the refusal."""
_MOST_LOOKED_AT: Final = 8 * 1024
"""Bytes of a refused client's request that are read to choose the form of the refusal."""


_FULL: Final = plain_refusal(ServerFull())
_TOO_MANY: Final = plain_refusal(TooManyConnections())
"""Made once: thousands may be refused in a second."""


def _is_of_network(transport: asyncio.Transport) -> bool:
    used = transport.get_extra_info("socket")
    return used is not None and used.family in (socket.AF_INET, socket.AF_INET6)


def _is_one_head(data: bytes) -> bool:
    size = len(data)
    return size <= MOST_HEAD and data.find(_EMPTY_LINE) == size - len(_EMPTY_LINE)


class _Unreadable(Exception):
    """A request that a proxy in front may read in another way."""


class GuardedProtocol(HttpToolsProtocol):
    """One HTTP/1.1 connection with bounds. A head that arrives whole, as nearly all do, costs no more than without
    them."""

    patience = PATIENCE
    taking_patience = TAKING_PATIENCE
    """Seconds in which the client has to take some of an answer."""
    at_once: Callable[[Scope], RawResponse | None] | None = None
    """The fast path, if there is one."""
    bound: ConnectionBound | None = None
    """Counts the connections of each client."""
    buffers: BufferBound | None = None
    """Counts the bytes that wait, over all connections."""
    refusals: Refusals = staticmethod(plain_refusal)
    """Makes the answer to a client whose connection is refused."""
    flow: ReadingFlow

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._in_message = self._has_body = self._refused = False
        self._is_plain = self._is_answered = False
        self._left = self._size = self._hosts = self._body_left = 0
        self._has_coding = self._is_too_large = False
        self._is_told = True
        self._host = self._held = self._tail = b""
        self._waiting = self._unwritten = 0
        self._timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._idle_since = 0.0
        self._place: Place | None = None
        self._taking: WriteWatchdog | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = ReadingFlow(transport, self._count_waiting)
        transport.set_write_buffer_limits(high=MOST_UNWRITTEN)
        if self.client is None and _is_of_network(transport):
            transport.abort()  # its client broke it off before it was accepted, but its bytes could still be read
        elif self.bound is None or self._is_let_in(self.bound):
            if self._place is not None and self._place.delay:
                self.flow.rest()
                self.loop.call_later(self._place.delay, self._wake)
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self._taking is not None:
            self._taking.end()
        super().connection_lost(exc)
        self._held, self._in_head, self._unwritten = b"", False, 0
        self.pipeline.clear()
        self._count_waiting()
        self._unset_keepalive_if_required()  # uvicorn leaves this timer running if the client has broken off
        self.flow.forget()
        if self.bound is not None and self._place is not None:
            self.bound.leave(self._place)
            self._place = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_watchdog().watch()
        # While it is paused nothing is added, so that this many bytes wait at most.
        self._unwritten = self.transport.get_write_buffer_size()
        self._count_waiting()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unwritten = 0
        self._count_waiting()
        if not self.transport.is_closing():
            self._write_watchdog().end()
            if self._held:
                self.loop.call_soon(self._go_on)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._write_watchdog().see_off()
        elif self._held:
            self.loop.call_soon(self._go_on)

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            self._write_watchdog().see_off()

    def on_message_begin(self) -> None:
        self._in_head, self._in_message, self._size, self._hosts = True, True, 0, 0
        self._is_plain, self._is_answered, self._has_coding, self._body_left = self.at_once is not None, False, False, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Fields that follow a body (RFC 9112 §7.1.2) are not used here: kept, they would fill the memory.
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

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        self._body_left = max(0, self._body_left - len(body))
        super().on_body(body)
        if self.cycle.response_complete and not self.flow.is_resting:
            # Dropped as quickly as it comes, megabytes would be read here while others wait.
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
        """Give the parser one message after the other. Bytes behind one that is not answered yet are held."""
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
        """All of `data` was read: wait for what comes next."""
        if self._is_answered and not self._in_message and not self._waiting:
            self._wait_for_more()
            return
        if self._refused:
            return
        if self._in_message:
            self._tail = (self._tail + data[-3:])[-3:]
            if self._in_head and len(self.headers) > MOST_FIELDS:
                self._refuse()
                return
            if self._in_head and self._timer is None:
                self._start_timer()
        if not (self._in_head or self._is_answering()):
            # After immediate answers, empty lines, or a part of a body that the application does not read.
            self._wait_for_more()
        if self._waiting or self._in_head:
            self._count_waiting()

    def _has_to_wait(self) -> bool:
        """Whether the next request has to wait for its turn, or for the client to take what it was sent."""
        return self._left <= 0 or self.flow.write_paused or self._is_answering()

    def _slice_end(self, data: bytes, start: int) -> int:
        """Where the head ends that begins or goes on at `start`, or the body; the end of `data` if it ends later."""
        if self._body_left and not self._in_head:
            return min(len(data), start + self._body_left)
        if start == 0 and self._tail:  # an empty line may have begun with what came before
            begun, self._tail = self._tail, b""
            found = (begun + data[:3]).find(_EMPTY_LINE)
            if found >= 0:
                return found + len(_EMPTY_LINE) - len(begun)
        found = data.find(_EMPTY_LINE, start)
        return len(data) if found < 0 else found + len(_EMPTY_LINE)

    def _feed(self, data: bytes) -> bool:
        """Parse `data`, part of one message; return whether more may be parsed behind it."""
        is_head = self._in_head or not self._in_message
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

    def _hold(self, rest: bytes) -> None:
        """Hold bytes that came behind a request, and read no more until that one is answered."""
        self._held = rest
        self.flow.hold()
        self._count_waiting()
        if self._in_message or not (self.flow.write_paused or self._is_answering()):
            self.loop.call_soon(self._go_on)  # it only waits for other connections to have their turn

    def _go_on(self) -> None:
        """Read the held bytes, which are gone if the connection is."""
        if not self._held or self._refused or self.transport.is_closing():
            return
        rest, self._held = self._held, b""
        self._left = _MOST_IN_ONE_GO
        self._parse(rest)
        if not self._held and not self.transport.is_closing():
            self.flow.release()
            self._count_waiting()

    def _wake(self) -> None:
        if not self.transport.is_closing():
            self.flow.wake()

    def _count_waiting(self) -> None:
        """Report how many bytes wait here for the client or the application."""
        number = len(self._held) + self._unwritten
        if self._in_head:
            number += self._size
        if self.flow.is_full and self.cycle is not None:
            number += len(self.cycle.body)
        if number == self._waiting or self.buffers is None:
            return
        self._waiting = number
        self.buffers.update(self, self._client_name(), number)

    def _client_name(self) -> str:
        place = self._place
        if place is not None and place.client is not None:
            return place.client
        return "" if self.client is None else self.client[0]

    @property
    def claim(self) -> Claim:
        """How good a reason this connection has to stay when another one needs its place."""
        if self._is_answering() or self._held:
            return Claim.STUCK if self.flow.write_paused else Claim.SERVED
        is_idle = self._idle_timer is not None or self.timeout_keep_alive_task is not None
        return Claim.IDLE if is_idle and not self._in_head else Claim.ASKING

    def give_way(self) -> None:
        if self._is_answering() or self.flow.write_paused:
            self.break_off()
        else:
            self._close()

    def break_off(self) -> None:
        """End the connection, and have the system forget what it would still send."""
        self._waiting = 0
        forget(self.transport.get_extra_info("socket"))
        self.transport.abort()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client has sent all: it gets the answers that are due, and then the connection ends. Whether it still
        reads only shows when they are written."""
        if not self._is_answering() or self.cycle.more_body:
            self._close()
            return False
        self.cycle.keep_alive = False
        return True

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request in its turn. Requests before it are answered first: inside their answers it would
        be taken for a part of them."""
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
        """No other protocol is supported. The parser reads no further, so that the answer is the last one."""
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
        """RFC 9112 §6: how long the body is. A list of codings is read in different ways by different programs, and
        what one takes for a body is a request to the other."""
        if name == b"content-length":
            self._body_left = int(value)
        elif name == b"transfer-encoding":
            if self._has_coding or value.strip(b" \t").lower() != b"chunked":
                raise _Unreadable("Transfer-Encoding")
            self._has_coding = True

    def _check_head(self) -> None:
        """RFC 9112 §3.2 and §6.1: a request must name exactly one host where one is required; before HTTP/1.1 there
        were no codings."""
        version = self.parser.get_http_version()
        if version not in _VERSIONS or self._hosts > 1 or (self._hosts == 0 and version == "1.1"):
            raise _Unreadable(version)
        if self._has_coding and version == "1.0":
            raise _Unreadable("Transfer-Encoding")

    def _is_alone(self) -> bool:
        """Whether an answer may be written now, because none is under way."""
        return getattr(self.cycle, "response_complete", True) and self._left > 0 and self.parser.should_keep_alive()

    def _is_answering(self) -> bool:
        # There is no cycle before the first request that goes through the application.
        return getattr(self.cycle, "response_complete", True) is False

    def _wait_for_more(self) -> None:
        """Note since when the connection is idle. A timer for each request would cost as much as to read it, so one
        timer checks the time when it fires."""
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _close_if_idle(self) -> None:
        self._idle_timer = None
        if self._in_head or self._held or self._is_answering() or self.timeout_keep_alive_task is not None:
            return  # each of these has a timeout of its own and starts this one again
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._idle_timer = self.loop.call_later(left, self._close_if_idle)
        else:
            self.timeout_keep_alive_handler()

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
        # A value with a line break in it would be taken for another header; the application then refuses to send it.
        if len(head) - len(head.translate(None, _CONTROL)) != 2 * (1 + own.number + number + 1):
            return False
        self.transport.write(head + answer.body if with_body else head)
        return True

    def _refuse(self) -> None:
        """Refuse a head that is too large, and ignore further input for a moment: closed at once, the client would
        never read the refusal. If an answer is on its way already, the connection is broken instead."""
        self._refused = True
        if (self._in_message and not self._in_head) or self._is_answering():
            self.transport.abort()
            return
        self._in_head = False
        self._linger(plain_refusal(HeadTooLarge(most=MOST_HEAD, fields=MOST_FIELDS)))

    def _is_let_in(self, bound: ConnectionBound) -> bool:
        """Whether the connection is let in. If not, the refusal is a page if the client asks for one; where many are
        refused at a time, requests are not waited for."""
        self._place = place = bound.enter("" if self.client is None else self.client[0], self)
        if place.admission is Admission.IN:
            return True
        self._refused = True
        if place.admission is Admission.WAITED_FOR:
            self._is_told = False
            self._timer = self.loop.call_later(_LINGER, self._tell)
        else:
            self.transport.write(_FULL if place.is_full else _TOO_MANY)
            self.transport.close()
        return False

    def _reason(self, place: Place) -> IbiError:
        return ServerFull() if place.is_full else TooManyConnections()

    def _look_at(self, data: bytes) -> None:
        """Read the beginning of a refused client's request, only to choose the form of the refusal."""
        if self._is_told:
            return
        self._tail += data[: _MOST_LOOKED_AT - len(self._tail)]
        if _EMPTY_LINE in self._tail or len(self._tail) >= _MOST_LOOKED_AT:
            self._tell()

    def _tell(self) -> None:
        self._is_told, said, self._tail = True, self._tail, b""
        assert self._place is not None
        self._linger(self.refusals(self._reason(self._place), said))

    def _linger(self, refusal: bytes) -> None:
        self.transport.write(refusal)
        self.transport.write_eof()
        self._stop_timer()
        self._timer = self.loop.call_later(_LINGER, self.transport.abort)

    def _close(self) -> None:
        """Close the connection after the answers already written, as long as the client takes them."""
        if not self.transport.is_closing():
            self.transport.close()
        self._write_watchdog().see_off()

    def _write_watchdog(self) -> WriteWatchdog:
        """The watchdog, made only for connections that have to wait."""
        if self._taking is None:
            self._taking = WriteWatchdog(self.loop, self.transport, self.taking_patience)
        return self._taking

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.patience, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._is_answering():
            self._close()
