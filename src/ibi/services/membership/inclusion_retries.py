"""Calls Archives again that have not confirmed their inclusion, while a server runs (E60).

The register has all unconfirmed inclusions, so that a restart forgets nothing: the time between two calls follows from
the age of the inclusion alone.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.errors import IbiError
from ibi.label import Label
from ibi.model.registration import Inclusion, Registration
from ibi.ports.clocks import Clocks
from ibi.ports.registry import Registry

LOOK: Final = 2.0
"""Seconds between two checks for due calls."""

_SHORTEST: Final = 5.0
_LONGEST: Final = 600.0
"""Seconds between two calls, at least and at most."""

_MOST_AT_ONCE: Final = 8
"""Archives called at the same time; the others are called at the next check."""

_FEWEST_ROUNDS: Final = 3
"""Unanswered calls in a row to the current address that this process must have made before a pending one may replace
it: after a restart, an hour on record may have passed without any call."""

_NEVER: Hashable = object()
_Key: TypeAlias = tuple[Label, tuple[str, str]]


class Retry(Protocol):
    """Calls an Archive again; `ibi.services.membership.inclusions.Inclusions.retry` does."""

    def __call__(self, registration: Registration, *, may_replace: bool) -> Awaitable[bool]: ...


@dataclass(slots=True)
class _Attempt:
    due: float
    """By the monotonic clock."""
    silent: int = 0
    """Calls in a row that the current address has not answered."""


async def _take_up_none(_: tuple[Registration, ...]) -> None:
    """Default: no refused requests are kept."""


class InclusionRetries:
    """Runs on the event loop of a server, which it neither delays nor stops by an error. Several processes on one
    register may each have one: calls are then made more often, and every change is still made once."""

    def __init__(
        self,
        registry: Registry,
        retry: Retry,
        clocks: Clocks,
        *,
        take_up: Callable[[tuple[Registration, ...]], Awaitable[None]] = _take_up_none,
        monotonic: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        """`take_up` gets all registrations when one of them has changed: one may be of an Archive that was refused."""
        self._registry, self._retry, self._clocks, self._take_up = registry, retry, clocks, take_up
        self._monotonic, self._chance, self._sleep = monotonic, chance, sleep
        self._log = log or structlog.get_logger("ibi.register")
        self._version: Hashable = _NEVER
        self._unconfirmed: tuple[Registration, ...] = ()
        self._attempts: dict[_Key, _Attempt] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the calls; on the event loop."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep_on(), name="inclusion retries")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _keep_on(self) -> None:
        while True:
            try:
                await self.step()
            except IbiError as error:
                self._log.error("Archives that have not confirmed cannot be called again", reason=str(error))
            await self._sleep(LOOK)

    async def step(self) -> None:
        """Make the calls that are due."""
        await self._look()
        now = self._monotonic()
        due = [each for each in self._unconfirmed if self._attempt(each, now).due <= now]
        await asyncio.gather(*map(self._try, due[:_MOST_AT_ONCE]))

    async def _look(self) -> None:
        version = self._registry.recent_version()
        if version == self._version:
            return
        # The version is read first, so it is never newer than the content: a change in between is seen at the next
        # check.
        found = await asyncio.to_thread(self._registry.all)
        await self._take_up(found)
        self._unconfirmed, self._version = tuple(filter(_is_unconfirmed, found)), version
        wanted = set(map(_key, self._unconfirmed))
        self._attempts = {key: each for key, each in self._attempts.items() if key in wanted}

    def _attempt(self, registration: Registration, now: float) -> _Attempt:
        key = _key(registration)
        if key not in self._attempts:
            # It was called when it asked to be included. The random delay spreads the calls after a restart.
            self._attempts[key] = _Attempt(now + self._chance() * _SHORTEST)
        return self._attempts[key]

    async def _try(self, registration: Registration) -> None:
        attempt = self._attempts[_key(registration)]
        # Set before the call, so that an error of our own does not repeat it at once.
        attempt.due = self._monotonic() + self._wait(registration)
        answered = await self._retry(registration, may_replace=attempt.silent + 1 >= _FEWEST_ROUNDS)
        attempt.silent = 0 if answered else attempt.silent + 1

    def _wait(self, registration: Registration) -> float:
        """Half the age of the inclusion, within bounds, less a random part: calls become rarer as it grows older."""
        age = self._clocks.read().wall.seconds - _wanted_inclusion(registration).since.seconds
        return min(_LONGEST, max(_SHORTEST, age / 2)) * (1 - self._chance() / 4)


def _is_unconfirmed(registration: Registration) -> bool:
    inclusion = registration.inclusion
    return inclusion is not None and (registration.pending is not None or not inclusion.confirmed)


def _wanted_inclusion(registration: Registration) -> Inclusion:
    wanted = registration.pending or registration.inclusion
    assert wanted is not None
    return wanted


def _key(registration: Registration) -> _Key:
    return registration.labels[0], _wanted_inclusion(registration).place
