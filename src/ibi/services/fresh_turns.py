"""Turns at resolutions for which nothing that is kept is looked at. Each of them asks Archives, whoever wants it: so
there are few at a time, for all and for each network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

from ibi.errors import IbiError
from ibi.messages.field import IpAddress
from ibi.model.visibility import IpNetwork

__all__ = ["MOST", "MOST_OF_ONE", "FreshTurns", "TooManyTraces", "TurnBound"]

MOST: Final = 16
"""Of the whole server at a time."""
MOST_OF_ONE: Final = 4
"""Of one network: a class that looks at the same page, and not one that keeps everybody else from it."""


class TurnBound(StrEnum):
    """Which of the bounds somebody came up against."""

    SERVER = "server"
    NETWORK = "network"


class TooManyTraces(IbiError):
    """Many want to see in full how links are resolved: wait {retry_after} seconds and try again."""

    code = "too-many-traces"

    def __init__(self, *, bound: TurnBound, retry_after: int) -> None:
        super().__init__(bound=bound, retry_after=retry_after)
        self.bound, self.retry_after = bound, retry_after


class FreshTurns:
    """For one server, from its event loop."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._under_way: Counter[IpNetwork | None] = Counter()

    @contextmanager
    def taken(self, client: IpAddress | None, retry_after: int) -> Iterator[None]:
        """A turn, until the `with` is left. `TooManyTraces` if none is free for that client, who may come again after
        so many seconds."""
        from ibi.services.key_check import network_of

        network = network_of(client)
        if self._under_way[network] >= self._most_of_one:
            raise TooManyTraces(bound=TurnBound.NETWORK, retry_after=retry_after)
        if self._under_way.total() >= self._most:
            raise TooManyTraces(bound=TurnBound.SERVER, retry_after=retry_after)
        self._under_way[network] += 1
        try:
            yield
        finally:
            self._under_way[network] -= 1
            if not self._under_way[network]:
                del self._under_way[network]

    def __len__(self) -> int:
        return self._under_way.total()
