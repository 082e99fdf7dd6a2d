"""One connection: it reads when there is room, is refused or broken within bounds, and is watched while its client does
not take an answer.

`ibi.server.protocol` adds HTTP/1.1.
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ibi.server.connection_bounds import (
    Admission,
    BufferBound,
    Claim,
    ConnectionBound,
    Place,
    Refusals,
    plain_refusal,
)
from ibi.standard.errors import IbiError
from ibi.web.request_errors import ServerFull, TooManyConnections

MOST_UNWRITTEN: Final = 32 * 1024
"""Bytes of answers that wait to be sent over one connection before the next piece is requested."""

HEAD_PATIENCE: Final = 20.0
"""Seconds for a head to arrive, counted from the connection or from its first byte."""

EMPTY_LINE: Final = b"\r\n\r\n"
"""The end of a head, and of the fields behind a chunked body. The parser accepts no other."""

_LINGER: Final = 2.0
"""Seconds for a refused client to send its request, and then to read the refusal."""

_MOST_LOOKED_AT: Final = 8 * 1024
"""Bytes of a refused client's request that are read to choose the form of the refusal."""

_FULL: Final = plain_refusal(ServerFull())
_TOO_MANY: Final = plain_refusal(TooManyConnections())
"""Made once: thousands may be refused in a second."""


def _is_of_network(transport: asyncio.Transport) -> bool:
    used = transport.get_extra_info("socket")
    return used is not None and used.family in (socket.AF_INET, socket.AF_INET6)


def _nothing() -> None:
    """Does nothing. It replaces a callback of a closed connection."""


class ReadingFlow(FlowControl):
    """Reads only if the application has room for more of a body, no requests wait, and other connections had their
    turn.

    uvicorn controls the first by `pause_reading` and `resume_reading`, also while an answer is sent. `changed` is
    called when reading stops or continues.
    """

    def __init__(self, transport: asyncio.Transport, changed: Callable[[], object]) -> None:
        super().__init__(transport)
        self._changed = changed
        self.is_full = False
        """True if the application has enough of a body for now."""
        self.is_held = False
        """True if requests wait for their turn."""
        self.is_resting = False
        """True if other connections have their turn first."""

    def pause_reading(self) -> None:
        self.is_full = True
        self._apply()

    def resume_reading(self) -> None:
        self.is_full = False
        self._apply()

    def hold(self) -> None:
        self.is_held = True
        self._apply()

    def release(self) -> None:
        self.is_held = False
        self._apply()

    def rest(self) -> None:
        self.is_resting = True
        self._apply()

    def wake(self) -> None:
        self.is_resting = False
        self._apply()

    def forget(self) -> None:
        """Stop calling `changed`: it belongs to the connection, and the two would form a reference cycle."""
        self._changed = _nothing

    def _apply(self) -> None:
        wanted = self.is_full or self.is_held or self.is_resting
        if wanted == self.read_paused:
            return
        self.read_paused = wanted
        if wanted:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
        self._changed()


TAKING_PATIENCE: Final = 60.0
"""Seconds without progress after which a connection with bytes to send is broken."""


class WriteWatchdog:
    """Breaks a connection if its client takes none of the waiting bytes.

    Nothing is added to these bytes while they are watched. So any byte that the client takes leaves fewer, even on a
    slow line.
    """

    __slots__ = ("_left", "_loop", "_patience", "_timer", "_transport")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, patience: float = TAKING_PATIENCE
    ) -> None:
        self._loop, self._transport, self._patience = loop, transport, patience
        self._timer: asyncio.TimerHandle | None = None
        self._left = 0

    def watch(self) -> None:
        if self._timer is None:
            self._left = self._untaken()
            self._timer = self._loop.call_later(self._patience, self._look)

    def see_off(self) -> None:
        """Watch until all bytes are taken and the connection closes."""
        if self._transport.get_write_buffer_size():
            self.watch()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        left = self._untaken()
        if left < self._left:
            self.watch()
        else:
            forget(self._transport.get_extra_info("socket"))
            self._transport.abort()

    def _untaken(self) -> int:
        """Return the bytes that wait here and in the system.

        The system takes megabytes at a time, for which a slow reader needs minutes.
        """
        return self._transport.get_write_buffer_size() + _queued_bytes(self._transport.get_extra_info("socket"))


def forget(connection: socket.socket | None) -> None:
    """Make the system drop unsent bytes. It would hold some megabytes for minutes."""
    if connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _queued_bytes(connection: socket.socket | None) -> int:
    """Return the bytes that the system holds and the other side has not received; 0 if the system does not report
    it."""
    if connection is None:
        return 0
    try:
        told: bytes = fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))
    except (OSError, ValueError):  # closed already, or not of a kind that counts
        return 0
    return int(struct.unpack("i", told)[0])


class BoundedConnection(HttpToolsProtocol):
    """The life of one connection within bounds: let in or refused, idle or answering, and its end."""

    patience = HEAD_PATIENCE
    taking_patience = TAKING_PATIENCE
    """Seconds in which the client has to take some of an answer."""
    bound: ConnectionBound | None = None
    """Counts the connections of each client."""
    buffers: BufferBound | None = None
    """Counts the waiting bytes over all connections."""
    refusals: Refusals = staticmethod(plain_refusal)
    """Makes the answer to a client with a refused connection."""
    flow: ReadingFlow

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._refused = self._is_retiring = False
        self._size = 0
        self._is_told = True
        self._held = self._tail = b""
        self._waiting = self._unwritten = 0
        self._timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._idle_since = 0.0
        self._place: Place | None = None
        self._taking: WriteWatchdog | None = None

    def _go_on(self) -> None:
        """Read the bytes that were held during an answer."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = ReadingFlow(transport, self._count_waiting)
        transport.set_write_buffer_limits(high=MOST_UNWRITTEN)
        if self.client is None and _is_of_network(transport):
            transport.abort()  # the client aborted it before it was accepted, but its bytes could still be read
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
        self._unset_keepalive_if_required()  # uvicorn leaves this timer running if the client has aborted
        self.flow.forget()
        if self.bound is not None and self._place is not None:
            self.bound.leave(self._place)
            self._place = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_watchdog().watch()
        # Nothing is added during the pause, so that at most this many bytes wait.
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

    def retire(self, *, close_idle: bool) -> None:
        """Make the next answer the last. Without a request, the connection stays for a while, or is closed."""
        self._is_retiring = True
        if self._is_answering():
            self.cycle.keep_alive = False
        elif close_idle and not (self._in_head or self._held):
            self._close()

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
        """This connection's claim to its place when another one needs it."""
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
        """End the connection, and make the system drop unsent bytes."""
        self._waiting = 0
        forget(self.transport.get_extra_info("socket"))
        self.transport.abort()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Handle the end of the client's input: send the answers that are due, then close the connection.

        Whether the client still reads shows only when the answers are written.
        """
        if not self._is_answering() or self.cycle.more_body:
            self._close()
            return False
        self.cycle.keep_alive = False
        return True

    def _is_answering(self) -> bool:
        # There is no cycle before the first request that goes through the application.
        return getattr(self.cycle, "response_complete", True) is False

    def _wait_for_more(self) -> None:
        """Note when the connection became idle.

        A timer for each request would cost as much as reading it, so that one timer checks the time when it fires.
        """
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

    def _is_let_in(self, bound: ConnectionBound) -> bool:
        """Return whether the connection is let in.

        If not, the refusal is a page if the client asks for one. When many are refused at a time, their requests are
        not read.
        """
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
        if EMPTY_LINE in self._tail or len(self._tail) >= _MOST_LOOKED_AT:
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
        """Return the watchdog, which exists only for connections that have to wait."""
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
