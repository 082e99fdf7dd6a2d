"""Readiness of a server: it tries to mint without minting, and checks that the open files are still in place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.jobs.promptness import beside
from ibi.minting.model import MintRequest, TickState
from ibi.minting.ports import Remembered, Ticks
from ibi.minting.rules.errors import ClockRefused, QueueTooLong
from ibi.minting.rules.minter import Decision, decide
from ibi.minting.service.queue import MintQueue
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import ErrorKind, IbiError

_FRESH = 1.0
"""Seconds for which an answer is reused: the check takes the minter's lock, and is open to all."""

_FAILURE_COUNTS = 30.0
"""Seconds for which a failed write counts as unready: only writing reveals a full disk."""


class StoreUnwritable(IbiError):
    """The store of this minter cannot be written."""

    code = "store-unwritable"
    kind = ErrorKind.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class ReadinessCheck:
    """A check, with the name of the part that it checks."""

    name: str
    check: Callable[[], None]

    def __call__(self) -> None:
        self.check()


class CheckedPart(NamedTuple):
    """A checked part of the server, with the errors that keep it from serving."""

    name: str
    errors: tuple[IbiError, ...]


class Readiness:
    """Watches a minter, and tries its rules on the present clock and store."""

    def __init__(
        self,
        queue: MintQueue | None,
        ticks: Ticks | None,
        clocks: Clocks,
        *,
        checks: Sequence[Callable[[], None]] = (),
        is_prompt: bool = True,
        log: FilteringBoundLogger | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without a `queue` nothing is minted here, and nothing tried. Each of the `checks` raises an `IbiError` if its
        file cannot be relied on. `now` is the monotonic clock, for the age of an answer. Without `is_prompt` the checks
        are slow, and reports do not wait for them."""
        self._queue, self._ticks, self._clocks, self._now = queue, ticks, clocks, now
        self._checks, self._log = [*checks], log or structlog.get_logger("ibi.web")
        self._logged: frozenset[str] = frozenset()
        self._is_prompt, self._known = is_prompt, tuple[IbiError, ...]()
        self._asking: asyncio.Task[tuple[IbiError, ...]] | None = None
        self._asked = -_FRESH
        self._parts: tuple[CheckedPart, ...] = ()
        self.epoch = ""
        """The epoch of the minter, as of the last answer."""

    def add(self, *checks: Callable[[], None]) -> None:
        """Examine these, too."""
        self._checks += checks

    async def reasons(self) -> tuple[IbiError, ...]:
        """Return the reasons why the server is not ready; none if it is. Concurrent callers share one answer."""
        return await asyncio.shield(self._ask())

    async def parts(self) -> tuple[CheckedPart, ...]:
        """Return the checked parts behind the answer of `reasons`."""
        await self.reasons()
        return self._parts

    async def reported_reasons(self) -> tuple[IbiError, ...]:
        """Return the `reasons` for a report among others: the last known ones where storage is slow."""
        if self._is_prompt:
            return await self.reasons()
        self._ask()
        return self._known

    def _ask(self) -> asyncio.Task[tuple[IbiError, ...]]:
        if self._asking is None or (self._asking.done() and self._now() >= self._asked + _FRESH):
            self._asked = self._now()
            self._asking = asyncio.create_task(self._look())
        return self._asking

    async def _look(self) -> tuple[IbiError, ...]:
        self._known = await (asyncio.to_thread(self._try) if self._is_prompt else beside(self._try))
        return self._known

    def _try(self) -> tuple[IbiError, ...]:
        minting = () if self._queue is None else (CheckedPart("minting", self._try_minting()),)
        self._parts = (*minting, *self._check_all())
        return _different(error for part in self._parts for error in part.errors)

    def _check_all(self) -> tuple[CheckedPart, ...]:
        parts = tuple(_try_check(check) for check in self._checks)
        failed = _different(error for part in parts for error in part.errors)
        for reason in failed:
            if str(reason) not in self._logged:
                self._log.error("not ready", code=reason.code, detail=str(reason))
        self._logged = frozenset(map(str, failed))
        return parts

    def _try_minting(self) -> tuple[IbiError, ...]:
        queue, ticks = self._queue, self._ticks
        if queue is None or ticks is None:
            return ()
        try:
            refusals = ticks.advance(partial(self._rehearsal, queue)).outcomes
            self.epoch = ticks.epoch()
        except Exception:  # noqa: BLE001 - the store does not serve; the log of a real request has the reason
            return (StoreUnwritable(),)
        refusal = queue.refusal()
        refusals = refusals if refusal is None else (refusal, *refusals)
        reasons = tuple(refusal for refusal in refusals if isinstance(refusal, IbiError))
        failed_at = queue.failed_at  # once: the thread of the queue changes it
        if failed_at is not None and self._now() < failed_at + _FAILURE_COUNTS:
            return (*reasons, StoreUnwritable())
        return reasons

    def _rehearsal(self, queue: MintQueue, state: TickState, _: Remembered) -> Decision:
        """Return the decision of the minter, without its writes."""
        identity, rules = queue.identity, queue.rules
        request = MintRequest(1, "readiness")
        decision = decide(identity, rules, state, [request], self._clocks.read(), lambda who, key: None)
        return Decision(state, None, decision.outcomes, ())


def _different(errors: Iterable[IbiError]) -> tuple[IbiError, ...]:
    """Return each error once: several parts may rely on one file."""
    return tuple({str(error): error for error in errors}.values())


def _try_check(check: Callable[[], None]) -> CheckedPart:
    name = check.name if isinstance(check, ReadinessCheck) else "storage"
    try:
        check()
    except IbiError as error:
        return CheckedPart(name, (error,))
    return CheckedPart(name, ())


def clock_refusal(reasons: tuple[IbiError, ...]) -> ClockRefused | None:
    """Return the reason that concerns the clock, if there is one. A long queue does not count."""
    clock = (each for each in reasons if isinstance(each, ClockRefused) and not isinstance(each, QueueTooLong))
    return next(clock, None)
