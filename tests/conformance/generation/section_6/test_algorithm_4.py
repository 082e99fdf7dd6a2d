"""G Algorithm 4, CREATEDATETOMOUNTSUFFIXOFIBIOFANITEM: which date the next label gets."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ibi import Instant
from ibi.standard.clock import MINUTE, SECOND, Granularity, next_tick

TENTH = Granularity.parse("0.1")
HUNDREDTH = Granularity.parse("0.01")


def at(text: str) -> Instant:
    return Instant.parse(f"2010-10-20T{text}Z")


@pytest.mark.parametrize(
    ("granularity", "expected"),
    [(MINUTE, "15:14:00"), (SECOND, "15:14:06"), (TENTH, "15:14:06.3"), (HUNDREDTH, "15:14:06.39")],
)
def test_lines_2_and_3_the_first_date_is_now_rounded_down_to_the_grid(granularity: Granularity, expected: str) -> None:
    """Last = rounded − r, so that nothing shorter than the rounded date comes after it."""
    tick = next_tick(at("15:14:06.394023"), None, granularity)
    assert tick == (at(expected), 0)


def test_line_1_rounding_is_downward_also_before_1970() -> None:
    assert next_tick(Instant(-1, "5"), None, SECOND).date == Instant(-1)
    assert next_tick(Instant(-1, "5"), None, MINUTE).date == Instant(-60)


def test_line_4_a_last_date_off_a_coarser_grid_is_rounded_down_to_it() -> None:
    tick = next_tick(at("15:21:56"), at("15:21:55"), MINUTE)
    assert tick.date == at("15:22:00")
    assert tick.wait == 4


def test_line_5_the_next_date_is_one_tick_after_the_last() -> None:
    assert next_tick(at("15:21:55.2"), at("15:21:55"), SECOND).date == at("15:21:56")


def test_line_5_a_last_date_in_the_future_pushes_the_next_one_further() -> None:
    tick = next_tick(at("15:21:55"), at("15:30:00"), SECOND)
    assert tick == (at("15:30:01"), 8 * 60 + 6)


def test_line_7_the_wait_lasts_until_the_date_has_come() -> None:
    assert next_tick(at("15:21:55.25"), at("15:21:55"), SECOND).wait == Fraction(3, 4)


def test_line_7_a_date_that_has_come_is_not_waited_for() -> None:
    assert next_tick(at("15:21:56"), at("15:21:55"), SECOND) == (at("15:21:56"), 0)


def test_lines_8_to_16_a_whole_minute_is_preferred() -> None:
    assert next_tick(at("15:21:55.123"), at("15:20:59"), HUNDREDTH).date == at("15:21:00")


def test_lines_8_to_16_a_whole_second_is_next() -> None:
    assert next_tick(at("15:21:55.123"), at("15:21:00"), HUNDREDTH).date == at("15:21:55")


def test_lines_8_to_16_then_a_tenth() -> None:
    assert next_tick(at("15:21:55.123"), at("15:21:55"), HUNDREDTH).date == at("15:21:55.1")


def test_lines_8_to_16_then_a_hundredth() -> None:
    assert next_tick(at("15:21:55.123"), at("15:21:55.1"), HUNDREDTH).date == at("15:21:55.12")


def test_line_12_after_the_second_comes_the_minute_and_not_ten_seconds() -> None:
    assert next_tick(at("15:21:55"), at("15:21:05"), SECOND).date == at("15:21:55")


def test_line_14_nothing_is_coarser_than_a_minute() -> None:
    assert next_tick(at("15:21:55"), at("14:00:00"), SECOND).date == at("15:21:00")
    assert next_tick(at("15:21:55"), at("14:00:00"), MINUTE).date == at("15:21:00")


def test_line_17_the_date_issued_is_the_last_date_of_the_next_call() -> None:
    first = next_tick(at("15:21:55"), at("14:00:00"), SECOND)
    assert next_tick(at("15:21:55"), first.date, SECOND).date == at("15:21:55")


def test_a_tenth_of_a_second_is_exact() -> None:
    """A float would give 0.30000000000000004."""
    last = Instant(0)
    dates = []
    for _ in range(3):
        last = next_tick(Instant(0), last, TENTH).date
        dates.append(str(last))
    assert dates == ["1970-01-01T00:00:00.1Z", "1970-01-01T00:00:00.2Z", "1970-01-01T00:00:00.3Z"]
