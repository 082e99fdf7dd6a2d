"""What holds for every run of the clock. G Algorithm 4, transcribed line by line with fractions, is the oracle."""

from __future__ import annotations

import pickle
from fractions import Fraction
from math import floor
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi import Instant
from ibi.standard.clock import Granularity, Tick, next_tick, next_ticks
from ibi.standard.errors import InvalidGranularity
from ibi.standard.label.generate import mount_suffix_of_repository_name


class Issued(NamedTuple):
    date: Fraction
    delay: Fraction


def algorithm_4(current_date: Fraction, last_date_for_suffix: Fraction | None, r: Fraction) -> Issued:
    """As G prints it; INT is rounding downward (SPEC §2)."""
    rounded_date = r * floor(current_date / r)  # 1
    if last_date_for_suffix is None:  # 2
        last_date_for_suffix = rounded_date - r  # 3
    last_date_for_suffix = r * floor(last_date_for_suffix / r)  # 4
    creation_date = max(last_date_for_suffix + r, rounded_date)  # 5
    delay = creation_date - current_date  # 6
    delay = max(delay, Fraction(0))  # 7
    short_date = creation_date  # 8
    s = r  # 9
    t = short_date
    while last_date_for_suffix < short_date:  # 10
        s = 10 * s  # 11
        if s == 10:  # 12
            s = Fraction(60)
        t = short_date  # 13
        if s > 60:  # 14
            break
        short_date = s * floor(creation_date / s)  # 15
    return Issued(t, delay)  # 16, 17


granularities = st.one_of(st.integers(0, 4), st.integers(0, 31)).map(Granularity)

_fractions = st.one_of(st.just(""), st.text("0123456789", max_size=4), st.text("0123456789", max_size=30))
# A narrow band of time: requests, dates and waits meet there.
moments = st.builds(Instant, st.integers(1_287_587_600, 1_287_587_800), _fractions)
anywhere = st.builds(Instant, st.integers(-30_000_000_000, 250_000_000_000), _fractions)
lasts = st.one_of(st.none(), moments)


class Call(NamedTuple):
    now: Instant
    granularity: Granularity
    amount: int


calls = st.lists(st.builds(Call, moments, granularities, st.integers(1, 12)), min_size=1, max_size=8)


@given(st.one_of(moments, anywhere), st.one_of(lasts, anywhere), granularities)
def test_a_tick_is_what_algorithm_4_gives(now: Instant, last: Instant | None, granularity: Granularity) -> None:
    tick = next_tick(now, last, granularity)
    oracle = algorithm_4(now.as_fraction(), last.as_fraction() if last else None, granularity.seconds)
    assert (tick.date.as_fraction(), tick.wait) == oracle


@given(calls, lasts)
def test_a_run_of_calls_is_what_algorithm_4_gives(run: list[Call], last: Instant | None) -> None:
    memory = last.as_fraction() if last else None
    for now, granularity, _ in run:
        tick = next_tick(now, last, granularity)
        oracle = algorithm_4(now.as_fraction(), memory, granularity.seconds)
        assert (tick.date.as_fraction(), tick.wait) == oracle
        last, memory = tick.date, oracle.date


@given(calls, lasts)
def test_dates_are_strictly_increasing_whatever_the_clock_and_the_granularity_do(
    run: list[Call], last: Instant | None
) -> None:
    for now, granularity, count in run:
        for tick in next_ticks(now, last, granularity, count):
            assert last is None or tick.date > last
            last = tick.date


@given(moments, lasts, granularities)
def test_a_date_is_on_the_grid_and_never_later_than_now_and_the_wait(
    now: Instant, last: Instant | None, granularity: Granularity
) -> None:
    tick = next_tick(now, last, granularity)
    assert (tick.date.as_fraction() / granularity.seconds).denominator == 1
    assert tick.date.as_fraction() <= now.as_fraction() + tick.wait
    assert tick.wait >= 0
    if tick.wait:
        assert tick.date.as_fraction() == now.as_fraction() + tick.wait


@given(moments, moments, granularities)
def test_a_date_is_never_longer_than_needed(now: Instant, last: Instant, granularity: Granularity) -> None:
    """No date of a coarser grid lies between the last one and the moment of issue."""
    tick = next_tick(now, last, granularity)
    r = granularity.seconds
    floor_of_last = r * floor(last.as_fraction() / r)
    creation = max(floor_of_last + r, r * floor(now.as_fraction() / r))
    coarser = granularity.coarser()
    while coarser is not None:
        candidate = coarser.seconds * floor(creation / coarser.seconds)
        if candidate > floor_of_last:
            assert (tick.date.as_fraction() / coarser.seconds).denominator == 1
            shorter = mount_suffix_of_repository_name(Instant.from_fraction(candidate))
            assert len(mount_suffix_of_repository_name(tick.date)) <= len(shorter)
        coarser = coarser.coarser()


@given(moments, moments, granularities)
def test_a_fine_granularity_gives_no_longer_labels_when_traffic_is_low(
    now: Instant, last: Instant, granularity: Granularity
) -> None:
    """The last date lies before this minute: the minute is issued, whatever the granularity."""
    minute = now.seconds // 60 * 60
    if last.seconds < minute - 60:
        assert next_tick(now, last, granularity).date == Instant(minute)


def by_repeating(now: Instant, last: Instant | None, granularity: Granularity, count: int) -> list[Tick]:
    ticks = []
    for _ in range(count):
        ticks.append(next_tick(now, last, granularity))
        last = ticks[-1].date
    return ticks


@given(calls, lasts)
def test_a_batch_equals_repeated_calls_also_when_the_granularity_changes_on_the_way(
    run: list[Call], last: Instant | None
) -> None:
    for now, granularity, count in run:
        batch = next_ticks(now, last, granularity, count)
        repeated = by_repeating(now, last, granularity, count)
        assert list(batch) == repeated
        assert list(batch.dates()) == [tick.date for tick in repeated]
        assert (batch.first, batch.last, batch.wait) == (repeated[0].date, repeated[-1].date, repeated[-1].wait)
        assert len(batch) == count
        assert [batch[index] for index in range(-count, 0)] == repeated
        last = batch.last


@given(moments, lasts, granularities, st.integers(1, 20), st.integers(1, 20))
def test_a_batch_in_two_halves_equals_one_batch(
    now: Instant, last: Instant | None, granularity: Granularity, one: int, other: int
) -> None:
    first = next_ticks(now, last, granularity, one)
    second = next_ticks(now, first.last, granularity, other)
    assert [*first, *second] == list(next_ticks(now, last, granularity, one + other))


@given(moments, lasts, granularities, st.integers(1, 50))
def test_the_waits_of_a_batch_never_get_shorter(
    now: Instant, last: Instant | None, granularity: Granularity, count: int
) -> None:
    batch = next_ticks(now, last, granularity, count)
    waits = [tick.wait for tick in batch]
    assert waits == sorted(waits)
    assert batch.wait == waits[-1]


@given(st.integers(0, 31))
def test_a_granularity_reads_back(level: int) -> None:
    granularity = Granularity(level)
    assert Granularity.parse(str(granularity)) == granularity
    assert hash(Granularity.parse(str(granularity))) == hash(granularity)
    assert pickle.loads(pickle.dumps(granularity)) == granularity
    assert Fraction(str(granularity)) == granularity.seconds
    assert eval(repr(granularity), {"Granularity": Granularity}) == granularity


@given(granularities, granularities)
def test_granularities_are_ordered_by_their_seconds(one: Granularity, other: Granularity) -> None:
    assert (one < other) is (one.seconds < other.seconds)
    assert (one >= other) is (one.seconds >= other.seconds)
    assert (one == other) is (one.seconds == other.seconds)


@given(st.one_of(st.text(st.characters(codec=None)), st.text("016.", max_size=8), st.text("0.1", max_size=40)))
def test_any_text_is_a_granularity_or_refused(text: str) -> None:
    try:
        granularity = Granularity.parse(text)
    except InvalidGranularity as error:
        assert error.text == text
        assert 0 <= error.offset <= len(text)
        assert len(str(error).splitlines()) == 1
    else:
        assert str(granularity) == text


@given(st.integers())
def test_any_level_is_a_granularity_or_refused(level: int) -> None:
    if 0 <= level <= 31:
        assert Granularity(level).level == level
    else:
        with pytest.raises(InvalidGranularity):
            Granularity(level)
