"""Granularities, ticks and runs of ticks."""

from __future__ import annotations

import operator
import tracemalloc
from fractions import Fraction

import pytest

from ibi import Instant
from ibi.standard.clock import MINUTE, SECOND, Granularity, next_tick, next_ticks
from ibi.standard.errors import InvalidGranularity, InvalidInstant
from ibi.standard.instant import FIRST_SECOND, LAST_SECOND

NOW = Instant.parse("2010-10-20T15:21:55.5Z")


@pytest.mark.parametrize(
    ("text", "seconds", "digits"),
    [("60", Fraction(60), 0), ("1", Fraction(1), 0), ("0.1", Fraction(1, 10), 1), ("0.001", Fraction(1, 1000), 3)],
)
def test_a_granularity_is_read_and_written(text: str, seconds: Fraction, digits: int) -> None:
    granularity = Granularity.parse(text)
    assert granularity.seconds == seconds
    assert granularity.digits == digits
    assert str(granularity) == text
    assert repr(granularity) == f"Granularity.parse({text!r})"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "10",
        "600",
        "1.0",
        "0.10",
        ".1",
        "0.2",
        "0.",
        "00.1",
        "1/10",
        " 1",
        "1\n",
        "60 ",
        "٦٠",
        "0.٠1",
        "-1",
        "1e-1",
        "auto",
    ],
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidGranularity, match=r"60, 1, 0\.1, 0\.01"):
        Granularity.parse(text)


@pytest.mark.parametrize("level", [-1, 32, 10**5000], ids=["below", "above", "too_long_to_be_written"])
def test_a_level_that_does_not_exist_is_refused(level: int) -> None:
    with pytest.raises(InvalidGranularity):
        Granularity(level)


def test_the_coarser_is_the_greater() -> None:
    assert MINUTE > SECOND > Granularity.parse("0.1")
    assert max(SECOND, MINUTE) is MINUTE
    assert MINUTE.coarser() is None
    assert SECOND.coarser() == MINUTE
    assert MINUTE.finer() == SECOND


@pytest.mark.parametrize("other", [None, 1, "1", Fraction(1)])
def test_a_granularity_is_compared_with_granularities_only(other: object) -> None:
    assert other != SECOND
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError):
            compare(SECOND, other)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["level", "digits", "seconds", "anything"])
def test_a_granularity_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(SECOND, name, 0)


def test_a_run_gives_short_dates_before_long_ones() -> None:
    run = next_ticks(NOW, Instant.parse("2010-10-20T15:00:00Z"), Granularity.parse("0.1"), 5)
    assert [str(tick.date)[11:] for tick in run] == [
        "15:21:00Z",
        "15:21:55Z",
        "15:21:55.5Z",
        "15:21:55.6Z",
        "15:21:55.7Z",
    ]
    assert [tick.wait for tick in run] == [0, 0, 0, Fraction(1, 10), Fraction(2, 10)]
    assert run.wait == Fraction(2, 10)
    assert run.first == run[0].date
    assert run.last == run[-1].date


def test_a_run_without_a_last_date_begins_at_now() -> None:
    run = next_ticks(NOW, None, SECOND, 2)
    assert list(run.dates()) == [Instant(NOW.seconds), Instant(NOW.seconds + 1)]


@pytest.mark.parametrize("count", [0, -1])
def test_a_run_has_at_least_one_tick(count: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        next_ticks(NOW, None, SECOND, count)


@pytest.mark.parametrize("index", [3, -4, 10**9])
def test_a_run_has_no_tick_beyond_its_ends(index: int) -> None:
    with pytest.raises(IndexError):
        next_ticks(NOW, None, SECOND, 3)[index]


def test_a_million_ticks_take_no_more_memory_than_one() -> None:
    tracemalloc.start()
    try:
        run = next_ticks(NOW, None, Granularity.parse("0.001"), 1_000_000)
        assert run.last == next_tick(NOW, run[-2].date, Granularity.parse("0.001")).date
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_the_end_of_time_is_refused_and_not_wrapped() -> None:
    last = Instant(LAST_SECOND)
    assert next_tick(last, Instant(LAST_SECOND - 1), SECOND).date == last
    with pytest.raises(InvalidInstant):
        next_tick(last, last, SECOND)


def test_the_beginning_of_time() -> None:
    first = Instant(FIRST_SECOND)
    assert next_tick(first, None, MINUTE) == (first, 0)


def test_a_clock_set_back_gives_later_dates_all_the_same() -> None:
    last = Instant(NOW.seconds + 3600)
    tick = next_tick(NOW, last, SECOND)
    assert tick.date == Instant(last.seconds + 1)
    assert tick.wait == Fraction(3601) - Fraction(1, 2)


def test_a_finer_granularity_takes_over_after_a_coarse_one() -> None:
    minute = next_tick(NOW, None, MINUTE).date
    assert next_tick(NOW, minute, Granularity.parse("0.01")).date == Instant(NOW.seconds)


def test_a_coarser_granularity_takes_over_after_a_fine_one() -> None:
    fine = next_tick(NOW, Instant(NOW.seconds, "49"), Granularity.parse("0.01")).date
    assert fine == Instant(NOW.seconds, "5")
    assert next_tick(NOW, fine, SECOND).date == Instant(NOW.seconds + 1)
