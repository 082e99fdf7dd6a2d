"""Whether the machine's clock can be believed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ibi.instant import Instant
from ibi.minting.errors import ClockBeforeBuild, ClockBehind, ClockJumped
from ibi.minting.minter import check_behind, check_build_date, check_jump, with_accepted_clock
from ibi.model.minting import Reading, Span, TickState

NOW = Instant.parse("2027-03-01T12:00:30Z")
LIMIT = Fraction(5)


def at(seconds: int | str) -> Instant:
    return Instant.from_fraction(NOW.seconds + Fraction(seconds))


def reading(wall: int | str, uptime: int, boot: str = "boot") -> Reading:
    return Reading(at(wall), uptime * 10**9, boot)


@pytest.mark.parametrize(("wall", "uptime"), [(0, 0), (100, 100), (105, 100), (95, 100), (86_400 + 80, 86_400)])
def test_what_the_uptime_explains_is_no_jump(wall: int, uptime: int) -> None:
    check_jump(reading(0, 0), reading(wall, uptime), LIMIT)


@pytest.mark.parametrize(
    ("wall", "uptime"), [(6, 0), (-6, 0), (106, 100), (94, 100), (0, 3600), (86_400 + 100, 86_400)]
)
def test_what_it_does_not_is_a_jump(wall: int, uptime: int) -> None:
    with pytest.raises(ClockJumped):
        check_jump(reading(0, 0), reading(wall, uptime), LIMIT)


def test_without_a_reading_of_this_boot_there_is_no_jump() -> None:
    check_jump(None, reading(0, 0), LIMIT)
    check_jump(reading(0, 0, "another"), reading(86_400, 0), LIMIT)


def test_a_clock_may_be_behind_by_the_limit_and_no_more() -> None:
    check_behind(NOW, None, LIMIT)
    check_behind(NOW, at(-1), LIMIT)
    check_behind(NOW, at(5), LIMIT)
    with pytest.raises(ClockBehind) as error:
        check_behind(NOW, at("5.001"), LIMIT)
    assert error.value.retry_after == Fraction("5.001")


def test_the_build_date_is_the_earliest_honest_time() -> None:
    check_build_date(NOW, None, NOW)
    check_build_date(at(1), None, NOW)
    check_build_date(at(-1), at(-2), NOW)
    check_build_date(at(-2), at(-2), NOW)
    for accepted in (None, at(5), at(0)):
        with pytest.raises(ClockBeforeBuild):
            check_build_date(at(-1), accepted, NOW)


def test_accepting_a_clock_keeps_what_lies_ahead_apart() -> None:
    past, straddling = Span(at(-9), at(-8)), Span(at(-1), at(1))
    near, far = Span(at(2), at(3)), Span(at(100), at(100))
    state = with_accepted_clock(TickState(at(100)), reading(0, 7), [far, past, near, straddling])
    assert state == TickState(at(-8), (Span(at(-1), at(3)), far), reading(0, 7), NOW)


def test_accepting_a_clock_set_forward_keeps_nothing_apart() -> None:
    state = with_accepted_clock(TickState(at(-8)), reading(0, 7), [Span(at(-9), at(-8))])
    assert state == TickState(at(-8), (), reading(0, 7), NOW)


def test_accepting_a_clock_before_anything_was_minted() -> None:
    assert with_accepted_clock(TickState(), reading(0, 7), []) == TickState(None, (), reading(0, 7), NOW)


def test_many_labels_ahead_are_short_to_remember() -> None:
    issued = [Span(at(second), at(second)) for second in range(1, 10_000)]
    assert with_accepted_clock(TickState(at(9_999)), reading(0, 7), issued).ahead == (Span(at(1), at(9_999)),)
