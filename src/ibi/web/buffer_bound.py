"""How many bytes may wait in memory for clients, over all connections of one server.

Each connection has bounds of its own. What is left to bound is their sum: a few hundred clients that ask and do not
read would fill the memory together, each of them well within its own bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

__all__ = ["MOST_WAITING", "BufferBound", "Buffering"]

MOST_WAITING: Final = 48 * 1024 * 1024
"""Bytes of answers that were not taken, of requests that are not whole, and of requests that wait for their turn."""


class Buffering(Protocol):
    """A connection for which bytes wait."""

    def break_off(self) -> None:
        """End the connection at once and drop what waits for it."""


def _ignore(_: str) -> None:
    """Nothing counts what is broken."""


class BufferBound:
    """The bytes that wait, by client and connection; used from one event loop.

    When there are too many, the client with the most of them gives way, with the connection over which nothing has
    moved for longest. A slow reader moves up whenever some bytes are taken, and a client with one slow download has
    less waiting than one with a hundred, so that honest readers stay.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most, self.total = most, 0
        self._clients: dict[str, dict[Buffering, int]] = {}
        self._sums: dict[str, int] = {}
        self._broken: Callable[[str], object] = _ignore

    def watch(self, broken: Callable[[str], object]) -> None:
        """Have `broken` called with the client of each connection that gives way."""
        self._broken = broken

    def update(self, connection: Buffering, client: str, number: int) -> None:
        """`number` bytes wait for `connection` now; with 0 it is forgotten. May break connections, this one too."""
        self._remove(connection, client)
        if number:
            self._clients.setdefault(client, {})[connection] = number
            self._sums[client] = self._sums.get(client, 0) + number
            self.total += number
            self._make_room()

    def __len__(self) -> int:
        """Connections for which something waits."""
        return sum(map(len, self._clients.values()))

    def _remove(self, connection: Buffering, client: str) -> None:
        waiting = self._clients.get(client)
        number = None if waiting is None else waiting.pop(connection, None)
        if waiting is None or number is None:
            return
        self.total -= number
        self._sums[client] -= number
        if not waiting:
            del self._clients[client], self._sums[client]

    def _make_room(self) -> None:
        """One connection alone is let be: what waits for it is bounded by the size of one answer."""
        while self.total > self._most and len(self) > 1:
            client = max(self._sums, key=self._sums.__getitem__)
            connection = next(iter(self._clients[client]))
            self._remove(connection, client)
            self._broken(client)
            connection.break_off()
