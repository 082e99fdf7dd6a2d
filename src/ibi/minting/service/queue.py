"""The queue before the minter (G §6): requests that arrive during a commit share the next one.

The mint log marks labels that an Archive reserves: they stay in this Archive, unlike labels that are given out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from queue import Empty, SimpleQueue
from secrets import randbelow
from typing import Any, Final, TypeAlias, TypeVar

from ibi.jobs.runner import Job
from ibi.minting.model import BatchShare, LabelBatch, MintRequest, TickState
from ibi.minting.ports import Remembered, Ticks
from ibi.minting.rules.mint_log import reservation_name
from ibi.minting.rules.minter import Decision, Rules, check_behind, decide
from ibi.minting.service.guard import MintGuard
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.identity import Identity
from ibi.standard.messages.identification import LabelForms
from ibi.standard.storage_errors import DiskFull, refused_for_room


class MintQueueClosed(IbiError):
    """This minter is stopping and mints no more."""

    code = "minter-stopping"
    kind = ErrorKind.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class MintGroup:
    """The result of the requests that shared one commit, for metrics."""

    requests: int
    minted: int
    """New labels, without those returned again for a repeated key."""
    seconds: float
    """The duration of the commit."""
    failure: Exception | None = None
    """The error of the store, if it could not serve the group."""


_GATHERING = 0.001
"""Seconds to wait for the callers just answered: they often ask again at once, and then share one commit."""
_GLANCE = 0.0003
_LONGEST_REST: Final = 2.0
"""Seconds until the minter goes on after an unforeseen failure."""


_request: Callable[[tuple[int, str, str | None]], MintRequest] = partial(tuple.__new__, MintRequest)
"""Makes a `MintRequest` in half the time of its constructor."""
_Waiting: TypeAlias = tuple[MintRequest, "asyncio.Future[BatchShare]"]


class MintQueue:
    """Mints for many callers on one event loop, through one thread that commits all waiting requests at once."""

    def __init__(
        self,
        ticks: Ticks,
        identity: Identity,
        rules: Rules,
        clocks: Clocks,
        *,
        guard: MintGuard | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`sleep` waits for the date of a label, in the time of `clocks`. The queue includes the jobs of the `guard`,
        if there is one."""
        self._guard = guard
        self.identity, self.rules = identity, rules
        self._ticks, self._clocks, self._sleep = ticks, clocks, sleep
        self._watchers: list[Callable[[MintGroup], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        """None ends the writer."""
        self._ready: LabelBatch | None = None
        """The batch answered last, if its dates had been reached by then."""
        self.failed_at: float | None = None
        """The time of the store's last failure, by the monotonic clock; None if it has minted since."""
        self._closed = False
        self._is_serving = False
        # A step that goes on until the end: a look of the runner between two groups would cost more than some labels.
        self._job = Job(
            "minting", self._run, 0.0, begin=self._begin, halt=self._close, ends_last=True, longest_rest=_LONGEST_REST
        )

    def jobs(self) -> tuple[Job, ...]:
        """Return the jobs, for the event loop of the callers."""
        return self._job, *(() if self._guard is None else self._guard.jobs())

    def _begin(self) -> None:
        self._loop = asyncio.get_running_loop()

    def _close(self) -> None:
        """Take no more requests. Waiting requests are served, or refused if the minter rests after a failure."""
        self._closed = True
        if not self._is_serving:
            self._refuse_waiting()
        self._queue.put(None)  # also for a writer that is just about to begin

    def _refuse_waiting(self) -> None:
        """Refuse the waiting requests. Never blocks: the writer may take from the queue at the same time."""
        with suppress(Empty):
            while True:
                each = self._queue.get_nowait()
                if each is not None:
                    self._answer((each[1],), (MintQueueClosed(),), None)

    def watch(self, watcher: Callable[[MintGroup], None]) -> None:
        """Call `watcher` with each group: in the writer's thread, so it must be quick and not raise."""
        self._watchers.append(watcher)

    async def mint(self, count: int, who: str, key: str | None = None) -> BatchShare:
        """Mint unique labels, and return them when they are durable and their dates have passed. On an `IbiError`
        nothing was minted."""
        if self._closed or self._loop is None:
            raise MintQueueClosed
        if self._guard is not None and not self._guard.is_open:
            await self._guard.wait_for_check()
        future: asyncio.Future[BatchShare] = self._loop.create_future()
        self._queue.put((_request((count, who, key)), future))
        share = await future
        if share.batch is not self._ready:
            await self._until_ready(share)
        return share

    async def _until_ready(self, share: BatchShare) -> None:
        """Wait for the share's last date. Refuse if the clock was set back since, because the date may be years away
        (E9).

        The labels stay on record: the same key gets them when the clock has caught up.
        """
        ready = share.ready
        while (now := self._clocks.read().wall) < ready:
            check_behind(now, ready, self.rules.patience)
            await self._sleep(float(ready.as_fraction() - now.as_fraction()))

    def refusal(self) -> IbiError | None:
        """Return the reason why nothing would be minted, other than the clock and the store."""
        return None if self._guard is None else self._guard.refusal

    def longest_wait(self) -> Fraction:
        """Return the longest wait of a caller."""
        return self.rules.patience

    # The methods from here to `_serve` run in the writer's thread.

    def _run(self) -> None:
        self._is_serving = True
        try:
            while waiting := self._take_all():
                self._serve_or_refuse(waiting)
                self._job.note_progress()
                self._gather(len(waiting), len(waiting) + self._queue.qsize())
        finally:
            self._is_serving = False
            if self._closed:  # no further step would serve the others
                assert self._loop is not None
                with suppress(RuntimeError):  # the loop has ended, and the waiting callers with it
                    self._loop.call_soon_threadsafe(self._refuse_waiting)

    def _serve_or_refuse(self, waiting: list[_Waiting]) -> None:
        try:
            self._serve(waiting)
        except BaseException as error:
            futures = tuple(future for _, future in waiting)
            refusal = error if isinstance(error, Exception) else MintQueueClosed()
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._answer, futures, (refusal,) * len(futures), None)
            raise

    def _gather(self, served: int, expected: int) -> None:
        """After a group, give its callers a moment to come back. A single caller causes no wait."""
        if served == 1 or self._queue.empty():
            return
        deadline = time.perf_counter() + _GATHERING
        while self._queue.qsize() < expected and time.perf_counter() < deadline and not self._closed:
            time.sleep(_GLANCE)

    def _take_all(self) -> list[_Waiting]:
        """Return all waiting requests, at least one; none at the end."""
        take, waiting = self._queue.get, []
        each = take()
        while each is not None:
            waiting.append(each)
            if self._queue.empty():
                return waiting
            each = take()
        if waiting:
            self._queue.put(None)  # these first
        return waiting

    def _serve(self, waiting: list[_Waiting]) -> None:
        requests, futures = zip(*waiting, strict=True)

        def decision(state: TickState, remembered: Remembered) -> Decision:
            return decide(self.identity, self.rules, state, requests, self._clocks.read(), remembered, randbelow)

        outcomes: tuple[BatchShare | BaseException, ...]
        began, batch, failure = time.perf_counter(), None, None
        try:
            made = self._ticks.advance(decision)
            outcomes, batch = made.outcomes, made.batch
            self.failed_at = None if batch else self.failed_at
        except Exception as error:  # noqa: BLE001 - every caller must get the error
            outcomes, failure = (_error_for_callers(error),) * len(waiting), error
            self.failed_at = time.monotonic()
        group = MintGroup(len(waiting), batch.count if batch else 0, time.perf_counter() - began, failure)
        for watcher in self._watchers:
            watcher(group)
        assert self._loop is not None
        # The clock is read once for the batch: usually its dates have passed by the time it is on disk.
        ready = batch if batch and batch.ticks().last <= self._clocks.read().wall else None
        self._loop.call_soon_threadsafe(self._answer, futures, outcomes, ready)

    # `_answer` runs on the event loop.

    def _answer(
        self,
        futures: tuple[asyncio.Future[BatchShare], ...],
        outcomes: tuple[BatchShare | BaseException, ...],
        ready: LabelBatch | None,
    ) -> None:
        self._ready = ready
        for future, outcome in zip(futures, outcomes, strict=True):
            if future.done():  # the caller went away; the labels are spent
                continue
            if isinstance(outcome, BatchShare):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)


def _error_for_callers(error: Exception) -> Exception:
    """Return the error for callers, who cannot use the name of the file that had no room."""
    if not refused_for_room(error):
        return error
    full = DiskFull()
    full.__cause__ = error
    return full


Made = TypeVar("Made")

_GRACE: Final = 60.0
"""Seconds beyond the longest wait for a label: for the disk."""


class QueuedLabels:
    """Reserves labels through a queue on an event loop, for threads outside of that loop."""

    def __init__(self, queue: MintQueue, loop: asyncio.AbstractEventLoop, who: str) -> None:
        self._queue, self._loop, self._who = queue, loop, reservation_name(who)

    def reserve(self, key: str | None = None) -> LabelForms:
        return self._wait_for(self._queue.mint(1, self._who, key)).forms()

    def reserve_all(self, keys: Sequence[str | None]) -> list[LabelForms | Exception]:
        """Reserve labels in one commit. A refusal by the minter goes to each caller."""
        shares = self._wait_for(self._mint_each(keys))
        return [share.forms() if isinstance(share, BatchShare) else share for share in shares]

    async def _mint_each(self, keys: Sequence[str | None]) -> list[BatchShare | Exception]:
        minting = (self._queue.mint(1, self._who, key) for key in keys)
        outcomes = await asyncio.gather(*minting, return_exceptions=True)
        return [each if isinstance(each, (BatchShare, Exception)) else MintQueueClosed() for each in outcomes]

    def _wait_for(self, minting: Coroutine[Any, Any, Made]) -> Made:
        waiting = asyncio.run_coroutine_threadsafe(minting, self._loop)
        try:
            return waiting.result(float(self._queue.longest_wait()) + _GRACE)
        except (TimeoutError, CancelledError):
            # The loop has ended meanwhile: a thread waiting for it would keep the process alive forever.
            raise MintQueueClosed() from None
