"""E36: a fraction of a second has at most 30 digits; the standard sets no end."""

from __future__ import annotations

from fractions import Fraction

import pytest

import ibi
from ibi import IbiError, Ibip, Instant, InvalidLabel, RepositoryName
from ibi.standard.clock import Granularity, next_tick
from ibi.standard.errors import InvalidGranularity, InvalidInstant

PREFIX = "urlib.net/www/2010/10.20.15.20.30"


def test_thirty_digits_are_read_and_written() -> None:
    digits = "0" * 14 + "123456789" * 1 + "1" * 7
    assert len(digits) == 30
    label = RepositoryName.parse(f"{PREFIX}.{digits}")
    assert label.instant.fraction == digits
    assert Ibip.parse(str(Ibip.from_parts("150.163.34.243", 800, label.instant))).instant == label.instant


def test_thirty_one_digits_of_a_repository_name_are_refused_and_the_reason_says_so() -> None:
    text = f"{PREFIX}.{'1' * 31}"
    with pytest.raises(InvalidLabel, match="at most 30 digits") as caught:
        ibi.parse(text)
    assert caught.value.offset == len(PREFIX) + 1


def test_an_ibip_whose_fraction_has_more_than_thirty_digits_is_refused() -> None:
    for coded in ("2" * 30 + "3", "U" * 30, "3" * 22, "2" * 29 + "T"):
        with pytest.raises(InvalidLabel, match="30"):
            ibi.parse(f"8JMKD3MGP8W/34PGRBSW{coded}")


def test_the_greatest_and_the_smallest_fraction_of_an_ibip() -> None:
    for digits in ("9" * 30, "0" * 29 + "1"):
        label = Ibip.from_parts("150.163.34.243", 800, Instant(1234806360, digits))
        assert Ibip.parse(str(label)).instant.fraction == digits


def test_an_instant_has_at_most_thirty_digits() -> None:
    assert Instant(0, "1" * 30).fraction == "1" * 30
    with pytest.raises(InvalidInstant, match="30"):
        Instant(0, "1" * 31)
    with pytest.raises(InvalidInstant):
        Instant.parse(f"2010-10-20T15:20:30.{'1' * 31}Z")
    with pytest.raises(InvalidInstant, match="30"):
        Instant.from_fraction(Fraction(1, 10**31))


def test_zeros_that_say_nothing_do_not_count_when_an_instant_is_built() -> None:
    assert Instant(0, "5" + "0" * 100) == Instant(0, "5")


def test_a_granularity_has_at_most_thirty_decimals() -> None:
    finest = Granularity.parse("0." + "0" * 29 + "1")
    assert finest.digits == 30
    assert finest.finer() is None
    assert next_tick(Instant(0), Instant(0), finest).date == Instant(0, "0" * 29 + "1")
    with pytest.raises(InvalidGranularity):
        Granularity.parse("0." + "0" * 30 + "1")


@pytest.mark.parametrize("fraction", ["1" * 31, "0" * 30 + "1"])
def test_every_refusal_is_an_ibi_error(fraction: str) -> None:
    with pytest.raises(IbiError):
        Instant(0, fraction)
