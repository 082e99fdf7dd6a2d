"""Points in time, exact to thirty decimals."""

from __future__ import annotations

import operator
from fractions import Fraction

import pytest

from ibi import Instant
from ibi.standard.errors import InvalidInstant
from ibi.standard.instant import FIRST_SECOND, LAST_SECOND, civil, day_number, days_in_month


@pytest.mark.parametrize(
    ("text", "seconds", "fraction"),
    [
        ("1970-01-01T00:00:00Z", 0, ""),
        ("2009-02-16T17:46:00Z", 1234806360, ""),
        ("2009-02-16T17:46Z", 1234806360, ""),
        ("1995-08-01T00:00:00Z", 807235200, ""),
        ("1969-12-31T23:59:59.5Z", -1, "5"),
        ("2013-10-04T14:32:14.0500Z", 1380897134, "05"),
        ("1997-07-16T19:20+01:00", 869077200, ""),
        ("1997-07-16T19:20:30.45+01:00", 869077230, "45"),
        ("1997-07-16T19:20:30-03:30", 869093430, ""),
        ("2000-02-29T23:59:59Z", 951868799, ""),
    ],
)
def test_a_date_is_read(text: str, seconds: int, fraction: str) -> None:
    instant = Instant.parse(text)
    assert (instant.seconds, instant.fraction) == (seconds, fraction)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2009-02-16",
        "2009-02-16 17:46:00Z",
        "2009-02-16T17:46:00",
        "2009-02-16t17:46:00z",
        "2009-02-16T17:46:00Z ",
        " 2009-02-16T17:46:00Z",
        "2009-02-16T17:46:00Z\n",
        "2009-2-16T17:46:00Z",
        "20090216T174600Z",
        "2009-02-16T17:46:00.Z",
        "2009-02-16T17:46.5Z",
        "2009-02-16T17:46:00,5Z",
        "2009-02-16T17:46:00+0100",
        "2009-02-16T17:46:00+01",
        "٢٠٠٩-02-16T17:46:00Z",
        "2009-02-16T17:46:0٠Z",
        "-2009-02-16T17:46:00Z",
        "12009-02-16T17:46:00Z",
        "\ud800",
    ],
)
def test_what_is_not_written_like_a_date_is_refused(text: str) -> None:
    with pytest.raises(InvalidInstant, match="2009-02-16T17:46:00Z") as caught:
        Instant.parse(text)
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        ("2009-00-16T17:46:00Z", "no month 0", 5),
        ("2009-13-16T17:46:00Z", "no month 13", 5),
        ("2009-02-29T17:46:00Z", "29 February 2009 does not exist", 8),
        ("2009-04-31T17:46:00Z", "31 April 2009 does not exist", 8),
        ("2009-04-00T17:46:00Z", "0 April 2009 does not exist", 8),
        ("2009-04-30T24:00:00Z", "23:59:59", 11),
        ("2009-04-30T23:60:00Z", "23:59:59", 11),
        ("2009-04-30T23:59:60Z", "23:59:59", 11),
    ],
)
def test_a_date_that_does_not_exist_is_refused_and_named(text: str, reason: str, offset: int) -> None:
    with pytest.raises(InvalidInstant, match=reason) as caught:
        Instant.parse(text)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    "text", ["0999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01", "1000-01-01T00:00:00+00:01"]
)
def test_a_date_outside_the_years_1000_to_9999_is_refused_with_its_own_text(text: str) -> None:
    with pytest.raises(InvalidInstant, match="between 1000 and 9999") as caught:
        Instant.parse(text)
    assert caught.value.text == text


@pytest.mark.parametrize("offset", ["+24:00", "-24:00", "+00:60", "+99:99", "-25:61"])
def test_an_offset_that_no_clock_has_is_refused(offset: str) -> None:
    with pytest.raises(InvalidInstant):
        Instant.parse(f"2009-02-16T17:46:00{offset}")


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (Instant(0), "1970-01-01T00:00:00Z"),
        (Instant(0, "05"), "1970-01-01T00:00:00.05Z"),
        (Instant(FIRST_SECOND), "1000-01-01T00:00:00Z"),
        (Instant(LAST_SECOND, "9"), "9999-12-31T23:59:59.9Z"),
    ],
)
def test_a_date_is_written(instant: Instant, text: str) -> None:
    assert str(instant) == text


def test_what_lies_outside_the_years_1000_to_9999_is_no_instant() -> None:
    for seconds in (FIRST_SECOND - 1, LAST_SECOND + 1, 10**100):
        with pytest.raises(InvalidInstant, match="between 1000 and 9999"):
            Instant(seconds)


def test_a_number_too_long_to_be_written_is_refused_like_any_other() -> None:
    """Python refuses to write a number of more than 4300 digits; the error must not be that of Python."""
    with pytest.raises(InvalidInstant):
        Instant(10**5000)
    with pytest.raises(InvalidInstant):
        Instant.from_fraction(Fraction(1, 10**5000))


@pytest.mark.parametrize("fraction", ["x", "-1", "1.5", "1 ", "١", "²", "1_0", "\ud800"])
def test_a_fraction_is_digits(fraction: str) -> None:
    with pytest.raises(InvalidInstant, match="digits 0 to 9"):
        Instant(0, fraction)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(1, 2), "1970-01-01T00:00:00.5Z"),
        (Fraction(-1, 4), "1969-12-31T23:59:59.75Z"),
        (7, "1970-01-01T00:00:07Z"),
        (Fraction("1287588115.99623"), "2010-10-20T15:21:55.99623Z"),
    ],
)
def test_an_exact_number_is_an_instant(number: Fraction | int, text: str) -> None:
    assert str(Instant.from_fraction(number)) == text


def test_a_third_of_a_second_is_no_instant() -> None:
    with pytest.raises(InvalidInstant, match="decimals"):
        Instant.from_fraction(Fraction(1, 3))


def test_nanoseconds() -> None:
    assert Instant.from_nanoseconds(1_500_000_000) == Instant(1, "5")
    assert Instant.from_nanoseconds(-1) == Instant(-1, "999999999")
    assert Instant.from_nanoseconds(0) == Instant(0)


def test_units_and_back() -> None:
    assert Instant(3, "25").units(4) == 32500
    assert Instant.from_units(32500, 4) == Instant(3, "25")
    assert Instant.from_units(-1, 1) == Instant(-1, "9")


@pytest.mark.parametrize("other", [None, 0, Fraction(0), "1970-01-01T00:00:00Z"])
def test_an_instant_is_compared_with_instants_only(other: object) -> None:
    assert Instant(0) != other
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError):
            compare(Instant(0), other)  # type: ignore[arg-type]


def test_the_calendar() -> None:
    assert civil(0) == (1970, 1, 1)
    assert civil(-1) == (1969, 12, 31)
    assert day_number(2000, 3, 1) - day_number(2000, 2, 28) == 2
    assert day_number(1900, 3, 1) - day_number(1900, 2, 28) == 1
    assert [days_in_month(2023, month) for month in range(1, 13)] == [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    assert [days_in_month(year, 2) for year in (1600, 1700, 2000, 2024, 2100)] == [29, 28, 29, 29, 28]
