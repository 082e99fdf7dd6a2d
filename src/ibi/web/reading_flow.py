"""When a connection is read: only while there is room for what comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl

__all__ = ["ReadingFlow"]


def _nothing() -> None:
    """The connection has gone."""


class ReadingFlow(FlowControl):
    """Reads on only if the application has room for more of a body, no requests wait for their turn, and other
    connections had theirs. uvicorn asks for the first by `pause_reading` and `resume_reading`, also while an answer is
    sent; `changed` is called when reading stops or goes on."""

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
        """Call `changed` no more: it belongs to the connection, and each would keep the other until the collector
        comes."""
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
