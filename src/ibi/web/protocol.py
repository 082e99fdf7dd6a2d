"""HTTP/1.1 with bounds that uvicorn leaves to a proxy in front: the size of a request's head, and the time it takes;
and what a body in chunks carries beside its bytes. What can be answered at once is, before a task is made for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ibi.web.at_once import Answer

__all__ = ["MOST_HEAD", "PATIENCE", "GuardedProtocol"]

MOST_HEAD = 64 * 1024
"""Bytes of request line and headers; and of what comes between the bytes of a body, or after them."""

PATIENCE = 20.0
"""Seconds for a head to arrive in, from the connection or the first of its bytes on."""

_NOT_PLAIN: Final = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection"})
"""Headers of requests that say something of the connection, or that there is a body."""
_MOST_IN_ONE_GO: Final = 8
"""Requests of one connection answered at once before others have their turn."""
_LINGER = 2.0
_TOO_LARGE = (
    b'{"type":"urn:ibi:problem:head-too-large","title":"Head too large","status":431,'
    b'"detail":"The request line and the headers are too large."}'
)
_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/problem+json\r\n"
    b"content-length: %d\r\n"
    b"connection: close\r\n"
    b"\r\n"
    b"%s" % (len(_TOO_LARGE), _TOO_LARGE)
)


class GuardedProtocol(HttpToolsProtocol):
    """One connection. A head that arrives whole, as nearly all do, costs no more than it would without bounds."""

    patience = PATIENCE
    at_once: Callable[[Scope], Answer | None] | None = None
    """What may have the answer to a request."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._in_message = self._has_body = self._refused = False
        self._has_ended = self._is_plain = self._is_answered = False
        self._left = self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._in_head, self._in_message, self._size = True, True, 0
        self._is_plain, self._is_answered = self.at_once is not None, False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Of fields that follow a body (RFC 9112 §7.1.2) nobody here asks for any: kept, they would fill the memory.
        if self._in_head:
            super().on_header(name, value)
            if self._is_plain and self.headers[-1][0] in _NOT_PLAIN:
                self._is_plain = False

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._timer is not None:
            self._stop_timer()
        if self._is_plain and self._is_alone():
            self._answer_at_once()
        if not self._is_answered:
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
        if self._left < _MOST_IN_ONE_GO and self._is_idle():
            self._wait_for_more()
        if not self._in_message or self.transport.is_closing():
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

    def _is_alone(self) -> bool:
        """Whether an answer now would come in its turn, and would not wait for a client that does not read."""
        is_first = not self._is_answering() and not self.pipeline
        return is_first and self._left > 0 and not self.flow.write_paused and self.parser.should_keep_alive()

    def _is_idle(self) -> bool:
        return not (self._in_message or self._is_answering() or self.transport.is_closing())

    def _is_answering(self) -> bool:
        # There is none before the first request that goes through the application.
        return getattr(self.cycle, "response_complete", True) is False

    def _wait_for_more(self) -> None:
        wait, close = self.timeout_keep_alive, self.timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(wait, close)

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

    def _is_sent(self, answer: Answer, *, with_body: bool) -> bool:
        lines = [STATUS_LINE[answer.status]]
        for name, value in (*self.server_state.default_headers, *answer.headers):
            lines += name, b": ", value, b"\r\n"
        lines.append(b"\r\n")
        head = b"".join(lines)
        # A value with a line break in it would be taken for another header: the application refuses to send it.
        if head.count(b"\n") != len(lines) // 4 + 2 or b"\0" in head:
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
        self.transport.write(_REFUSAL)
        self.transport.write_eof()
        self._stop_timer()
        self._timer = self.loop.call_later(_LINGER, self.transport.abort)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.patience, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._is_answering():
            self.transport.close()
