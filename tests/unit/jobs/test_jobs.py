"""The runner of background work: what it does with steps that fail, hang, are woken or have to end."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from itertools import count

import pytest
from structlog.testing import capture_logs

from ibi.jobs.failing_job import FailingJob
from ibi.jobs.runner import Job, JobRunner, JobStopped, _RunningJob
from tests.support.running_jobs import running
from tests.support.scarce_threads import refuse_threads
from tests.support.virtual_time import in_virtual_time, now


class Steps:
    """An async step that notes when it ran, and raises what it is told to."""

    def __init__(self, *outcomes: float | BaseException | None) -> None:
        self.outcomes = list(outcomes)
        self.at: list[float] = []
        self.ran = asyncio.Event()

    async def step(self) -> float | None:
        self.at.append(now())
        self.ran.set()
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def gaps(self) -> list[float]:
        return [round(after - before, 3) for before, after in zip(self.at, self.at[1:], strict=False)]


class Board:
    """Which jobs fail, in memory."""

    def __init__(self) -> None:
        self.known: dict[str, FailingJob] = {}
        self.refuses = False

    def put(self, failing: FailingJob) -> None:
        if self.refuses:
            raise OSError("the disk is full")
        self.known[failing.name] = failing

    def remove(self, name: str) -> None:
        self.known.pop(name, None)

    def all(self) -> tuple[FailingJob, ...]:
        return tuple(self.known.values())


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    async with asyncio.timeout(20):
        while not is_so():  # noqa: ASYNC110 - by another thread
            await asyncio.sleep(0.001)


def test_a_job_is_stepped_at_its_interval_or_after_as_long_as_it_says() -> None:
    async def run() -> list[float]:
        steps = Steps(None, 2.0, 0.0)
        async with running(Job("a", steps.step, 7.0)):
            await asyncio.sleep(16.5)
        return steps.gaps()

    assert in_virtual_time(run()) == [7.0, 2.0, 0.0, 7.0]


def test_a_job_with_a_first_wait_does_nothing_before() -> None:
    async def run() -> float:
        steps, began = Steps(), now()
        async with running(Job("a", steps.step, 7.0, first=3.0)):
            await asyncio.sleep(4)
        return steps.at[0] - began

    assert in_virtual_time(run()) == 3.0


def test_a_step_that_raises_is_logged_with_its_traceback_and_counted_and_the_next_one_runs() -> None:
    async def run() -> tuple[Steps, JobRunner]:
        steps = Steps(ZeroDivisionError("nought"), None)
        async with running(Job("a", steps.step, 60.0)) as runner:
            await asyncio.sleep(0.1)
            failing = runner.health()[0]
            assert (failing.failures, failing.reason) == (1, "ZeroDivisionError: nought")
            assert failing.failing_since is not None
            assert failing.last_success is None
            await asyncio.sleep(10)
        return steps, runner

    with capture_logs() as logs:
        steps, runner = in_virtual_time(run())
    assert steps.gaps() == [1.0]
    health = runner.health()[0]
    assert (health.failures, health.failing_since, health.reason) == (1, None, "")
    assert health.last_success is not None
    failed = next(each for each in logs if each["event"] == "a job failed")
    assert (failed["log_level"], failed["job"]) == ("error", "a")
    assert failed["exc_info"].__traceback__ is not None
    assert any(each["event"] == "a job works again" for each in logs)


class Unsayable(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize(
    "error",
    [
        *(SystemExit(3), asyncio.CancelledError(), MemoryError(), JobStopped(), StopIteration),
        *(GeneratorExit(), StopAsyncIteration(), BaseExceptionGroup("both", [SystemExit(3)]), Unsayable()),
    ],
)
@pytest.mark.parametrize("is_blocking", [True, False])
async def test_whatever_a_step_raises_ends_no_job(error: BaseException, *, is_blocking: bool) -> None:
    numbers, woken = count(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def block() -> None:
        if next(numbers) == 0:
            raise error
        loop.call_soon_threadsafe(woken.set)

    async def go_on() -> None:
        block()

    job = Job("a", block if is_blocking else go_on, 60.0, longest_rest=0.01)
    with capture_logs() as logs:
        async with running(job) as runner, asyncio.timeout(20):
            await woken.wait()
            assert runner.health()[0].failures == 1
    assert sum(each["event"] == "a job failed" for each in logs) == 1


async def test_a_step_that_cancels_its_own_task_ends_no_job() -> None:
    numbers, went_on = count(), asyncio.Event()

    async def step() -> None:
        task = asyncio.current_task()
        if next(numbers) < 2 and task is not None:
            task.cancel()
            await asyncio.sleep(60)
        went_on.set()

    async with running(Job("a", step, 60.0, first_rest=0.01, longest_rest=0.01)) as runner, asyncio.timeout(20):
        await went_on.wait()
        assert runner.health()[0].failures == 2


async def test_a_step_that_removes_its_own_job_is_not_cancelled() -> None:
    ended = asyncio.Event()

    async def step() -> None:
        runner.remove("a")
        await asyncio.sleep(0.01)
        ended.set()

    async with running(Job("a", step, 60.0)) as runner, asyncio.timeout(20):
        await ended.wait()
        assert runner.jobs == ()


async def test_a_job_whose_task_ends_by_an_error_of_the_runner_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, rest, left = Steps(), _RunningJob.rest, [None]

    async def rest_or_fail(self: _RunningJob, seconds: float) -> None:
        if left:
            left.pop()
            raise ZeroDivisionError("nought")
        await rest(self, seconds)

    monkeypatch.setattr(_RunningJob, "rest", rest_or_fail)
    with capture_logs() as logs:
        async with running(Job("a", steps.step, 60.0)) as runner, asyncio.timeout(20):
            await steps.ran.wait()
            assert runner.health()[0].failures == 1
    assert [each["log_level"] for each in logs if "begun again" in each["event"]] == ["error"]


async def test_a_job_whose_thread_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stepped = threading.Event()
    refuse_threads(monkeypatch, "job a", times=2)
    with capture_logs() as logs:
        async with running(Job("a", stepped.set, 60.0, first_rest=0.01, longest_rest=0.01)) as runner:
            await until(stepped.is_set)
            assert runner.health()[0].failures == 2
    reasons = [str(each["exc_info"]) for each in logs if each["event"] == "a job failed"]
    assert reasons == ["can't start new thread"] * 2
    assert not any(each["event"] == "jobs did not end in time" for each in logs)


async def test_an_error_of_a_timer_is_logged_and_counted() -> None:
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def fail() -> None:
        raise ZeroDivisionError("nought")

    with capture_logs() as logs:
        async with running() as runner:
            loop.call_later(0, fail)
            await until(lambda: runner.loop_failures == 1)
    (told,) = (each for each in logs if each["event"] == "a callback of the event loop failed")
    assert (told["log_level"], str(told["exc_info"])) == ("error", "nought")
    assert loop.get_exception_handler() is before


def test_failures_in_a_row_are_ever_further_apart_up_to_a_bound_and_a_success_begins_anew() -> None:
    async def run() -> list[float]:
        steps = Steps(*(OSError() for _ in range(8)), None, OSError())
        async with running(Job("a", steps.step, 5.0)):
            await asyncio.sleep(300)
        return steps.gaps()

    assert in_virtual_time(run())[:11] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 5.0, 1.0, 5.0]


def test_a_failing_job_that_is_woken_without_end_is_not_stepped_without_end() -> None:
    async def run() -> int:
        steps = Steps(*(OSError() for _ in range(1000)))
        job = Job("a", steps.step, 5.0)
        async with running(job):
            for _ in range(1000):
                job.wake()
                await asyncio.sleep(0.01)
        return len(steps.at)

    assert in_virtual_time(run()) <= 21


def test_a_job_that_is_woken_is_stepped_at_once_and_once_more_if_it_was_woken_during_a_step() -> None:
    async def run() -> list[float]:
        steps = Steps()
        job = Job("a", steps.step, math.inf)

        async def step() -> None:
            await steps.step()
            await asyncio.sleep(1)

        job.step = step
        async with running(job) as runner:
            await asyncio.sleep(10)
            runner.wake("a")
            await asyncio.sleep(0.5)
            for _ in range(5):
                job.wake()
            runner.wake("no such job")
            await asyncio.sleep(100)
        return steps.gaps()

    assert in_virtual_time(run()) == [10.0, 1.0]


async def test_a_job_is_woken_from_any_thread() -> None:
    steps = Steps()
    job = Job("a", steps.step, math.inf)
    async with running(job), asyncio.timeout(20):
        await steps.ran.wait()
        steps.ran.clear()
        await asyncio.to_thread(job.wake)
        await steps.ran.wait()
    job.wake()


async def test_a_blocking_step_and_a_lease_never_run_on_the_event_loop_and_always_in_the_same_thread() -> None:
    threads: list[int] = []

    def note() -> bool:
        threads.append(threading.get_ident())
        return True

    def step() -> float:
        note()
        return 0.0

    async with running(Job("a", step, 1.0, hold=note)):
        await until(lambda: len(threads) > 20)
    assert len(set(threads)) == 1
    assert threading.get_ident() not in threads


async def test_a_job_without_the_lease_is_not_stepped_and_does_not_count_as_done() -> None:
    asked, is_held, steps = asyncio.Event(), threading.Event(), Steps()
    loop = asyncio.get_running_loop()

    def hold() -> bool:
        loop.call_soon_threadsafe(asked.set)
        return is_held.is_set()

    job = Job("a", steps.step, 60.0, hold=hold)
    async with running(job) as runner, asyncio.timeout(20):
        await asked.wait()
        await until(lambda: not runner.health()[0].is_ours)
        assert runner.health()[0].last_success is None
        assert steps.at == []
        is_held.set()
        job.wake()
        await steps.ran.wait()
        await until(lambda: runner.health()[0].last_success is not None)
        assert runner.health()[0].is_ours


async def test_a_lease_that_raises_counts_as_a_failure_and_is_asked_for_again() -> None:
    numbers, steps = count(), Steps()

    def hold() -> bool:
        if next(numbers) == 0:
            raise PermissionError("lock")
        return True

    async with running(Job("a", steps.step, 60.0, hold=hold, longest_rest=0.01)) as runner, asyncio.timeout(20):
        await steps.ran.wait()
        assert runner.health()[0].failures == 1


async def test_a_blocking_step_is_told_to_stop_and_what_it_raises_then_is_no_failure() -> None:
    began = threading.Event()
    halted: list[str] = []

    def step() -> None:
        began.set()
        job.stopping.wait()
        raise JobStopped

    job = Job("a", step, 1.0, halt=lambda: halted.append("a"))
    with capture_logs() as logs:
        async with running(job) as runner:
            await asyncio.to_thread(began.wait, 20)
        assert runner.health()[0].failures == 0
    assert halted == ["a"]
    assert logs == []


async def test_a_stop_does_not_wait_for_a_step_that_never_ends_and_names_its_job() -> None:
    let_go, began = threading.Event(), threading.Event()

    def hang() -> None:
        began.set()
        let_go.wait()

    async def cling() -> None:
        while not let_go.is_set():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    runner = JobRunner(stop_within=0.05)
    runner.add(Job("hangs", hang, 1.0), Job("clings", cling, 1.0), Job("ends", Steps().step, 1.0))
    with capture_logs() as logs:
        runner.start()
        await asyncio.to_thread(began.wait, 20)
        await runner.stop()
        let_go.set()
    assert [each["jobs"] for each in logs if each["event"] == "jobs did not end in time"] == [["clings", "hangs"]]


def test_a_job_that_others_need_ends_after_them() -> None:
    async def run() -> list[str]:
        ended: list[str] = []

        async def work(name: str) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(name)

        async def first() -> None:
            await work("first")

        async def last() -> None:
            await work("last")

        async with running(Job("last", last, 1.0, ends_last=True), Job("first", first, 1.0)):
            await asyncio.sleep(1)
        return ended

    assert in_virtual_time(run()) == ["first", "last"]


def test_jobs_are_added_and_removed_while_the_runner_runs_also_by_their_own_step() -> None:
    async def run() -> list[int]:
        one, two = Steps(), Steps()
        async with running() as runner:

            async def step_once() -> None:
                await two.step()
                runner.remove("two")

            runner.add(Job("one", one.step, 1.0), Job("two", step_once, 1.0))
            with pytest.raises(ValueError, match="one"):
                runner.add(Job("one", one.step, 1.0))
            await asyncio.sleep(3.5)
            runner.remove("one")
            runner.remove("one")
            assert runner.jobs == ()
            await asyncio.sleep(10)
            runner.add(Job("one", one.step, 1.0))
            await asyncio.sleep(0.5)
        return [len(one.at), len(two.at)]

    assert in_virtual_time(run()) == [5, 1]


async def test_a_step_that_goes_on_for_ever_tells_of_its_progress() -> None:
    told, board, numbers = threading.Event(), Board(), count()

    def step() -> None:
        if next(numbers) == 0:
            raise OSError
        job.note_progress()
        told.set()
        job.stopping.wait()

    job = Job("a", step, 1.0, longest_rest=0.01)
    runner = JobRunner(board)
    runner.add(job)
    runner.start()
    await asyncio.to_thread(told.wait, 20)
    await until(lambda: not board.known)
    health = runner.health()[0]
    assert (health.failures, health.failing_since) == (1, None)
    assert health.last_success is not None
    await runner.stop()


async def test_a_board_tells_which_jobs_fail_until_they_work_again_also_those_of_an_earlier_process() -> None:
    board, steps = Board(), Steps(OSError("no"), OSError("still no"))
    board.put(FailingJob("a", 1, 2, 3, "as before"))
    board.put(FailingJob("b", 1, 2, 3, "as before"))
    runner = JobRunner(board, wall=lambda: 1000.0)
    runner.add(Job("a", steps.step, 0.01, longest_rest=0.01), Job("b", Steps().step, 60.0))
    runner.start()
    await until(lambda: set(board.known) == {"a"})
    await until(lambda: not board.known)
    assert runner.failing() == ()
    await runner.stop()


async def test_a_board_says_since_when_a_job_fails_and_why() -> None:
    board, steps = Board(), Steps(OSError("no"))
    runner = JobRunner(board, wall=lambda: 1000.0)
    runner.add(Job("a", steps.step, 60.0))
    runner.start()
    await until(lambda: bool(board.known))
    assert runner.failing() == (FailingJob("a", 1000, 1000, 1, "OSError: no"),)
    await runner.stop()


async def test_an_error_that_cannot_be_said_is_told_by_its_name() -> None:
    class Unsayable(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    board, steps = Board(), Steps(Unsayable())
    runner = JobRunner(board)
    runner.add(Job("a", steps.step, 60.0), Job("b", Steps(OSError("\ud800" + "x" * 1000)).step, 60.0))
    runner.start()
    await until(lambda: len(board.known) == 2)
    await runner.stop()
    assert board.known["a"].reason == "Unsayable"
    assert board.known["b"].reason.startswith("OSError: ?xxx")
    assert len(board.known["b"].reason) == 500


async def test_a_board_that_cannot_be_written_ends_no_job() -> None:
    board, steps = Board(), Steps(OSError("no"))
    board.refuses = True
    runner = JobRunner(board)
    runner.add(Job("a", steps.step, 60.0, longest_rest=0.01))
    runner.start()
    await until(lambda: len(steps.at) == 2)
    await runner.stop()
