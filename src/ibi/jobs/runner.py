"""Runs the background work of a server. Each job is one step, which the runner repeats for the life of the server.

The runner alone waits, wakes, retries and stops. A step that raises is logged and counted, and the next one still runs.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.jobs.failing_job import FailingJob
from ibi.jobs.limits import hold_alone
from ibi.jobs.ports import FailureBoard

T = TypeVar("T")

Step: TypeAlias = Callable[[], "float | None"] | Callable[[], Awaitable["float | None"]]

POLL: Final = 5.0
"""Seconds between two looks of a job that is woken when there is work: the fallback for a lost wake-up."""
LEASE_LOOK: Final = 5.0
"""Seconds between two requests for a lease that another process holds, at most."""
STOP: Final = 5.0
"""Seconds that jobs have to end."""
FIRST_REST: Final = 1.0
LONGEST_REST: Final = 60.0
"""Seconds of rest after a failed step, unless a job sets others. The rest doubles with each failure in a row."""
_LEAST_REST: Final = 0.5
"""Seconds for which a failed job rests even if it is woken."""
_LONGEST_REASON: Final = 500
_DIGITS: Final = 16
"""Doublings after which a rest is no longer computed."""


class JobStopped(Exception):
    """Raised by a blocking step that was told to stop. It is no failure."""


def _nothing() -> None:
    """Do nothing: the default of a job's hooks."""


@dataclass(eq=False)
class Job:
    """Work that a server repeats. An `async` `step` runs on the event loop, any other in a thread of the job. It does
    the work that is due, and returns the seconds until the next look; None means the `interval`."""

    name: str
    step: Step
    interval: float
    """Seconds; `math.inf` for a job that only works when it is woken."""
    hold: Callable[[], bool] = hold_alone
    """Returns whether this process does the work, of several on one data directory. May block: it runs in a thread."""
    first: float = 0.0
    """Seconds from the start until the first look."""
    first_rest: float = FIRST_REST
    longest_rest: float = LONGEST_REST
    """Seconds of rest after a failed step: the first and the longest."""
    begin: Callable[[], object] = _nothing
    """Called on the event loop when the job begins."""
    halt: Callable[[], object] = _nothing
    """Called on the event loop when the job has to end; must not block."""
    ends_last: bool = False
    """True if other jobs need this one until they have ended."""
    stopping: Event = field(default_factory=Event)
    """Set when the job has to end. A long blocking step checks it, and raises `JobStopped`."""
    runner: JobRunner | None = field(default=None, init=False)
    """The runner of the job. A step may add further jobs to it."""

    @property
    def is_blocking(self) -> bool:
        return not inspect.iscoroutinefunction(self.step)

    def wake(self) -> None:
        """Run the next step at once; from any thread. Does nothing while no runner has the job."""
        if self.runner is not None:
            self.runner.wake(self.name)

    def note_progress(self) -> None:
        """Note a success, for a step that goes on for the life of the server. From any thread."""
        if self.runner is not None:
            self.runner.note_progress(self.name)


def write_later(
    name: str, seconds: float, watch: Callable[[Callable[[], object]], None], write: Callable[[], object]
) -> Job:
    """Return a job that writes data gathered in memory, `seconds` after `watch` reports that there is some."""

    def step() -> None:
        job.stopping.wait(seconds)
        write()

    job = Job(name, step, math.inf)
    watch(job.wake)
    return job


class JobHealth(NamedTuple):
    """The health of a job of this process."""

    name: str
    is_ours: bool
    """False while another process has the lease."""
    failures: int
    """Failures since the start of the server."""
    failing_since: float | None
    """The beginning of its present row of failures, in seconds since 1970."""
    last_success: float | None
    reason: str
    """The message of its last failure; empty if it is not failing."""


class _JobThread:
    """One daemon thread, so that the end of the process does not wait for it. For one event loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def __call__(self, call: Callable[[], T]) -> T:
        found, failure = await self.attempt(call)
        if failure is not None:
            raise failure
        return cast("T", found)

    async def attempt(self, call: Callable[[], T]) -> tuple[T | None, BaseException | None]:
        """Return the result of the call, or the error that it raised."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()
        context = copy_context()

        def run() -> None:
            value, error = None, None
            try:
                value = context.run(call)
            except BaseException as raised:  # noqa: BLE001 - handed to the event loop
                error = raised
            with suppress(RuntimeError):  # the loop has ended, and the caller with it
                loop.call_soon_threadsafe(_settle, done, (value, error))

        if self._thread is None:
            thread = threading.Thread(target=self._run, name=f"job {self._name}", daemon=True)
            thread.start()  # may be refused for want of threads: the next step tries again
            self._thread = thread
        self._calls.put(run)
        return await done

    def end(self) -> None:
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


async def _attempt(step: Callable[[], Awaitable[T]]) -> tuple[T | None, BaseException | None]:
    try:
        return await step(), None
    except BaseException as error:  # noqa: BLE001 - handed to the job
        return None, error


def _is_cancelled() -> bool:
    """Return whether somebody has cancelled the current task."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _describe(error: BaseException) -> str:
    name = type(error).__name__
    try:
        return f"{name}: {error}"[:_LONGEST_REASON].encode("utf-8", "replace").decode()
    except BaseException:  # noqa: BLE001 - an error without a message is an error all the same
        return name


def _settle(done: asyncio.Future[T], outcome: T) -> None:
    if not done.done():
        done.set_result(outcome)


class _RunningJob:
    """A job of a runner, with its health."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.in_thread = _JobThread(job.name)
        self.woken = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.stepping: asyncio.Task[tuple[float | None, BaseException | None]] | None = None
        """The last step that ran on the event loop."""
        self.is_leaving = self.is_in_thread = False
        self.is_ours = True
        self.failures = self.in_a_row = 0
        self.failing_since: float | None = None
        self.last_success: float | None = None
        self.reason = ""

    def health(self) -> JobHealth:
        return JobHealth(self.job.name, self.is_ours, self.failures, self.failing_since, self.last_success, self.reason)

    async def rest(self, seconds: float) -> None:
        """Wait for so many seconds, or until the job is woken. A failed job rests a little in any case."""
        if self.in_a_row and not self.is_leaving:
            pause = min(seconds, _LEAST_REST)
            await asyncio.sleep(pause)
            seconds -= pause
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        # Not `wait_for`, which loses a cancellation that comes together with the awaited event.
        with suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await self.woken.wait()


def _is_end(running: _RunningJob, error: BaseException) -> bool:
    """Return whether a step ended because its job has to end."""
    return running.is_leaving and isinstance(error, (JobStopped, asyncio.CancelledError))


class JobRunner:
    """Runs the jobs of one process. All methods are for its event loop, unless they say otherwise."""

    def __init__(
        self,
        board: FailureBoard | None = None,
        *,
        chance: Callable[[], float] = random.random,
        wall: Callable[[], float] = time.time,
        log: FilteringBoundLogger | None = None,
        stop_within: float = STOP,
    ) -> None:
        """`board` tells other processes about failing jobs."""
        self._board, self._chance, self._wall, self._stop_within = board, chance, wall, stop_within
        self._log = log or structlog.get_logger("ibi.jobs")
        self._jobs: dict[str, _RunningJob] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._on_board: set[str] = set()
        self._board_thread = _JobThread("board")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handler_before: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None
        self._thread = 0
        self.loop_failures = 0
        """Errors of timers and other callbacks of the event loop that nobody caught."""

    def add(self, *jobs: Job) -> None:
        """Run these jobs from the start on, or from now on."""
        for job in jobs:
            if job.name in self._jobs:
                raise ValueError(f"there are two jobs of the name {job.name}")
            running = self._jobs[job.name] = _RunningJob(job)
            job.runner = self
            if self._loop is not None:
                self._begin(running)

    def remove(self, name: str) -> None:
        """End a job. Its own step may do so too: then it is the last step. On the event loop."""
        running = self._jobs.pop(name, None)
        if running is not None and running.task is not None:
            self._leaving.add(running.task)
            running.task.add_done_callback(self._leaving.discard)
            self._end(running)

    def wake(self, name: str) -> None:
        """Run the next step of a job at once; from any thread."""
        running, loop = self._jobs.get(name), self._loop
        if running is None or loop is None or running.woken.is_set():
            return
        if threading.get_ident() == self._thread:
            running.woken.set()
            return
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(running.woken.set)

    def note_progress(self, name: str) -> None:
        """Note a success of a step that goes on; from any thread."""
        running, loop = self._jobs.get(name), self._loop
        if running is None:
            return
        was_failing = bool(running.in_a_row)
        self._note_success(running)
        if was_failing and loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                asyncio.run_coroutine_threadsafe(self._tell_board(running), loop)

    @property
    def jobs(self) -> tuple[Job, ...]:
        return tuple(each.job for each in self._jobs.values())

    def health(self) -> tuple[JobHealth, ...]:
        """Return the health of all jobs; from any thread."""
        return tuple(each.health() for each in tuple(self._jobs.values()))

    def failing(self) -> tuple[FailingJob, ...]:
        """Return the jobs that fail in any process of this data directory. Blocks."""
        return () if self._board is None else self._board.all()

    def start(self) -> None:
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._handler_before = self._loop.get_exception_handler()
        self._loop.set_exception_handler(self._note_loop_failure)
        if self._board is not None:
            with suppress(Exception):  # the readers of the board report an unreadable one
                self._on_board = {each.name for each in self._board.all()}
        for running in tuple(self._jobs.values()):
            self._begin(running)

    async def stop(self) -> None:
        """End all jobs. Jobs that do not end in time are left alone, and logged."""
        running = tuple(self._jobs.values())
        first = [each for each in running if not each.job.ends_last]
        await self._end_all(first, self._leaving)
        await self._end_all([each for each in running if each.job.ends_last])
        self._board_thread.end()
        if self._loop is not None:
            self._loop.set_exception_handler(self._handler_before)
        self._loop = None

    async def _end_all(self, jobs: Iterable[_RunningJob], others: Iterable[asyncio.Task[None]] = ()) -> None:
        tasks = set(others)
        for each in jobs:
            self._end(each)
            if each.task is not None:
                tasks.add(each.task)
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self._stop_within)
        for task in late:
            task.cancel()
        if late:
            self._log.warning("jobs did not end in time", jobs=sorted(task.get_name() for task in late))
            await asyncio.wait(late, timeout=self._stop_within / 10)

    def _note_loop_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log and count an error that no job raised; the loop goes on."""
        error = context.get("exception")
        if error is None:
            (self._handler_before or asyncio.AbstractEventLoop.default_exception_handler)(loop, context)
            return
        self.loop_failures += 1
        with suppress(Exception):  # a failing log ends no loop
            self._log.error("a callback of the event loop failed", what=context.get("message"), exc_info=error)

    def _begin(self, running: _RunningJob) -> None:
        assert self._loop is not None
        running.job.begin()
        self._start_task(running)

    def _start_task(self, running: _RunningJob) -> None:
        if running.is_leaving or self._loop is None:
            return
        running.task = self._loop.create_task(self._run(running), name=running.job.name)
        running.task.add_done_callback(partial(self._begin_again, running))

    def _begin_again(self, running: _RunningJob, task: asyncio.Task[None]) -> None:
        """Restart a job if its task ended by itself."""
        if task.cancelled() or (error := task.exception()) is None or running.is_leaving or self._loop is None:
            return
        running.failures += 1
        running.in_a_row += 1
        running.failing_since = running.failing_since or self._wall()
        running.reason = _describe(error)
        self._log.error("a job ended by itself, and is begun again", job=running.job.name, exc_info=error)
        running.in_thread = _JobThread(running.job.name)
        self._loop.call_later(_LEAST_REST, self._start_task, running)

    def _end(self, running: _RunningJob) -> None:
        if running.is_leaving:
            return
        running.is_leaving = True
        running.job.stopping.set()
        try:
            running.job.halt()
        except Exception:  # noqa: BLE001 - the others have to end, too
            self._log.error("a job cannot be told to end", job=running.job.name, exc_info=True)
        task = running.task
        # A step in a thread ends by itself: it was told to stop.
        current = asyncio.current_task()
        is_own = current is not None and current in (task, running.stepping)
        if task is not None and not is_own and not running.is_in_thread:
            task.cancel()

    async def _run(self, running: _RunningJob) -> None:
        try:
            await running.rest(running.job.first)
            while not running.is_leaving:
                wait = await self._look(running)
                if not running.is_leaving:
                    await running.rest(wait)
        finally:
            running.in_thread.end()

    async def _look(self, running: _RunningJob) -> float:
        """Run one step if this process has the lease. Return the seconds to rest."""
        job = running.job
        running.woken.clear()
        try:
            running.is_ours = job.hold is hold_alone or await running.in_thread(job.hold)
            if not running.is_ours or running.is_leaving:
                return min(job.interval, LEASE_LOOK)
            wait, failure = await self._step(running)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if _is_end(running, error):
                return 0.0
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            return await self._note_failure(running, error)
        if failure is not None:
            if _is_end(running, failure):
                return 0.0
            if isinstance(failure, KeyboardInterrupt) or _is_cancelled():
                raise failure
            return await self._note_failure(running, failure)
        self._note_success(running)
        await self._tell_board(running)
        return wait

    async def _step(self, running: _RunningJob) -> tuple[float, BaseException | None]:
        """Run a step. Return the seconds to rest, and the error that it raised, whatever that is."""
        job = running.job
        if job.is_blocking:
            running.is_in_thread = True
            try:
                wait, error = await running.in_thread.attempt(cast("Callable[[], float | None]", job.step))
            finally:
                running.is_in_thread = False
        else:
            step = _attempt(cast("Callable[[], Awaitable[float | None]]", job.step))
            # In a task of its own: a step that cancels its task ends itself, and not the job.
            running.stepping = asyncio.get_running_loop().create_task(step, name=job.name)
            wait, error = await running.stepping
        if error is not None:
            return 0.0, error
        return job.interval if wait is None else max(0.0, float(wait)), None

    def _note_success(self, running: _RunningJob) -> None:
        running.last_success = self._wall()
        if running.in_a_row:
            running.in_a_row, running.failing_since, running.reason = 0, None, ""
            self._log.info("a job works again", job=running.job.name)

    async def _note_failure(self, running: _RunningJob, error: BaseException) -> float:
        job = running.job
        running.failures += 1
        running.in_a_row += 1
        running.failing_since = running.failing_since or self._wall()
        running.reason = _describe(error)
        rest = min(job.longest_rest, job.first_rest * (1 << min(running.in_a_row - 1, _DIGITS)))
        rest *= 0.75 + self._chance() / 2
        with suppress(Exception):  # a failing log ends no job
            self._log.error("a job failed", job=job.name, in_a_row=running.in_a_row, again_in=rest, exc_info=error)
        await self._tell_board(running)
        return rest

    async def _tell_board(self, running: _RunningJob) -> None:
        """Write down for other processes that a job fails, and that it no longer does."""
        board, name, since = self._board, running.job.name, running.failing_since
        if board is None or (since is None and name not in self._on_board):
            return
        try:
            if since is None:
                await self._board_thread(lambda: board.remove(name))
                self._on_board.discard(name)
            else:
                self._on_board.add(name)
                told = FailingJob(name, int(since), int(self._wall()), running.in_a_row, running.reason)
                await self._board_thread(lambda: board.put(told))
        except Exception as error:  # noqa: BLE001 - the log has told of the job
            self._log.warning("it cannot be written down which jobs fail", reason=str(error))
