"""Calls Archives that have not confirmed their inclusion, again and again while a server runs (E60).

The register has all unconfirmed inclusions, so that a restart forgets nothing: the time between two calls follows from
the age of the inclusion alone.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeAlias

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.jobs.limits import hold_alone
from ibi.jobs.runner import Job
from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import after_answer, after_failure, failure_code, failure_words
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.standard.reply import Failure, Reply

LOOK: Final = 2.0
"""Seconds between two checks for due calls."""

_SHORTEST: Final = 5.0
_LONGEST: Final = 600.0
"""Seconds between two calls, at least and at most."""

_MOST_AT_ONCE: Final = 8
"""Archives called at the same time. The others are called at the next check."""

_FEWEST_ROUNDS: Final = 3
"""Unanswered calls in a row to the current address that this process must have made before a pending one may replace
it: after a restart, an hour on record may have passed without any call."""

_NEVER: Hashable = object()
_Key: TypeAlias = tuple[Label, tuple[str, str]]


class Retry(Protocol):
    """Calls an Archive again; `ibi.membership.service.inclusions.Inclusions.retry` does."""

    def __call__(self, registration: Registration, *, may_replace: bool) -> Awaitable[bool]: ...


@dataclass(slots=True)
class _Attempt:
    due: float
    """By the monotonic clock."""
    silent: int = 0
    """Calls in a row that the current address has not answered."""


async def _take_up_none(_: tuple[Registration, ...]) -> None:
    """Do nothing: by default no refused requests are kept."""


class InclusionRetries:
    """Runs on the event loop of a server, which it neither delays nor stops by an error. Two servers on one register
    may each have one: then calls are more frequent, and every change still happens once."""

    def __init__(
        self,
        registry: Registry,
        retry: Retry,
        clocks: Clocks,
        *,
        take_up: Callable[[tuple[Registration, ...]], Awaitable[None]] = _take_up_none,
        monotonic: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        hold: Callable[[], bool] = hold_alone,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        """`take_up` gets all registrations when one of them has changed: one may be of an Archive that was refused. Of
        several processes, the one for which `hold` is true calls Archives."""
        self._registry, self._retry, self._clocks, self._take_up = registry, retry, clocks, take_up
        self._monotonic, self._chance = monotonic, chance
        self._hold, self._log = hold, log or structlog.get_logger("ibi.register")
        self._version: Hashable = _NEVER
        self._unconfirmed: tuple[Registration, ...] = ()
        self._attempts: dict[_Key, _Attempt] = {}

    def jobs(self) -> tuple[Job, ...]:
        return (Job("inclusion retries", self.step, LOOK),)

    async def step(self) -> None:
        """Make the calls that are due."""
        await self._look()
        if not (self._hold is hold_alone or await asyncio.to_thread(self._hold)):
            return
        now = self._monotonic()
        due = [each for each in self._unconfirmed if self._attempt(each, now).due <= now]
        await asyncio.gather(*map(self._try, due[:_MOST_AT_ONCE]))

    async def _look(self) -> None:
        version = self._registry.recent_version()
        if version == self._version:
            return
        # The version is read first, so it is never newer than the content. The next check sees a change in between.
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
        """Return half the age of the inclusion, within bounds, less a random part: calls become rarer as it grows
        older."""
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


_AGAIN: Final = 600.0
"""Seconds after which one more failure of the same kind is put on record."""
_WRITES_APART: Final = 10.0
"""Seconds between two changes of one registration. They bound the writes that an Archive causes by coming and going."""


class ContactRecord:
    """Puts on record the Archives that questions do not reach, with the reason, for `ibi resolver list` (E73).

    It listens to the replies of remote Archives on the event loop of a server. Almost all of them change nothing, and
    cost only a look into a dictionary.
    """

    def __init__(
        self,
        registry: Registry,
        clocks: Clocks,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self._registry, self._clocks, self._monotonic = registry, clocks, monotonic
        self._log = log or structlog.get_logger("ibi.register")
        self._failed: dict[Label, tuple[str, float]] = {}
        """The failures on record, by the first label of an Archive: the kind, and the time when this process noted
        it."""
        self._written: dict[Label, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def jobs(self) -> tuple[Job, ...]:
        async def step() -> float:
            await self.read()
            return math.inf

        return (Job("failures on record", step, math.inf),)

    async def read(self) -> None:
        """Read the failures on record, so that they can be taken back."""
        now = self._monotonic()
        found = await asyncio.to_thread(self._registry.all)
        self._failed.update({each.labels[0]: (each.failed.reason, now) for each in found if each.failed is not None})

    def note(self, archive: ArchiveRef, reply: Reply) -> None:
        label = archive.service.labels[0]
        if not isinstance(reply, Failure):
            if label in self._failed and self._may_write(label):
                del self._failed[label]
                self._write(label, after_answer)
                self._log.info("an Archive is reached again", archive=str(label), address=archive.address)
            return
        if not (reply.was_not_reached or reply.is_address):
            return
        code, now = failure_code(reply), self._monotonic()
        before = self._failed.get(label)
        if before is not None and before[0] == code and now - before[1] < _AGAIN:
            return
        if self._may_write(label):
            self._failed[label] = code, now
            self._write(label, partial(after_failure, failure=reply, now=self._clocks.read().wall))
            if before is None or before[0] != code:
                reason = failure_words(code, label)
                self._log.warning(
                    "an Archive is not reached", archive=str(label), address=archive.address, reason=reason
                )

    async def close(self) -> None:
        """Wait for the writes under way."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _may_write(self, label: Label) -> bool:
        now = self._monotonic()
        if now - self._written.get(label, float("-inf")) < _WRITES_APART:
            return False
        self._written[label] = now
        return True

    def _write(self, label: Label, make: Callable[[Registration], Registration]) -> None:
        task = asyncio.get_running_loop().create_task(self._change(label, make))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _change(self, label: Label, make: Callable[[Registration], Registration]) -> None:
        try:
            await asyncio.to_thread(self._registry.change, label, make)
        except IbiError as error:
            self._log.error("whether an Archive was reached is not kept", archive=str(label), reason=str(error))
