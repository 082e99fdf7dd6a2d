"""The waiting room before the minter (G §6): whoever asks while a commit is under way shares the next one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ibi.errors import IbiError
from ibi.minting.clock_guard import check_behind
from ibi.minting.minter import Decision, Rules, decide
from ibi.model.identity import Identity
from ibi.model.minting import Batch, MintRequest, Share, TickState
from ibi.ports.clocks import Clocks
from ibi.ports.ticks import Remembered, Ticks

__all__ = ["MintGroup", "MintQueue", "MintQueueClosed"]


class MintQueueClosed(IbiError):
    """This minter is stopping and mints no more."""

    code = "minter-stopping"


@dataclass(frozen=True, slots=True)
class MintGroup:
    """What became of the requests that shared one commit, for whoever counts."""

    requests: int
    minted: int
    """New labels; those handed out again by their key are not."""
    seconds: float
    """How long the commit took."""
    failure: Exception | None = None
    """Why the store could not serve the group, if it could not."""


_GATHERING = 0.001
"""Seconds for which those just answered are waited for: they often ask again at once, and share one commit then."""
_GLANCE = 0.0003


class _Waiting(NamedTuple):
    request: MintRequest
    future: asyncio.Future[tuple[Share, bool]]
    """The share, and whether its dates have come already."""


class MintQueue:
    """Mints for many callers on one event loop, through one thread that makes each queue durable in one commit."""

    def __init__(
        self,
        ticks: Ticks,
        identity: Identity,
        rules: Rules,
        clocks: Clocks,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`sleep` is what a caller waits with for the date of its label; it goes with `clocks`."""
        self.identity, self.rules = identity, rules
        self._ticks, self._clocks, self._sleep = ticks, clocks, sleep
        self._watchers: list[Callable[[MintGroup], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: deque[_Waiting] = deque()
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="ibi-minter", daemon=True)

    def start(self) -> None:
        """Begin to mint; called on the event loop that will ask."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Serve what is waiting, then end; nobody is left without an answer."""
        self._closed = True
        self._wake.set()
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

    def watch(self, watcher: Callable[[MintGroup], None]) -> None:
        """Have `watcher` told of each group from now on: in the writer's thread, so it must be quick and not raise."""
        self._watchers.append(watcher)

    async def mint(self, count: int, who: str, key: str | None = None) -> Share:
        """Labels that nobody else has, durable, after their dates have come; or an `IbiError` and nothing minted."""
        if self._closed or self._loop is None:
            raise MintQueueClosed
        future: asyncio.Future[tuple[Share, bool]] = self._loop.create_future()
        self._queue.append(_Waiting(MintRequest(count, who, key), future))
        # Whoever finds more than itself waiting was preceded by one who woke the thread, and is taken with it.
        if len(self._queue) == 1:
            self._wake.set()
        share, is_ready = await future
        if not is_ready:
            await self._until_ready(share)
        return share

    async def _until_ready(self, share: Share) -> None:
        """Wait for the share's last date; refuse if the clock was set back since, for then it may be years away (E9).

        The labels stay on record: with the same key they are there when the clock has caught up.
        """
        ready = share.ready
        while (now := self._clocks.read().wall) < ready:
            check_behind(now, ready, self.rules.patience)
            await self._sleep(float(ready.as_fraction() - now.as_fraction()))

    def longest_wait(self) -> Fraction:
        """The wait that a caller has to reckon with."""
        return self.rules.patience

    # The writer's side: one thread.

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while waiting := self._take_all():
                self._serve(waiting)
                self._gather(len(waiting), len(waiting) + len(self._queue))
            if self._closed and not self._queue:
                return

    def _gather(self, served: int, expected: int) -> None:
        """After a group, a moment for its callers to come back; who comes alone waits for nobody."""
        if served == 1 or not self._queue:
            return
        deadline = time.perf_counter() + _GATHERING
        while len(self._queue) < expected and time.perf_counter() < deadline and not self._closed:
            time.sleep(_GLANCE)

    def _take_all(self) -> list[_Waiting]:
        waiting: list[_Waiting] = []
        while self._queue:
            waiting.append(self._queue.popleft())
        return waiting

    def _serve(self, waiting: list[_Waiting]) -> None:
        requests = [each.request for each in waiting]

        def decision(state: TickState, remembered: Remembered) -> Decision:
            return decide(self.identity, self.rules, state, requests, self._clocks.read(), remembered)

        outcomes: tuple[Share | BaseException, ...]
        began, batch, failure = time.perf_counter(), None, None
        try:
            made = self._ticks.advance(decision)
            outcomes, batch = made.outcomes, made.batch
        except Exception as error:  # noqa: BLE001  whatever went wrong, every caller must hear of it
            outcomes, failure = (error,) * len(waiting), error
        group = MintGroup(len(waiting), batch.count if batch else 0, time.perf_counter() - began, failure)
        for watcher in self._watchers:
            watcher(group)
        assert self._loop is not None
        # One look at the clock for the whole batch: mostly its dates have come by the time it is on disk.
        ready = batch if batch and batch.ticks().last <= self._clocks.read().wall else None
        self._loop.call_soon_threadsafe(_answer, waiting, outcomes, ready)


def _answer(waiting: list[_Waiting], outcomes: tuple[Share | BaseException, ...], ready: Batch | None) -> None:
    """`ready` is the batch whose dates have come, if they have."""
    for each, outcome in zip(waiting, outcomes, strict=True):
        if each.future.done():  # the caller went away; the labels are spent
            continue
        if isinstance(outcome, Share):
            each.future.set_result((outcome, outcome.batch is ready))
        else:
            each.future.set_exception(outcome)
