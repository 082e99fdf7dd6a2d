"""Limits per client and network: the operations at a time, and the wrong attempts in a row.

Few resolutions at a time may bypass the cache, and only so many may wait for remote Archives. Otherwise a flood of new
links would send as many questions to every Archive.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from functools import lru_cache, partial
from math import ceil
from typing import Final, NamedTuple, Protocol

from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork


@lru_cache(maxsize=4096)
def network_of(address: IpAddress | None) -> IpNetwork | None:
    """Return the network that one client is likely to control: 24 bits of an IPv4 address, 48 of an IPv6 address."""
    from ipaddress import ip_network

    if address is None:
        return None
    if address.version == 6:
        address = address.ipv4_mapped or address
    return ip_network((address, 24 if address.version == 4 else 48), strict=False)


_TRACES: Final = 16
_TRACES_OF_ONE: Final = 4
"""Traces at a time of one network: enough for a class that looks at the same page, too few to shut others out."""
_LINKS: Final = 2048
_LINKS_OF_ONE: Final = 256
"""Links at a time of one network: a university behind one address, with readers that wait a fraction of a second
each."""


class LimitScope(StrEnum):
    """The limit that was exceeded."""

    SERVER = "server"
    NETWORK = "network"
    RATE = "rate"
    """Misses of one network, or of all."""


class LimitExceeded(IbiError):
    """There is no turn for this client just now, who may come again after so many seconds."""

    def __init__(self, *, bound: LimitScope, retry_after: int) -> None:
        super().__init__(bound=bound, retry_after=retry_after)
        self.bound, self.retry_after = bound, retry_after


class TooManyTraces(LimitExceeded):
    """Many want to see in full how links are resolved: wait {retry_after} seconds and try again."""

    code = "too-many-traces"
    kind = ErrorKind.UNAVAILABLE


class TooManyLinks(LimitExceeded):
    """Very many links are being looked for at other Archives: wait {retry_after} seconds and try again."""

    code = "too-many-links"
    kind = ErrorKind.UNAVAILABLE


class ConcurrencyLimiter:
    """Bounds concurrent operations, in all and per network. For one server, from its event loop."""

    def __init__(self, most: int, most_of_one: int, refusal: type[LimitExceeded]) -> None:
        self._most, self._most_of_one, self._refusal = most, most_of_one, refusal
        self._under_way: Counter[IpNetwork | None] = Counter()

    def acquire(self, client: IpAddress | None, retry_after: int) -> Callable[[], None]:
        """Take a slot and return the function that frees it, to be called once. If no slot is free for that client,
        raise the refusal with `retry_after`."""
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


def _whole(bound: int) -> int:
    """Return the whole bound: by default one process has all of it."""
    return bound


def trace_limiter(
    most: int = _TRACES, most_of_one: int = _TRACES_OF_ONE, *, part: Callable[[int], int] = _whole
) -> ConcurrencyLimiter:
    """`part` returns this process's part of a bound."""
    return ConcurrencyLimiter(part(most), part(most_of_one), TooManyTraces)


def link_limiter(
    most: int = _LINKS, most_of_one: int = _LINKS_OF_ONE, *, part: Callable[[int], int] = _whole
) -> ConcurrencyLimiter:
    return ConcurrencyLimiter(part(most), part(most_of_one), TooManyLinks)


def hold_alone() -> bool:
    """Return whether this process does the work of one among several processes. By default there are no others."""
    return True


class LimitRows(Protocol):
    """A few numbers for each subject: of this process, or of all workers (`ibi.server.worker_state`)."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes from reading or changing rows within the `with`. It may be nested."""

    def get(self, subject: Hashable) -> tuple[float, ...] | None: ...

    def put(self, subject: Hashable, values: tuple[float, ...], keep: float = 0.0) -> bool:
        """Write at most four numbers, and return whether there was room. If there are too many subjects, the least
        recently written one is dropped. A row with `keep` is not dropped for so many seconds after its writing."""

    def drop(self, subject: Hashable) -> None: ...

    def __len__(self) -> int: ...


MOST_TURNS: Final = 16384
"""Turns of networks that are promised at a time. Each has a row that is not dropped before."""


class MemoryRows:
    """The rows of one process: at most `most` subjects that may be dropped, and `MOST_TURNS` + 1 that are kept. For one
    thread at a time."""

    def __init__(self, most: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._most, self._monotonic = most, monotonic
        self._rows: dict[Hashable, tuple[float, ...]] = {}
        self._kept: dict[Hashable, tuple[float, tuple[float, ...]]] = {}
        """With the time until which each is kept; the earlier ones come first."""

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext()

    def get(self, subject: Hashable) -> tuple[float, ...] | None:
        kept = self._kept.get(subject)
        return self._rows.get(subject) if kept is None else kept[1]

    def put(self, subject: Hashable, values: tuple[float, ...], keep: float = 0.0) -> bool:
        now = self._monotonic()
        while self._kept and next(iter(self._kept.values()))[0] <= now:
            del self._kept[next(iter(self._kept))]
        if keep and subject not in self._kept and len(self._kept) > MOST_TURNS:
            return False
        self.drop(subject)
        if keep:
            self._kept[subject] = now + keep, values
            return True
        if len(self._rows) >= self._most:
            del self._rows[next(iter(self._rows))]
        self._rows[subject] = values
        return True

    def drop(self, subject: Hashable) -> None:
        self._rows.pop(subject, None)
        self._kept.pop(subject, None)

    def __len__(self) -> int:
        return len(self._rows) + len(self._kept)


_MOST_NETWORKS: Final = 4096
_NO_TURN: Final = float("-inf")
_KEPT_TURN: Final = 60.0
"""Seconds for which a network may be late for its turn."""
_ALL_KEPT: Final = 10.0**7
"""Seconds for which the total is kept: each request writes it anew."""


class RateLimiter:
    """Bounds the requests of one kind in a minute, from each network and in all; as many may come at once. For one
    thread at a time.

    A network without room in the total gets a turn. The turn holds if the network comes back at the announced time,
    however many others ask meanwhile. So a flood delays the others, and keeps none of them out. Beyond `MOST_TURNS`
    waiting networks, a further one learns the time of the last turn, but gets no promise.
    """

    def __init__(
        self,
        most: int,
        most_of_one: int,
        refusal: type[LimitExceeded],
        monotonic: Callable[[], float] = time.monotonic,
        rows: LimitRows | None = None,
    ) -> None:
        self._most, self._most_of_one, self._refusal, self._monotonic = most, most_of_one, refusal, monotonic
        self._left = MemoryRows(_MOST_NETWORKS, monotonic) if rows is None else rows

    def count(self, network: str) -> None:
        """Count a request. Raise the refusal if it is too many."""
        with self._left.alone():
            now = self._monotonic()
            left, turn = self._read_left(network, self._most_of_one, now)
            if left < 1:
                raise self._refusal(
                    bound=LimitScope.NETWORK, retry_after=_whole_seconds(_wait(left, self._most_of_one))
                )
            if not turn <= now <= turn + _KEPT_TURN:
                self._take_turn(network, left, turn, now)
            self._left.put(network, (left - 1, now, _NO_TURN))

    def _take_turn(self, network: str, left: float, turn: float, now: float) -> None:
        """Take one of the total. If there is none, raise the refusal with the turn that the network has from now on."""
        if turn <= now:
            all_left, _ = self._read_left("", self._most, now)
            wait = _wait(all_left, self._most)
            if all_left < 1:
                turn = now + wait
                if -all_left >= MOST_TURNS or not self._left.put(network, (left, now, turn), wait + _KEPT_TURN):
                    raise self._refusal(bound=LimitScope.SERVER, retry_after=_whole_seconds(wait))
            self._left.put("", (all_left - 1, now, _NO_TURN), _ALL_KEPT)
            if all_left >= 1:
                return
        raise self._refusal(bound=LimitScope.SERVER, retry_after=_whole_seconds(turn - now))

    def _read_left(self, key: str, most: int, now: float) -> tuple[float, float]:
        """Return the number of requests that may come now, and the time of the network's turn."""
        left, then, turn = (self._left.get(key) or (float(most), now, _NO_TURN))[:3]
        return min(float(most), left + (now - then) * most / 60), turn


def _wait(left: float, most: int) -> float:
    return (1 - left) * 60 / most


def _whole_seconds(wait: float) -> int:
    """Return the seconds for `Retry-After`, never too few. They are rounded up from the hundredth, since sums of floats
    are not exact."""
    return max(1, ceil(round(wait, 2)))


FREE: Final = 5
"""Wrong attempts in a row without a wait: a mistyped key, or an old one in the settings."""

LONGEST_WAIT: Final = 60.0
"""Seconds between two attempts at most. At one a minute, ten digits take nineteen thousand years. An Archive whose key
is being guessed is locked out for no longer."""

_FORGOTTEN_AFTER: Final = 3600.0
_MOST: Final = 4096


class _Tried(NamedTuple):
    failures: float
    last: float
    free_at: float
    free_before: float
    """The time at which the next attempt would have been allowed without the last one."""


class Attempts:
    """Attempts by subject: the label that was tried, or the network that tried. If there are too many, the least
    recently tried one is dropped. An attempt counts as wrong from its beginning, so that a thousand at once are not
    one."""

    def __init__(
        self,
        most: int = _MOST,
        *,
        free: int = FREE,
        longest_wait: float = LONGEST_WAIT,
        rows: LimitRows | None = None,
    ) -> None:
        """Without `rows` the attempts are those of this process, of `most` subjects."""
        self._free, self._longest = free, longest_wait
        self._rows = MemoryRows(most) if rows is None else rows

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes from making attempts within the `with`, for example between a look and the beginning."""
        return self._rows.alone()

    def wait(self, subject: Hashable, now: float) -> float:
        """Return the seconds to wait before the next attempt; 0 if there may be one now."""
        tried = self._read_tried(subject)
        return 0.0 if tried is None else max(0.0, tried.free_at - now)

    def begin(self, subject: Hashable, now: float) -> None:
        with self._rows.alone():
            before = self._read_tried(subject)
            stale = before is None or now - before.last > _FORGOTTEN_AFTER
            failures = 1 if before is None or stale else int(before.failures) + 1
            free_before = now if before is None or stale else before.free_at
            self._rows.put(subject, _Tried(failures, now, now + self._pause(failures), free_before))

    def note_success(self, subject: Hashable) -> None:
        """Note that the attempt was right: it no longer counts, and causes no wait. The others still count, or one
        right key would allow any number of wrong ones."""
        with self._rows.alone():
            tried = self._read_tried(subject)
            if tried is None:
                return
            if tried.failures <= 1:
                self._rows.drop(subject)
            else:
                self._rows.put(subject, tried._replace(failures=tried.failures - 1, free_at=tried.free_before))

    def __len__(self) -> int:
        return len(self._rows)

    def _read_tried(self, subject: Hashable) -> _Tried | None:
        row = self._rows.get(subject)
        return None if row is None else _Tried(*row)

    def _pause(self, failures: int) -> float:
        beyond = failures - self._free
        # 2⁶⁴ seconds exceed any setting of the longest wait.
        return 0.0 if beyond < 0 else min(self._longest, float(1 << min(beyond, 64)))
