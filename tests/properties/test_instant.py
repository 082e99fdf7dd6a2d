"""What holds for every instant. `datetime` and `Fraction` are the oracles."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi import Instant
from ibi.standard.errors import InvalidInstant
from ibi.standard.instant import FIRST_SECOND, LAST_SECOND, civil, day_number, days_in_month
from tests.properties.label_strategies import instants, mutated

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
seconds_in_range = st.integers(FIRST_SECOND, LAST_SECOND)


@given(instants)
def test_what_is_written_reads_back(instant: Instant) -> None:
    assert Instant.parse(str(instant)) == instant
    assert str(Instant.parse(str(instant))) == str(instant)
    assert eval(repr(instant), {"Instant": Instant}) == instant


@given(st.integers(0, 10**18), st.integers(1, 10**18), st.integers(0, 50), st.integers(0, 9))
def test_a_run_is_its_instants_one_by_one(first: int, step: int, count: int, digits: int) -> None:
    units = [first + index * step for index in range(count)]
    if count and units[-1] // 10**digits > LAST_SECOND:
        with pytest.raises(InvalidInstant):
            list(Instant.run(first, step, count, digits))
    else:
        assert list(Instant.run(first, step, count, digits)) == [Instant.from_units(one, digits) for one in units]


@given(seconds_in_range)
def test_the_calendar_is_that_of_datetime(seconds: int) -> None:
    expected = (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert str(Instant(seconds)) == expected
    assert Instant.parse(expected).seconds == seconds


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)))  # noqa: DTZ001
def test_day_numbers_are_those_of_datetime(moment: datetime) -> None:
    days = moment.toordinal() - EPOCH.toordinal()
    assert day_number(moment.year, moment.month, moment.day) == days
    assert civil(days) == (moment.year, moment.month, moment.day)


@given(st.integers(1000, 9999), st.integers(1, 12))
def test_the_length_of_a_month_is_the_distance_to_the_next(year: int, month: int) -> None:
    following = day_number(year + month // 12, month % 12 + 1, 1)
    assert days_in_month(year, month) == following - day_number(year, month, 1)


@given(instants, instants)
def test_order_is_that_of_exact_numbers(one: Instant, other: Instant) -> None:
    left, right = one.as_fraction(), other.as_fraction()
    assert (one < other) is (left < right)
    assert (one <= other) is (left <= right)
    assert (one > other) is (left > right)
    assert (one >= other) is (left >= right)
    assert (one == other) is (left == right)
    assert one != other or hash(one) == hash(other)


@given(seconds_in_range, st.text("0123", max_size=4), st.text("0123", max_size=4))
def test_order_within_one_second_is_that_of_exact_numbers(seconds: int, left: str, right: str) -> None:
    one, other = Instant(seconds, left), Instant(seconds, right)
    assert (one < other) is (one.as_fraction() < other.as_fraction())
    assert (one == other) is (one.as_fraction() == other.as_fraction())


@given(instants)
def test_an_exact_number_gives_the_instant_back(instant: Instant) -> None:
    assert Instant.from_fraction(instant.as_fraction()) == instant


@given(st.one_of(st.fractions(), st.integers().map(Fraction)))
def test_any_number_is_an_instant_or_refused(number: Fraction) -> None:
    try:
        instant = Instant.from_fraction(number)
    except InvalidInstant as error:
        assert len(str(error).splitlines()) == 1
        in_range = FIRST_SECOND <= number < LAST_SECOND + 1
        assert not in_range or (10**30 * number).denominator != 1
    else:
        assert instant.as_fraction() == number


@given(st.integers(FIRST_SECOND * 10**9, LAST_SECOND * 10**9))
def test_nanoseconds_are_exact(nanoseconds: int) -> None:
    assert Instant.from_nanoseconds(nanoseconds).as_fraction() == Fraction(nanoseconds, 10**9)


@given(instants, st.integers(0, 5))
def test_zeros_at_the_end_of_a_fraction_say_nothing(instant: Instant, zeros: int) -> None:
    other = Instant(instant.seconds, instant.fraction + "0" * zeros)
    assert other == instant
    assert hash(other) == hash(instant)
    assert not other.fraction.endswith("0")


@given(instants, st.sampled_from(range(pickle.HIGHEST_PROTOCOL + 1)))
def test_a_pickle_gives_the_same_instant(instant: Instant, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(instant, protocol)) == copy.deepcopy(instant) == copy.copy(instant) == instant


hours_and_minutes = st.tuples(st.integers(0, 23), st.integers(0, 59))


@given(st.integers(FIRST_SECOND + 90_000, LAST_SECOND - 90_000), st.sampled_from("+-"), hours_and_minutes)
def test_an_offset_is_subtracted(seconds: int, sign: str, offset: tuple[int, int]) -> None:
    local = str(Instant(seconds))[:-1]
    text = f"{local}{sign}{offset[0]:02}:{offset[1]:02}"
    expected = datetime.fromisoformat(text)
    assert Instant.parse(text).seconds == (expected - EPOCH) // timedelta(seconds=1)


_texts = st.one_of(
    st.text(st.characters(codec=None)),
    instants.map(str).flatmap(mutated),
    st.text("0123456789-T:.Z+", max_size=40),
    st.builds(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}".format,
        st.integers(0, 9999),
        st.integers(0, 13),
        st.integers(0, 32),
        st.integers(0, 25),
        st.integers(0, 61),
        st.integers(0, 61),
        st.sampled_from(["Z", "z", "", "+00:00", "-23:59", "+24:00", "+00:60", "-99:99", ".5Z", ".Z"]),
    ),
)


@given(_texts)
def test_any_text_is_an_instant_or_refused(text: str) -> None:
    try:
        instant = Instant.parse(text)
    except InvalidInstant as error:
        assert error.text == text
        assert 0 <= error.offset <= len(text)
        assert len(str(error).splitlines()) == 1
        assert error.code == "invalid-instant"
    else:
        assert Instant.parse(str(instant)) == instant


@given(st.integers(), st.text(st.characters(codec=None), max_size=40))
def test_any_seconds_and_digits_are_an_instant_or_refused(seconds: int, digits: str) -> None:
    try:
        instant = Instant(seconds, digits)
    except InvalidInstant as error:
        assert 0 <= error.offset <= len(error.text)
        assert len(str(error).splitlines()) == 1
    else:
        assert FIRST_SECOND <= instant.seconds <= LAST_SECOND
        assert instant.fraction.isascii()
        assert instant.fraction == digits.rstrip("0")


@given(instants, st.one_of(st.none(), st.integers(), st.fractions(), st.text()))
def test_an_instant_equals_nothing_but_an_instant_and_is_not_ordered_against_anything_else(
    instant: Instant, other: object
) -> None:
    assert instant != other
    with pytest.raises(TypeError):
        instant < other  # noqa: B015


@pytest.mark.parametrize("name", ["seconds", "fraction", "anything"])
def test_an_instant_cannot_be_changed(name: str) -> None:
    instant = Instant(5, "5")
    with pytest.raises(AttributeError):
        setattr(instant, name, 0)
    with pytest.raises(AttributeError):
        delattr(instant, name)
    assert instant == Instant(5, "5")
