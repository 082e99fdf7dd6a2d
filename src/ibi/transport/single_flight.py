"""Identical requests under way at the same time are sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["SingleFlight"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Whoever comes while a flight of the same key is under way gets a seat in it. Seats are given up one by one: that
    a passenger is cancelled, or tires of waiting, is nothing to the flight or to the others.
    """

    def __init__(self) -> None:
        self._seats: dict[K, list[asyncio.Future[V]]] = {}

    def __len__(self) -> int:
        return len(self._seats)

    def board(self, key: K, take_off: Callable[[Callable[[V], None]], None]) -> asyncio.Future[V]:
        """The result, in a future that is the caller's own. `take_off` is called if there is no such flight yet, with
        the function that it, or whatever it starts, has to call with the result: once, and always."""
        seat: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        seats = self._seats.get(key)
        if seats is not None:
            seats.append(seat)
            return seat
        self._seats[key] = [seat]

        def land(value: V) -> None:
            for each in self._seats.pop(key):
                if not each.done():
                    each.set_result(value)

        take_off(land)
        return seat
