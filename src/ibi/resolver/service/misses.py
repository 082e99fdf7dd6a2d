"""Limits on misses: links that are neither cached nor in the Archive of the same server.

A miss costs many times as much as a cached link, and each question to another Archive about half of that again. One
network that sends misses as fast as it can would leave the loop no time for other readers. So each network has an
allowance, which grows by the second.

A network without allowance is not refused at once: a refusal costs nearly as much as an answer, and the next request
would follow it immediately. Instead, its misses queue and take turns at a steady pace. At its turn a link is looked up
in the own Archive; other Archives are asked only if the allowance permits it by then. All networks together are bounded
in the same way, and take turns.

Questions to other Archives start a few at a time (`TickShare`), with the rest of the loop's work in between.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from itertools import count
from typing import Final

import structlog

from ibi.jobs.limits import LimitScope, TooManyLinks, network_of
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork

MISS: Final = 4
"""Cost of a miss, without the questions to other Archives."""
QUESTION: Final = 2
"""Cost of a question to another Archive, with its answer."""

_AT_ONCE: Final = 1.0
"""Seconds of allowance that can be used without waiting for a turn."""
_BURST: Final = 30.0
"""Seconds of allowance that can be used in turns that follow each other more quickly."""
_PATIENCE: Final = 8.0
"""Seconds that a miss waits for its turn: less than the grace of a server that stops."""
_REFUSALS: Final = 2.5
"""Refusals of misses that have waited that long, per turn of one network. In a very long queue they wait longer."""
_RETRY_AFTER: Final = 5
_BURST_PACE: Final = 4.0
"""The factor by which turns of one network are faster during its burst. Misses that wait when it begins have their turn
before they are refused, and the network leaves room for others."""
_CONNECTIONS: Final = 50
"""New connections a second of a network with waiting misses."""
_LONGEST_DELAY: Final = 5.0
"""Seconds for which such a connection waits at most. It is not refused at once, because the next one would follow."""
_NETWORKS: Final = 10
"""Networks whose allowances add up to that of the server."""
_MOST_WAITING: Final = 8192
_MOST_OF_ONE: Final = 4096
"""Waiting misses of one network, each with a connection. With a full queue a miss is refused at once, and can come
again at once. So the queue has to be longer than the number of connections that one network is likely to have."""
_MOST_KNOWN: Final = 8192
"""Networks whose use is remembered."""
_BETWEEN_LOGS: Final = 60.0
_LOG = structlog.get_logger("ibi.resolver")


def _nothing() -> None:
    """Do nothing: by default waiting misses are not counted."""


class _Line:
    """The queue of one network. Its addresses take turns, so that a reader does not wait behind the flood of a
    neighbour."""

    __slots__ = ("_by_address", "_number")

    def __init__(self) -> None:
        self._by_address: OrderedDict[IpAddress | None, deque[asyncio.Future[bool]]] = OrderedDict()
        self._number = 0

    def __len__(self) -> int:
        return self._number

    def add(self, address: IpAddress | None, waiter: asyncio.Future[bool]) -> None:
        self._by_address.setdefault(address, deque()).append(waiter)
        self._number += 1

    def pop(self) -> asyncio.Future[bool] | None:
        """Return the next miss that still waits."""
        while self._by_address:
            address, waiters = self._by_address.popitem(last=False)
            waiter = waiters.popleft()
            if waiters:
                self._by_address[address] = waiters
            self._number -= 1
            if not waiter.done():
                return waiter
        return None


class MissLimit:
    """The misses of one server, for its event loop. `rate` is the number for one network a second; 0 is no limit."""

    def __init__(self, rate: float = 0.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._used_until: dict[IpNetwork | None, float] = {}
        """For each network, the time by which its allowance covers its use; missing if it already does."""
        self._all_used_until = self._most_used_until = 0.0
        self.lines: dict[IpNetwork | None, _Line] = {}
        """The waiting misses of each network. Other modules may look whether there are any."""
        self._turn_at: dict[IpNetwork | None, float] = {}
        """For each network, the earliest time of its next turn."""
        self._connected_until: dict[IpNetwork | None, float] = {}
        """For each network that was held back, the time by which its allowance covers the connections it has opened."""
        self._due: list[tuple[float, int, IpNetwork | None]] = []
        self._arrived: deque[tuple[float, asyncio.Future[bool]]] = deque()
        """The waiting misses, and some that no longer wait, in the order of arrival."""
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = self._next_turn = self._next_refusal = 0.0
        self._waiting, self._has_ended = 0, False
        self._told: dict[IpNetwork | None, float] = {}
        self._held_back: Callable[[], object] = _nothing

    def watch(self, held_back: Callable[[], object]) -> None:
        """Call `held_back` for each miss that has to wait for its turn."""
        self._held_back = held_back

    def __len__(self) -> int:
        """Return the number of misses that wait for their turn."""
        return self._waiting

    def is_within(self, client: IpAddress | None, now: float) -> bool:
        """Return whether a miss of this client need not wait: its network and the server have some allowance left, and
        no miss of the network waits already."""
        if self._most_used_until - now < _AT_ONCE and not self.lines:
            return True  # nearly always: without looking at the network
        if self._all_used_until - now >= _AT_ONCE:
            return False
        network = network_of(client)
        return network not in self.lines and self._used_until.get(network, 0.0) - now < _AT_ONCE

    def may_ask_others(self, client: IpAddress | None) -> bool:
        """Return whether the allowance permits questions to other Archives, for a miss that has had its turn."""
        if not self._rate:
            return True
        return self._has_burst(network_of(client), self._clock())

    def _has_burst(self, network: IpNetwork | None, now: float) -> bool:
        return self._used_until.get(network, 0.0) - now < _BURST and self._all_used_until - now < _BURST

    def charge(self, client: IpAddress | None, cost: int) -> None:
        if not self._rate:
            return
        now, network = self._clock(), network_of(client)
        seconds = cost / (MISS * self._rate)
        self._all_used_until = max(now, self._all_used_until) + seconds / _NETWORKS
        if network not in self._used_until and len(self._used_until) >= _MOST_KNOWN:
            self._forget(now)
        self._used_until[network] = until = max(now, self._used_until.get(network, 0.0)) + seconds
        self._most_used_until = max(self._most_used_until, until, self._all_used_until)

    def _forget(self, now: float) -> None:
        """Forget networks whose allowance covers their use. If there are none, forget all networks: the limit of the
        server remains."""
        self._used_until = {network: until for network, until in self._used_until.items() if until > now}
        if len(self._used_until) >= _MOST_KNOWN:
            self._used_until.clear()

    async def turn(self, client: IpAddress | None) -> None:
        """Wait for the turn of this miss. `TooManyLinks` if too many wait, or this one for too long."""
        network = network_of(client)
        line = self.lines.get(network)
        waiting = 0 if line is None else len(line)
        if waiting >= _MOST_OF_ONE or self._waiting >= _MOST_WAITING or self._has_ended:
            bound = LimitScope.NETWORK if waiting >= _MOST_OF_ONE else LimitScope.SERVER
            raise TooManyLinks(bound=bound, retry_after=self.retry_after)
        self._held_back()
        now = self._clock()
        self._tell(network, now)
        if line is None:
            line = self.lines[network] = _Line()
            heappush(self._due, (max(now, self._turn_at.get(network, 0.0)), next(self._order), network))
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        line.add(client, waiter)
        self._arrived.append((now, waiter))
        self._waiting += 1
        self._wake(now)
        try:
            has_turn = await waiter
        finally:
            self._waiting -= 1
        if not has_turn:
            raise TooManyLinks(bound=LimitScope.RATE, retry_after=self.retry_after)

    def connection_delay(self, client: IpAddress | None) -> float | None:
        """Return the seconds before a new connection of this client is read; None if too many wait already.

        Only networks with waiting misses are delayed. A new connection costs about as much as answering a link: with
        one for each miss, a network would take the loop from all others.
        """
        if not self.lines:
            return 0.0
        network = network_of(client)
        if network not in self.lines:
            return 0.0
        now = self._clock()
        delay = max(0.0, self._connected_until.get(network, 0.0) - now)
        if delay > _LONGEST_DELAY:
            return None
        if len(self._connected_until) >= _MOST_KNOWN:
            self._connected_until.clear()
        self._connected_until[network] = now + delay + 1 / _CONNECTIONS
        return delay

    def end(self) -> None:
        """Refuse waiting and new misses: the server is stopping."""
        self._has_ended = True
        for _, waiter in self._arrived:
            if not waiter.done():
                waiter.set_result(False)

    @property
    def retry_after(self) -> int:
        """Seconds after which a network without allowance has enough again for some links."""
        return _RETRY_AFTER

    def _tell(self, network: IpNetwork | None, now: float) -> None:
        if now - self._told.get(network, float("-inf")) >= _BETWEEN_LOGS:
            if len(self._told) >= _MOST_KNOWN:
                self._told.clear()
            self._told[network] = now
            _LOG.warning(
                "links of one network are held back: too many lead to nothing that is kept", network=str(network)
            )

    def _wake(self, now: float) -> None:
        while self._arrived and self._arrived[0][1].done():
            self._arrived.popleft()
        if not self._due:
            return
        at = self._due[0][0]
        if self._arrived:
            at = min(at, self._refusal_at())
        at = max(at, self._next_turn)
        if self._timer is not None:
            if self._wakes_at <= at:
                return
            self._timer.cancel()
        self._wakes_at = at
        self._timer = asyncio.get_running_loop().call_later(max(0.0, at - now), self._step)

    def _refusal_at(self) -> float:
        """Return the time at which the longest waiting miss is refused."""
        return max(self._arrived[0][0] + _PATIENCE, self._next_refusal)

    def _step(self) -> None:
        """Give one turn, or refuse one miss that has waited too long: one at a time, so that the loop does other work
        in between."""
        self._timer = None
        now = self._clock()
        try:
            if self._arrived and not self._arrived[0][1].done() and self._refusal_at() <= now:
                self._next_refusal = now + 1 / (self._rate * _REFUSALS)
                self._arrived.popleft()[1].set_result(False)
            elif self._due and self._due[0][0] <= now:
                self._give_turn(heappop(self._due)[2], now)
        finally:  # after any failure, the others have their turn
            self._next_turn = now + 1 / (self._rate * _NETWORKS)
            self._wake(now)

    def _give_turn(self, network: IpNetwork | None, now: float) -> None:
        line, at = self.lines[network], now + 1 / self._rate
        try:
            waiter = line.pop()
            if len(self._turn_at) >= _MOST_KNOWN:
                self._turn_at.clear()
            pace = _BURST_PACE if self._has_burst(network, now) else 1.0
            self._turn_at[network] = at = now + 1 / (self._rate * pace)
        finally:
            if len(line):
                heappush(self._due, (at, next(self._order), network))
            else:
                del self.lines[network]
        if waiter is not None:
            waiter.set_result(True)


class TickShare:
    """Bounds the pieces of work in one round of the event loop. The rest follows in the next rounds, and callers take
    turns."""

    def __init__(self, most: int = 4) -> None:
        self._most, self._used = most, 0
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._is_scheduled = False

    async def enter(self, who: Hashable) -> None:
        """Wait for a place. Returns at once if there is room in this round."""
        if self._used < self._most and not self._waiting:
            self._used += 1
            self._schedule()
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(waiter)
        self._schedule()
        await waiter

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        self._is_scheduled, self._used = False, 0
        while self._waiting and self._used < self._most:
            who, waiters = self._waiting.popitem(last=False)
            waiter = waiters.popleft()
            if waiters:
                self._waiting[who] = waiters
            if not waiter.done():  # its resolution has ended
                waiter.set_result(None)
                self._used += 1
        if self._used or self._waiting:
            self._schedule()
