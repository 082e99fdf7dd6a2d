"""How many bytes may wait for clients, over all connections."""

from __future__ import annotations

from ibi.server.connection_bounds import BufferBound


class Line:
    """A connection that tells when it was broken."""

    def __init__(self) -> None:
        self.is_broken = False

    def break_off(self) -> None:
        self.is_broken = True


def lines(number: int) -> list[Line]:
    return [Line() for _ in range(number)]


def broken(all_: list[Line]) -> list[int]:
    return [number for number, line in enumerate(all_) if line.is_broken]


def test_what_no_longer_waits_is_not_counted() -> None:
    bound, line = BufferBound(10), Line()
    bound.update(line, "a", 7)
    bound.update(line, "a", 5)
    assert (bound.total, len(bound)) == (5, 1)
    bound.update(line, "a", 0)
    assert (bound.total, len(bound)) == (0, 0)


def test_the_client_for_which_most_waits_gives_way_with_what_has_not_moved_for_longest() -> None:
    bound, greedy, modest = BufferBound(10), lines(3), Line()
    for line in greedy:
        bound.update(line, "greedy", 3)
    bound.update(greedy[0], "greedy", 2)  # something of it was taken
    bound.update(modest, "modest", 4)
    assert broken(greedy) == [1]
    assert not modest.is_broken
    assert bound.total == 9


def test_as_many_are_broken_as_it_takes() -> None:
    bound, many = BufferBound(10), lines(5)
    told: list[str] = []
    bound.watch(told.append)
    for line in many[:4]:
        bound.update(line, "a", 2)
    bound.update(many[4], "a", 9)
    assert broken(many) == [0, 1, 2, 3]
    assert told == ["a"] * 4
    assert bound.total == 9


def test_one_alone_may_have_any_number() -> None:
    bound, line = BufferBound(10), Line()
    bound.update(line, "a", 1000)
    assert not line.is_broken


def test_a_connection_that_was_broken_is_forgotten_once() -> None:
    bound, pair = BufferBound(10), lines(2)
    bound.update(pair[0], "a", 6)
    bound.update(pair[1], "a", 6)
    bound.update(pair[0], "a", 0)  # as it ends
    assert (bound.total, len(bound)) == (6, 1)
