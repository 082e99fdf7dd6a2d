"""Turns at what asks Archives, whoever wants it: so many at a time, for all and for each network.

There are few at resolutions for which nothing that is kept is looked at, and many at those that have to wait for an
Archive elsewhere: a flood of links that nobody has asked for yet would be as many questions to every Archive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Final

from ibi.errors import IbiError
from ibi.messages.field import IpAddress
from ibi.model.visibility import IpNetwork
from ibi.services.client_network import network_of

__all__ = ["Refusal", "TooManyLinks", "TooManyTraces", "TurnBound", "Turns", "link_turns", "trace_turns"]

_TRACES: Final = 16
_TRACES_OF_ONE: Final = 4
"""Of one network: a class that looks at the same page, and not one that keeps everybody else from it."""
_LINKS: Final = 2048
_LINKS_OF_ONE: Final = 256
"""Of one network: a university behind one address, each of whose readers waits for a fraction of a second."""


class TurnBound(StrEnum):
    """Which of the bounds somebody came up against."""

    SERVER = "server"
    NETWORK = "network"
    RATE = "rate"
    """Of misses of one network, or of all."""


class Refusal(IbiError):
    """There is no turn for this client just now, who may come again after so many seconds."""

    def __init__(self, *, bound: TurnBound, retry_after: int) -> None:
        super().__init__(bound=bound, retry_after=retry_after)
        self.bound, self.retry_after = bound, retry_after


class TooManyTraces(Refusal):
    """Many want to see in full how links are resolved: wait {retry_after} seconds and try again."""

    code = "too-many-traces"


class TooManyLinks(Refusal):
    """Very many links are being looked for at other Archives: wait {retry_after} seconds and try again."""

    code = "too-many-links"


class Turns:
    """For one server, from its event loop."""

    def __init__(self, most: int, most_of_one: int, refusal: type[Refusal]) -> None:
        self._most, self._most_of_one, self._refusal = most, most_of_one, refusal
        self._under_way: Counter[IpNetwork | None] = Counter()

    def take(self, client: IpAddress | None, retry_after: int) -> Callable[[], None]:
        """A turn, until what is given back here is called, which has to be once. The refusal is raised if none is free
        for that client, who may come again after so many seconds."""
        network = network_of(client)
        if self._under_way[network] >= self._most_of_one:
            raise self._refusal(bound=TurnBound.NETWORK, retry_after=retry_after)
        if self._under_way.total() >= self._most:
            raise self._refusal(bound=TurnBound.SERVER, retry_after=retry_after)
        self._under_way[network] += 1
        return partial(self._give_back, network)

    def _give_back(self, network: IpNetwork | None) -> None:
        self._under_way[network] -= 1
        if not self._under_way[network]:
            del self._under_way[network]

    def __len__(self) -> int:
        return self._under_way.total()


def trace_turns(most: int = _TRACES, most_of_one: int = _TRACES_OF_ONE) -> Turns:
    return Turns(most, most_of_one, TooManyTraces)


def link_turns(most: int = _LINKS, most_of_one: int = _LINKS_OF_ONE) -> Turns:
    return Turns(most, most_of_one, TooManyLinks)
