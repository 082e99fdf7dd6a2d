"""Limits per client and network: how many things at a time, and how many wrong attempts in a while.

Few resolutions at a time may disregard what is kept, and many may wait for an Archive elsewhere: a flood of links that
were never asked for would be as many questions to every Archive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, partial
from typing import Final

from ibi.errors import IbiError
from ibi.messages.values import IpAddress
from ibi.model.visibility import IpNetwork


@lru_cache(maxsize=4096)
def network_of(address: IpAddress | None) -> IpNetwork | None:
    """The part of the Internet that somebody is likely to have whole: 24 bits of an IPv4 address, 48 of an IPv6 one."""
    from ipaddress import ip_network

    if address is None:
        return None
    if address.version == 6:
        address = address.ipv4_mapped or address
    return ip_network((address, 24 if address.version == 4 else 48), strict=False)


_TRACES: Final = 16
_TRACES_OF_ONE: Final = 4
"""Of one network: a class that looks at the same page, and not one that keeps everybody else from it."""
_LINKS: Final = 2048
_LINKS_OF_ONE: Final = 256
"""Of one network: a university behind one address, each of whose readers waits for a fraction of a second."""


class LimitScope(StrEnum):
    """Which of the bounds somebody came up against."""

    SERVER = "server"
    NETWORK = "network"
    RATE = "rate"
    """Of misses of one network, or of all."""


class LimitExceeded(IbiError):
    """There is no turn for this client just now, who may come again after so many seconds."""

    def __init__(self, *, bound: LimitScope, retry_after: int) -> None:
        super().__init__(bound=bound, retry_after=retry_after)
        self.bound, self.retry_after = bound, retry_after


class TooManyTraces(LimitExceeded):
    """Many want to see in full how links are resolved: wait {retry_after} seconds and try again."""

    code = "too-many-traces"


class TooManyLinks(LimitExceeded):
    """Very many links are being looked for at other Archives: wait {retry_after} seconds and try again."""

    code = "too-many-links"


class ConcurrencyLimiter:
    """For one server, from its event loop."""

    def __init__(self, most: int, most_of_one: int, refusal: type[LimitExceeded]) -> None:
        self._most, self._most_of_one, self._refusal = most, most_of_one, refusal
        self._under_way: Counter[IpNetwork | None] = Counter()

    def acquire(self, client: IpAddress | None, retry_after: int) -> Callable[[], None]:
        """A turn, until what is given back here is called, which has to be once. The refusal is raised if none is free
        for that client, who may come again after so many seconds."""
        network = network_of(client)
        if self._under_way[network] >= self._most_of_one:
            raise self._refusal(bound=LimitScope.NETWORK, retry_after=retry_after)
        if self._under_way.total() >= self._most:
            raise self._refusal(bound=LimitScope.SERVER, retry_after=retry_after)
        self._under_way[network] += 1
        return partial(self._give_back, network)

    def _give_back(self, network: IpNetwork | None) -> None:
        self._under_way[network] -= 1
        if not self._under_way[network]:
            del self._under_way[network]

    def __len__(self) -> int:
        return self._under_way.total()


def trace_limiter(most: int = _TRACES, most_of_one: int = _TRACES_OF_ONE) -> ConcurrencyLimiter:
    return ConcurrencyLimiter(most, most_of_one, TooManyTraces)


def link_limiter(most: int = _LINKS, most_of_one: int = _LINKS_OF_ONE) -> ConcurrencyLimiter:
    return ConcurrencyLimiter(most, most_of_one, TooManyLinks)


FREE: Final = 5
"""Wrong ones in a row that cost nothing: somebody mistypes, or has an old one in the settings."""

LONGEST_WAIT: Final = 60.0
"""Seconds between two attempts at most. At one a minute, ten digits take nineteen thousand years; and an Archive whose
label somebody else guesses at is not kept out for longer than that."""

_FORGOTTEN_AFTER: Final = 3600.0
_MOST: Final = 4096


@dataclass(frozen=True, slots=True)
class _Tried:
    failures: int
    last: float
    free_at: float
    free_before: float
    """When the next one might have come, had there not been the last."""


class Attempts:
    """Attempts by subject: the label that was tried, or the network that tried. What was not tried longest goes first
    when there are too many. An attempt counts as wrong from when it begins, so that a thousand at once are not one."""

    def __init__(self, most: int = _MOST, *, free: int = FREE, longest_wait: float = LONGEST_WAIT) -> None:
        self._most, self._free, self._longest = most, free, longest_wait
        self._tried: dict[Hashable, _Tried] = {}

    def wait(self, subject: Hashable, now: float) -> float:
        """Seconds to wait before the next attempt; 0 if there may be one now."""
        tried = self._tried.get(subject)
        return 0.0 if tried is None else max(0.0, tried.free_at - now)

    def begin(self, subject: Hashable, now: float) -> None:
        before = self._tried.pop(subject, None)
        stale = before is None or now - before.last > _FORGOTTEN_AFTER
        failures = 1 if before is None or stale else before.failures + 1
        free_before = now if before is None or stale else before.free_at
        if len(self._tried) >= self._most:
            del self._tried[next(iter(self._tried))]
        self._tried[subject] = _Tried(failures, now, now + self._pause(failures), free_before)

    def succeeded(self, subject: Hashable) -> None:
        """The attempt was no guess: it counts no longer, and nobody waits because of it. The others do count, or one
        right key would buy any number of wrong ones."""
        tried = self._tried.get(subject)
        if tried is None:
            return
        if tried.failures <= 1:
            del self._tried[subject]
        else:
            self._tried[subject] = replace(tried, failures=tried.failures - 1, free_at=tried.free_before)

    def __len__(self) -> int:
        return len(self._tried)

    def _pause(self, failures: int) -> float:
        beyond = failures - self._free
        # 2⁶⁴ seconds are enough for whatever the longest wait is set to.
        return 0.0 if beyond < 0 else min(self._longest, float(1 << min(beyond, 64)))
