"""What many threads want at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import pytest

from ibi.storage import batching as module
from ibi.storage.batching import Batcher

LONG = 30.0


class Held:
    """Work that doubles numbers and can be held up. Negative ones are refused; zero fails everybody."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def __call__(self, jobs: Sequence[int]) -> list[int | Exception]:
        self.groups.append(list(jobs))
        self.begun.set()
        assert self.go_on.wait(LONG)
        if 0 in jobs:
            raise OSError(28, "No space left on device")
        return [ValueError(str(job)) if job < 0 else 2 * job for job in jobs]


@pytest.fixture
def work() -> Held:
    return Held()


def after_one(work: Held, together: Batcher[int, int], *jobs: int) -> list[Future[int]]:
    """Have these wait, in this order, while a first one is done."""
    work.go_on.clear()
    work.begun.clear()
    with ThreadPoolExecutor(len(jobs) + 1) as pool:
        futures = [pool.submit(together.run, 1)]
        assert work.begun.wait(LONG)
        for number, job in enumerate(jobs, 1):
            futures.append(pool.submit(together.run, job))
            while len(together._waiting) < number:
                pass
        work.go_on.set()
    return futures


def test_a_caller_that_is_alone_waits_for_no_other(work: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", LONG)
    together = Batcher(work)
    assert [together.run(job) for job in (1, 2, 3)] == [2, 4, 6]
    assert work.groups == [[1], [2], [3]]


def test_those_who_come_meanwhile_are_done_together_in_their_order(work: Held) -> None:
    futures = after_one(work, Batcher(work), 5, 6, 7)
    assert [future.result() for future in futures] == [2, 10, 12, 14]
    assert work.groups == [[1], [5, 6, 7]]


def test_a_crowd_is_done_in_parts(work: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    futures = after_one(work, Batcher(work), 5, 6, 7)
    assert [future.result() for future in futures] == [2, 10, 12, 14]
    assert work.groups == [[1], [5, 6], [7]]


def test_a_refusal_is_told_to_whom_it_belongs(work: Held) -> None:
    _, one, refused, other = after_one(work, Batcher(work), 5, -6, 7)
    assert (one.result(), other.result()) == (10, 14)
    assert isinstance(refused.exception(), ValueError)


def test_what_fails_as_a_whole_is_told_to_all_of_the_group_and_to_no_other(work: Held) -> None:
    together = Batcher(work)
    first, *failed = after_one(work, together, 5, 0, 7)
    assert first.result() == 2
    assert [type(future.exception()) for future in failed] == [OSError] * 3
    assert together.run(8) == 16


def test_a_group_waits_for_those_who_were_there_a_moment_ago(work: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    together = Batcher(work)
    after_one(work, together, 5, 6)
    monkeypatch.setattr(module, "_PATIENCE", LONG)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(together.run, (7, 8))) == [14, 16]
    assert sorted(work.groups[-1]) == [7, 8]


def test_a_group_does_not_wait_for_ever(work: Held) -> None:
    together = Batcher(work)
    after_one(work, together, 5, 6, 7)
    assert together.run(9) == 18
    assert together._expected == 1


def test_every_job_of_many_threads_is_done_once(work: Held) -> None:
    together = Batcher(work)
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(together.run, range(1, 1001))) == [2 * number for number in range(1, 1001)]
    assert sorted(job for group in work.groups for job in group) == list(range(1, 1001))


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("when", ["while it waits", "when it is to lead"])
def test_a_caller_that_is_interrupted_leaves_no_other_waiting(
    work: Held, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Batcher(work)
    interrupt = threading.Event()
    wait: Callable[[], object] = interrupt.wait

    class Turn:
        """A lock in which the first to wait is interrupted."""

        used = 0

        def __init__(self) -> None:
            self._lock = threading.Lock()

        def acquire(self) -> bool:
            if self._lock.acquire(blocking=False):
                return True  # when it is made
            Turn.used += 1
            if Turn.used > 1:
                return self._lock.acquire()
            if when == "when it is to lead":
                self._lock.acquire()
            else:
                wait()
            raise Interrupted

        def release(self) -> None:
            self._lock.release()

    monkeypatch.setattr(module, "Lock", Turn)
    work.go_on.clear()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(together.run, 1)
        assert work.begun.wait(LONG)
        gone = pool.submit(together.run, 5)
        while not together._waiting:
            pass
        last = pool.submit(together.run, 6)
        while len(together._waiting) < 2:
            pass
        interrupt.set()
        if when == "while it waits":
            with suppress(Interrupted):
                gone.result(LONG)
        work.go_on.set()
        assert (first.result(LONG), last.result(LONG)) == (2, 12)
        with pytest.raises(Interrupted):
            gone.result(LONG)
    assert work.groups == [[1], [6]]


def test_a_leader_that_is_interrupted_while_it_waits_leaves_no_other_waiting(
    work: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for those who were there a moment ago; one of them is, when the interruption comes."""
    together = Batcher(work)
    after_one(work, together, 5, 6, 7)
    waits, joined = threading.Event(), threading.Event()
    monkeypatch.setattr(module, "_PATIENCE", LONG)

    def interrupted(_: float) -> bool:
        """As `Condition.wait`, which lets go of the lock."""
        monkeypatch.undo()
        together._lock.release()
        try:
            waits.set()
            assert joined.wait(LONG)
        finally:
            together._lock.acquire()
        raise Interrupted

    monkeypatch.setattr(together._arrival, "wait", interrupted)
    with ThreadPoolExecutor(2) as pool:
        leader = pool.submit(together.run, 8)
        assert waits.wait(LONG)
        other = pool.submit(together.run, 9)
        while len(together._waiting) < 2:
            pass
        joined.set()
        assert other.result(LONG) == 18
        with pytest.raises(Interrupted):
            leader.result(LONG)
    assert together.run(10) == 20
