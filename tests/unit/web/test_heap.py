"""Memory is given back while there is clearly more of it than at the beginning."""

from __future__ import annotations

from ibi.web.heap import Heap

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


def test_it_is_not_tried_all_the_time() -> None:
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


def test_a_collection_that_takes_long_is_not_repeated() -> None:
    times = iter([0.0, 5.0])
    heap = Heap(lambda: 0, None)
    heap.collect(lambda: next(times))
    heap.collect(lambda: next(times))  # would ask for the time again, of which there is no more
    assert next(times, None) is None
