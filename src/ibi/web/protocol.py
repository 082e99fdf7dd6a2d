"""HTTP/1.1 with bounds that uvicorn leaves to a proxy in front: the size of a request's head, and the time it takes;
what a body in chunks carries beside its bytes; how many connections one client has; and how long an answer waits to be
taken. What can be answered at once is, before a task is made for it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ibi.web.at_once import Written
from ibi.web.connection_bound import Admission, ConnectionBound, Place
from ibi.web.taking import PATIENCE as TAKING_PATIENCE
from ibi.web.taking import Taking

__all__ = ["MOST_HEAD", "PATIENCE", "GuardedProtocol"]

MOST_HEAD = 64 * 1024
"""Bytes of request line and headers; and of what comes between the bytes of a body, or after them."""

PATIENCE = 20.0
"""Seconds for a head to arrive in, from the connection or the first of its bytes on."""

_NOT_PLAIN: Final = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection"})
"""Headers of requests that say something of the connection, or that there is a body."""
_LOOKED_AT: Final = _NOT_PLAIN | {b"host"}
_HOST: Final = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Za-z:.%]+\])(?::[0-9]*)?")
"""RFC 3986 §3.2, without a user."""
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_CONTROL: Final = bytes({*range(0x09), *range(0x0A, 0x20), 0x7F})
"""Bytes that no header has: those of line breaks among them."""
_MOST_IN_ONE_GO: Final = 8
"""Requests of one connection answered at once before others have their turn."""
_LINGER = 2.0


def _said(status: bytes, problem: bytes, *headers: bytes) -> bytes:
    """A refusal after which the connection ends."""
    lines = [
        b"HTTP/1.1 " + status,
        b"content-type: application/problem+json",
        b"content-length: %d" % len(problem),
        *headers,
        b"connection: close",
    ]
    return b"\r\n".join([*lines, b"", problem])


_TOO_LARGE: Final = _said(
    b"431 Request Header Fields Too Large",
    b'{"type":"urn:ibi:problem:head-too-large","title":"Head too large","status":431,'
    b'"detail":"The request line and the headers are too large."}',
)
_TOO_MANY: Final = _said(
    b"503 Service Unavailable",
    b'{"type":"urn:ibi:problem:too-many-connections","title":"Too many connections","status":503,'
    b'"detail":"There are too many connections from your address: close some of them.","retry_after":5}',
    b"cache-control: no-store",
    b"retry-after: 5",
)


class _Unreadable(Exception):
    """A request that a proxy in front may understand in another way."""


class GuardedProtocol(HttpToolsProtocol):
    """One connection. A head that arrives whole, as nearly all do, costs no more than it would without bounds."""

    patience = PATIENCE
    taking_patience = TAKING_PATIENCE
    """Seconds for something of an answer to be taken in."""
    at_once: Callable[[Scope], Written | None] | None = None
    """What may have the answer to a request."""
    bound: ConnectionBound | None = None
    """What counts the connections of each client."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._in_message = self._has_body = self._refused = False
        self._has_ended = self._is_plain = self._is_answered = False
        self._left = self._size = self._hosts = 0
        self._host = b""
        self._timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._idle_since = 0.0
        self._place: Place | None = None
        self._taking: Taking | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.bound is None or self._is_let_in(self.bound):
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self.bound is not None and self._place is not None:
            self.bound.leave(self._place)
            self._place = None
        if self._taking is not None:
            self._taking.end()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._taken().watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._taken().end()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._taken().see_off()

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            self._taken().see_off()

    def on_message_begin(self) -> None:
        self._in_head, self._in_message, self._size, self._hosts = True, True, 0, 0
        self._is_plain, self._is_answered = self.at_once is not None, False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Of fields that follow a body (RFC 9112 §7.1.2) nobody here asks for any: kept, they would fill the memory.
        if self._in_head:
            name = name.lower()
            if name not in _LOOKED_AT:  # what uvicorn does with most, without the way there: browsers send a dozen
                self.headers.append((name, value))
                return
            super().on_header(name, value)
            if name == b"host":
                self._take_host(value)
            else:
                self._is_plain = False

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._timer is not None:
            self._stop_timer()
        if self._is_plain and self._hosts == 1 and self._is_alone():
            self._answer_at_once()
        if not self._is_answered:
            self._check_head()
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message, self._has_ended = False, True
        if not self._is_answered:
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._has_body = self._has_ended = False
        self._left = _MOST_IN_ONE_GO
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not (self._in_head or self._is_answering()):
            # After answers at once, lines in which nothing stands, or a part of a body that nobody waits for.
            self._wait_for_more()
        if not self._in_message:
            return
        if self._has_body:
            self._size = 0
        elif self._has_ended:  # whole requests came before the one that goes on
            self._size = len(data) - data.rfind(b"\r\n\r\n") - 4
        else:
            self._size += len(data)
        if self._size > MOST_HEAD:
            self._refuse()
        elif self._in_head and self._timer is None:
            self._start_timer()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Whoever has said all gets the answers that are due, and then the connection ends. Whether somebody still
        reads them only shows when they are written."""
        if not self._is_answering() or self.cycle.more_body:
            self._close()
            return False
        self.cycle.keep_alive = False
        return True

    def send_400_response(self, msg: str) -> None:
        """What is wrong is said where an answer is due. What came before it is answered first: in the middle of that it
        would be taken for a part of it."""
        if not self._is_answering():
            self._say_400(msg)
        elif not self.cycle.more_body:  # the last request is whole: with its answer all is said
            self._refused, self.cycle.keep_alive = True, False
        elif self.pipeline or self.cycle.response_started:
            self._close()
        else:
            self.cycle.disconnected = True
            self._say_400(msg)

    def _say_400(self, msg: str) -> None:
        super().send_400_response(msg)
        self._taken().see_off()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing else is spoken here. The parser reads no further, so that the answer is the last one."""
        if self._is_answering():
            self.cycle.keep_alive = False
        else:
            self._close()

    def _take_host(self, value: bytes) -> None:
        self._hosts += 1
        if value != self._host:  # mostly it is that of the request before
            if _HOST.fullmatch(value) is None:
                raise _Unreadable("Host")
            self._host = value

    def _check_head(self) -> None:
        """RFC 9112 §3.2: whoever means two hosts, or none where there has to be one, may mean anything."""
        version = self.parser.get_http_version()
        if version not in _VERSIONS or self._hosts > 1 or (self._hosts == 0 and version == "1.1"):
            raise _Unreadable(version)

    def _is_alone(self) -> bool:
        """Whether an answer now would come in its turn, and would not wait for a client that does not read."""
        is_first = not self._is_answering() and not self.pipeline
        return is_first and self._left > 0 and not self.flow.write_paused and self.parser.should_keep_alive()

    def _is_answering(self) -> bool:
        # There is none before the first request that goes through the application.
        return getattr(self.cycle, "response_complete", True) is False

    def _wait_for_more(self) -> None:
        """A timer for each request would cost as much as to read it: one looks, when it is up, how long it has been."""
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _close_if_idle(self) -> None:
        self._idle_timer = None
        if self._in_head or self._is_answering() or self.timeout_keep_alive_task is not None:
            return  # that has an end of its own, and what comes after it is waited for anew
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

    def _is_sent(self, answer: Written, *, with_body: bool) -> bool:
        lines, number = answer.head
        own = [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
        head = b"%b%b%b\r\n" % (STATUS_LINE[answer.status], b"".join(own), lines)
        # A value with a line break in it would be taken for another header: the application refuses to send it.
        if len(head) - len(head.translate(None, _CONTROL)) != 2 * (1 + len(own) + number + 1):
            return False
        self.transport.write(head + answer.body if with_body else head)
        return True

    def _refuse(self) -> None:
        """Say so, and let what still comes run dry for a moment: closed at once, the client would never read it. An
        answer may be on its way already, to this request or to one before it: then nothing is said."""
        self._refused = True
        if not self._in_head or self._is_answering():
            self.transport.abort()
            return
        self._linger(_TOO_LARGE)

    def _is_let_in(self, bound: ConnectionBound) -> bool:
        """Whoever has too many connections is told so on this one, and nothing that comes over it is looked at. Where
        many are told at a time, the rest is not waited for."""
        self._place = place = None if self.client is None else bound.enter(self.client[0])
        if place is None or place.admission is Admission.IN:
            return True
        self._refused = True
        if place.admission is Admission.WAITED_FOR:
            self._linger(_TOO_MANY)
        else:
            self.transport.write(_TOO_MANY)
            self.transport.close()
        return False

    def _linger(self, refusal: bytes) -> None:
        self.transport.write(refusal)
        self.transport.write_eof()
        self._stop_timer()
        self._timer = self.loop.call_later(_LINGER, self.transport.abort)

    def _close(self) -> None:
        """What was said before is still sent, if somebody takes it."""
        if not self.transport.is_closing():
            self.transport.close()
        self._taken().see_off()

    def _taken(self) -> Taking:
        """Made for the few that have to wait."""
        if self._taking is None:
            self._taking = Taking(self.loop, self.transport, self.taking_patience)
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
