"""Memory is given back while there is clearly more of it than at the beginning."""

from __future__ import annotations

import gc

import pytest

from ibi.server.server import Heap

MB = 1 << 20


class Memory:
    """As much of a process as is looked at."""

    def __init__(self) -> None:
        self.size, self.free, self.trims = 100 * MB, 0, 0

    def trim(self) -> None:
        self.trims += 1
        self.size, self.free = self.size - self.free, 0


def looked_at(memory: Memory, heap: Heap, now: float) -> bool:
    if not heap.is_due(now):
        return False
    heap.trim(now)
    return True


def test_nothing_is_done_while_there_is_no_more_than_before() -> None:
    memory = Memory()
    heap = Heap(lambda: memory.size, memory.trim)
    assert not any(looked_at(memory, heap, now) for now in range(0, 100, 10))


def test_what_is_free_is_given_back() -> None:
    memory = Memory()
    heap = Heap(lambda: memory.size, memory.trim)
    assert not heap.is_due(0)
    memory.size, memory.free = 200 * MB, 95 * MB
    assert looked_at(memory, heap, 10)
    assert memory.size == 105 * MB
    assert not any(looked_at(memory, heap, now) for now in range(20, 100, 10))


def test_giving_memory_back_is_not_tried_all_the_time() -> None:
    memory = Memory()
    heap = Heap(lambda: memory.size, memory.trim)
    heap.is_due(0)
    memory.size = 200 * MB  # all of it in use
    tried = [now for now in range(1, 101) if looked_at(memory, heap, now)]
    assert len(tried) == 4
    memory.free = 90 * MB
    assert any(looked_at(memory, heap, now) for now in range(101, 141))


def test_a_system_without_the_means_is_left_alone() -> None:
    memory = Memory()
    assert not Heap(lambda: memory.size, None).is_due(0)


class Times:
    """A clock, and a collection that takes some seconds of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now, self.collections = 0.0, 0

        def collect() -> None:
            self.collections += 1
            self.now += seconds

        monkeypatch.setattr(gc, "collect", collect)

    def clock(self) -> float:
        return self.now


@pytest.mark.parametrize(("seconds", "expected"), [(0.001, 100), (0.025, 34), (0.085, 12), (0.2, 1)])
def test_a_collection_is_repeated_the_later_the_longer_it_takes(
    seconds: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    times, heap = Times(monkeypatch, seconds), Heap(lambda: 0, None)
    for now in range(0, 1000, 10):
        times.now = float(now)
        heap.collect(times.clock)
    assert times.collections == expected
