"""The waiting room: what a caller gets, how long it waits, and who hears of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from fractions import Fraction
from queue import SimpleQueue

import pytest

from ibi.minting.rules.errors import ClockBehind, InvalidCount
from ibi.minting.rules.minter import Rules
from ibi.minting.service.queue import MintGroup, MintQueue, MintQueueClosed
from ibi.standard.clock import SECOND
from ibi.standard.identity import Identity
from tests.support.memory.ticks import MemoryTicks
from tests.support.running_jobs import running
from tests.support.set_clocks import SetClocks

IDENTITY = Identity("sid.inpe.br", "150.163.34.243")


class Gated(MemoryTicks):
    """Lets a commit begin only when the test opens the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Event()

    def advance(self, decide):  # type: ignore[no-untyped-def]
        self.entered.set()
        self.gate.wait()
        return super().advance(decide)


class Failing(MemoryTicks):
    failure: Exception | None = None

    def advance(self, decide):  # type: ignore[no-untyped-def]
        if self.failure:
            raise self.failure
        return super().advance(decide)


@asynccontextmanager
async def started(
    ticks: MemoryTicks | None = None, rules: Rules | None = None, clocks: SetClocks | None = None
) -> AsyncIterator[MintQueue]:
    ticks, clocks = ticks or MemoryTicks(), clocks or SetClocks()
    ticks.freeze(IDENTITY)
    queue = MintQueue(ticks, IDENTITY, rules or Rules(), clocks, sleep=clocks.sleep)
    async with running(*queue.jobs()):
        yield queue


async def test_a_caller_that_asks_during_a_commit_shares_the_next_one() -> None:
    ticks, groups = Gated(), list[MintGroup]()
    async with started(ticks) as queue:
        queue.watch(groups.append)
        first = asyncio.create_task(queue.mint(1, "a"))
        await asyncio.to_thread(ticks.entered.wait)
        others = [asyncio.create_task(queue.mint(2, "b")) for _ in range(10)]
        await asyncio.sleep(0)
        ticks.gate.set()
        await asyncio.gather(first, *others)
    assert [(group.requests, group.minted, group.failure) for group in groups] == [(1, 1, None), (10, 20, None)]


async def test_labels_handed_out_again_are_not_counted_as_minted() -> None:
    groups: list[MintGroup] = []
    async with started() as queue:
        queue.watch(groups.append)
        assert await queue.mint(3, "a", "key") == await queue.mint(3, "a", "key")
    assert [group.minted for group in groups] == [3, 0]


async def test_every_caller_hears_of_a_failure_and_minting_goes_on() -> None:
    ticks, groups = Failing(), list[MintGroup]()
    async with started(ticks) as queue:
        queue.watch(groups.append)
        ticks.failure = OSError("no space left")
        outcomes = await asyncio.gather(*(queue.mint(1, "a") for _ in range(5)), return_exceptions=True)
        assert outcomes == [ticks.failure] * 5
        ticks.failure = None
        assert (await queue.mint(1, "a")).count == 1
    assert groups[0].failure is not None
    assert groups[-1].failure is None


async def test_a_failure_of_the_store_is_remembered_until_labels_are_minted() -> None:
    ticks = Failing()
    async with started(ticks) as queue:
        ticks.failure = OSError("no space left")
        with pytest.raises(OSError, match="no space left"):
            await queue.mint(1, "test")
        assert queue.failed_at is not None
        ticks.failure = None
        await queue.mint(1, "test")
        assert queue.failed_at is None


async def test_a_bad_request_spoils_nothing_for_the_others() -> None:
    async with started() as queue:
        bad, good = await asyncio.gather(queue.mint(0, "a"), queue.mint(1, "a"), return_exceptions=True)
    assert isinstance(bad, InvalidCount)
    assert not isinstance(good, BaseException)


async def test_a_label_leaves_when_its_date_has_come() -> None:
    clocks = SetClocks("2026-11-20T10:00:00.25Z")
    async with started(rules=Rules(SECOND), clocks=clocks) as queue:
        dates = [(await queue.mint(1, "a")).ready for _ in range(3)]
    assert [str(date) for date in dates] == [f"2026-11-20T10:00:0{second}Z" for second in range(3)]
    assert clocks.slept == [0.75, 1.0]


async def test_a_clock_set_back_while_a_caller_waits_does_not_make_it_wait_for_years() -> None:
    class SetBack(SetClocks):
        async def sleep(self, seconds: float) -> None:
            self.slept.append(seconds)
            self.jump(-86_400 * 365)

    clocks = SetBack()
    async with started(rules=Rules(SECOND), clocks=clocks) as queue:
        with pytest.raises(ClockBehind):
            await queue.mint(3, "a")
    assert len(clocks.slept) == 1


async def test_labels_asked_for_again_with_the_clock_far_behind_are_refused_until_it_has_caught_up() -> None:
    clocks = SetClocks()
    async with started(clocks=clocks) as queue:
        share = await queue.mint(3, "a", "key")
        clocks.jump(-3600)
        with pytest.raises(ClockBehind):
            await queue.mint(3, "a", "key")
        clocks.jump(3600)
        assert await queue.mint(3, "a", "key") == share


async def test_stopping_serves_callers_that_are_waiting_and_none_after() -> None:
    ticks = Gated()
    async with started(ticks, Rules(wait_bound=Fraction(0))) as queue:
        while not queue._is_serving:  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(0.001)
        waiting = [asyncio.create_task(queue.mint(1, "a")) for _ in range(20)]
        await asyncio.sleep(0)
        (job,) = queue.jobs()
        assert job.runner is not None
        stopping = asyncio.create_task(job.runner.stop())
        await asyncio.sleep(0)
        ticks.gate.set()
        await stopping
        shares = await asyncio.gather(*waiting)
        with pytest.raises(MintQueueClosed):
            await queue.mint(1, "a")
    assert len({(share.batch, share.start) for share in shares}) == 20


class Handing:
    """A queue that hands the word to end to the writer at once: before whoever sent it goes on."""

    def __init__(self, run: Callable[[], object]) -> None:
        self._queue: SimpleQueue[object] = SimpleQueue()
        self._run = run

    def put(self, each: object) -> None:
        self._queue.put(each)
        if each is None:
            writer = threading.Thread(target=self._run, daemon=True)
            writer.start()
            writer.join(10)
            assert not writer.is_alive()

    def __getattr__(self, name: str) -> object:
        return getattr(self._queue, name)


async def test_stopping_ends_while_the_writer_is_about_to_begin() -> None:
    queue = MintQueue(MemoryTicks(), IDENTITY, Rules(), SetClocks())
    queue._begin()
    queue._queue = Handing(queue._run)  # type: ignore[assignment]
    closing = threading.Thread(target=queue._close, daemon=True)
    closing.start()
    await asyncio.to_thread(closing.join, 10)
    assert not closing.is_alive()


async def test_a_caller_that_goes_away_disturbs_no_other() -> None:
    ticks = Gated()
    async with started(ticks) as queue:
        leaving, staying = asyncio.create_task(queue.mint(1, "a")), asyncio.create_task(queue.mint(1, "a"))
        await asyncio.to_thread(ticks.entered.wait)
        leaving.cancel()
        ticks.gate.set()
        assert (await staying).count == 1
    assert leaving.cancelled()


async def test_an_error_that_was_not_foreseen_reaches_who_waits_and_the_minter_goes_on() -> None:
    def fail(group: MintGroup) -> None:
        if failing:
            raise ZeroDivisionError("nought")

    failing = True
    async with started() as queue, asyncio.timeout(20):
        queue.watch(fail)
        (job,) = queue.jobs()
        job.first_rest = 0.01
        outcomes = await asyncio.gather(*(queue.mint(1, "a") for _ in range(5)), return_exceptions=True)
        assert all(isinstance(each, ZeroDivisionError) for each in outcomes)
        failing = False
        assert (await queue.mint(1, "a")).batch.count == 1
        assert job.runner is not None
        (health,) = job.runner.health()
        assert health.failures >= 1
        assert health.failing_since is None


async def test_who_waits_while_the_minter_rests_is_refused_when_it_stops() -> None:
    def fail(group: MintGroup) -> None:
        raise ZeroDivisionError("nought")

    async with started() as queue, asyncio.timeout(20):
        queue.watch(fail)
        with pytest.raises(ZeroDivisionError):
            await queue.mint(1, "a")
        while queue._is_serving:  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(0.001)
        waiting = asyncio.create_task(queue.mint(1, "a"))
        await asyncio.sleep(0)
        (job,) = queue.jobs()
        assert job.runner is not None
        await job.runner.stop()
        with pytest.raises(MintQueueClosed):
            await waiting
