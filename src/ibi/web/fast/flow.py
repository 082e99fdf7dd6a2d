"""Flow control of a connection: when it is read, and when it is broken because its client does not read."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from uvicorn.protocols.http.flow_control import FlowControl


def _nothing() -> None:
    """Used once the connection has gone."""


class ReadingFlow(FlowControl):
    """Reads only if the application has room for more of a body, no requests wait for their turn, and other connections
    had theirs. uvicorn asks for the first by `pause_reading` and `resume_reading`, also while an answer is sent;
    `changed` is called when reading stops or goes on."""

    def __init__(self, transport: asyncio.Transport, changed: Callable[[], object]) -> None:
        super().__init__(transport)
        self._changed = changed
        self.is_full = False
        """Whether the application has enough of a body for now."""
        self.is_held = False
        """Whether requests wait for their turn."""
        self.is_resting = False
        """Whether others have their turn first."""

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


PATIENCE: Final = 60.0
"""Seconds without progress after which a connection with bytes to send is broken."""


class WriteWatchdog:
    """Breaks a connection whose client takes none of the bytes that wait to be sent. Nothing is added to them while
    they are watched, so any byte that the client takes leaves fewer, however slow the line."""

    __slots__ = ("_left", "_loop", "_patience", "_timer", "_transport")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, patience: float = PATIENCE
    ) -> None:
        self._loop, self._transport, self._patience = loop, transport, patience
        self._timer: asyncio.TimerHandle | None = None
        self._left = 0

    def watch(self) -> None:
        if self._timer is None:
            self._left = self._untaken()
            self._timer = self._loop.call_later(self._patience, self._look)

    def see_off(self) -> None:
        """Watch until all is taken, when the connection closes."""
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
        """Bytes that wait here and in the system, which takes megabytes at a time: a slow reader needs minutes for
        them."""
        return self._transport.get_write_buffer_size() + _queued_bytes(self._transport.get_extra_info("socket"))


def forget(connection: socket.socket | None) -> None:
    """Have the system drop unsent bytes: it would keep some megabytes for minutes."""
    if connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _queued_bytes(connection: socket.socket | None) -> int:
    """Bytes that the system has and the other side has not; 0 where the system does not report it."""
    if connection is None:
        return 0
    try:
        told: bytes = fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))
    except (OSError, ValueError):  # closed already, or not of a kind that counts
        return 0
    return int(struct.unpack("i", told)[0])
