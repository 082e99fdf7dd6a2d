"""Run jobs of many threads in groups: one thread does the work for all that wait.

The disk is asked once for a whole group. One thread makes the changes, because threads that each make their own spend
more time on taking turns at the interpreter than on the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition, Lock
from time import monotonic
from typing import Generic, TypeVar, cast

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

_PATIENCE = 0.001
"""Seconds that a group waits for recent callers, which may be about to return."""
_MOST = 64
"""Maximum jobs per group, so that no thread waits for long."""


class _Place(Generic[Job, Outcome]):
    """A job that a thread waits for, with its outcome."""

    __slots__ = ("error", "is_done", "job", "leads", "outcome", "turn")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self.is_done = self.leads = False
        self.turn = Lock()
        self.turn.acquire()

    def end(self, outcome: Outcome | Exception) -> None:
        if isinstance(outcome, Exception):
            self.error = outcome
        else:
            self.outcome = outcome

    def result(self) -> Outcome:
        if self.error is not None:
            raise self.error
        return cast("Outcome", self.outcome)


class Batcher(Generic[Job, Outcome]):
    """Runs jobs of any number of threads in groups, one group at a time."""

    def __init__(self, work: Callable[[Sequence[Job]], Sequence[Outcome | Exception]]) -> None:
        """`work` returns the outcomes of jobs in their order. An exception among them is raised to the caller of that
        job; an exception that `work` itself raises goes to the whole group."""
        self._work = work
        self._lock = Lock()
        self._arrival = Condition(self._lock)
        self._waiting: list[_Place[Job, Outcome]] = []
        self._is_led = False
        self._expected = 1
        """Number of recent concurrent callers."""

    def run(self, job: Job) -> Outcome:
        """Return the outcome of the job, once it is done."""
        place: _Place[Job, Outcome] = _Place(job)
        with self._lock:
            self._waiting.append(place)
            leads, self._is_led = not self._is_led, True
            if len(self._waiting) == self._expected:
                self._arrival.notify()
        if not leads:
            self._wait(place)
        if not place.is_done:
            self._lead(place)
        return place.result()

    def _wait(self, place: _Place[Job, Outcome]) -> None:
        try:
            place.turn.acquire()
        except BaseException:  # interrupted: if this thread was to lead, another one must
            with self._lock:
                if place in self._waiting:
                    leads = place.leads
                    self._waiting.remove(place)
                    if leads:
                        self._hand_over()
            raise

    def _hand_over(self) -> None:
        """Let the first waiting thread lead, if there is one."""
        self._is_led = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].turn.release()

    def _lead(self, own: _Place[Job, Outcome]) -> None:
        """Do the jobs of all waiting threads. The first thread that arrived meanwhile leads the next group."""
        try:
            group = self._gather_group()
        except BaseException:  # interrupted before any work was done: another thread leads
            with self._lock:
                self._waiting.remove(own)
                self._hand_over()
            raise
        try:
            for place, outcome in zip(group, self._work([place.job for place in group]), strict=True):
                place.end(outcome)
        except BaseException as error:  # noqa: BLE001 - whatever it is, no thread may wait for ever
            for place in group:
                place.error = error
        with self._lock:
            self._expected = len(group) + len(self._waiting)
            self._hand_over()
        for place in group:
            place.is_done = True
            if place is not own:
                place.turn.release()

    def _gather_group(self) -> list[_Place[Job, Outcome]]:
        """Return the jobs of this group, once all expected callers are here or after `_PATIENCE`."""
        with self._lock:
            deadline = monotonic() + _PATIENCE
            while len(self._waiting) < self._expected and (left := deadline - monotonic()) > 0:
                self._arrival.wait(left)
            group, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            return group


def batched(work: Callable[[Sequence[Job]], Sequence[Outcome | Exception]]) -> Callable[[Job], Outcome]:
    """Implement the port `Batching`."""
    return Batcher(work).run
