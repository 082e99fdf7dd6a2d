"""HTTP/1.1 with bounds that uvicorn leaves to a proxy in front: the size of a request's head, and the time it takes;
and what a body in chunks carries beside its bytes."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["MOST_HEAD", "PATIENCE", "GuardedProtocol"]

MOST_HEAD = 64 * 1024
"""Bytes of request line and headers; and of what comes between the bytes of a body, or after them."""

PATIENCE = 20.0
"""Seconds for a head to arrive in, from the connection or the first of its bytes on."""

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

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._in_message = self._has_body = self._refused = False
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._in_head, self._in_message, self._size = True, True, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Of fields that follow a body (RFC 9112 §7.1.2) nobody here asks for any: kept, they would fill the memory.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._has_body = False
        super().data_received(data)
        if not self._in_message or self.transport.is_closing():
            return
        self._size = 0 if self._has_body else self._size + len(data)
        if self._size > MOST_HEAD:
            self._refuse()
        elif self._in_head and self._timer is None:
            self._start_timer()

    def _refuse(self) -> None:
        """Say so, and let what still comes run dry for a moment: closed at once, the client would never read it. After
        the head an answer may be on its way already: then nothing is said."""
        self._refused = True
        if not self._in_head:
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
        answering = getattr(self.cycle, "response_complete", True) is False
        if not answering:
            self.transport.close()
