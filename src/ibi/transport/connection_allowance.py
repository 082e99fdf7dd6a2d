"""How many connections may be open in all, and which of the idle ones goes when another is needed."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable

from ibi.transport.http_connection import HttpConnection

__all__ = ["ConnectionAllowance"]


class ConnectionAllowance:
    """Shared by all Archives. A place is taken before a connection is opened and given back when it is gone."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._idle: OrderedDict[HttpConnection, float] = OrderedDict()
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def taken(self) -> int:
        return self._taken

    def take(self, wake: Callable[[], None]) -> bool:
        """Whether there is a place, which the caller then has. If there is none, `wake` is called when one may be."""
        if self._taken >= self._most and self._idle:
            next(iter(self._idle)).abort()
        if self._taken >= self._most:
            self._waiting.append(wake)
            return False
        self._taken += 1
        return True

    def give_back(self, connection: HttpConnection | None = None) -> None:
        """The connection is gone, or there never was one."""
        if connection is not None:
            self._idle.pop(connection, None)
        self._taken -= 1
        while self._waiting and self._taken < self._most:
            self._waiting.popleft()()

    def note_idle(self, connection: HttpConnection, now: float) -> None:
        """It may be closed if somebody else needs a place; at once if somebody is waiting for one."""
        self._idle[connection] = now
        if self._waiting:
            connection.abort()

    def note_busy(self, connection: HttpConnection) -> None:
        del self._idle[connection]

    def close_idle_since(self, then: float) -> float | None:
        """Close what has not been used since then; when the longest idle one left was last used, None if none is."""
        while self._idle:
            connection, since = next(iter(self._idle.items()))
            if since > then:
                return since
            connection.abort()
        return None
