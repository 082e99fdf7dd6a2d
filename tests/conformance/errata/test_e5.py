"""E5: a fraction is its decimal digits without trailing zeros; in an IBIp each leading zero is a leading `2`."""

from __future__ import annotations

from itertools import combinations

import pytest

from ibi import Ibip, Instant, RepositoryName

SECONDS = 1234806360
FRACTIONS = {
    "5": "7",
    "05": "27",
    "005": "227",
    "50001": "4GHS",
    "9": "B",
    "26": "U",
    "27": "32",
    "0" * 29 + "1": "2" * 29 + "3",
}


@pytest.mark.parametrize(("digits", "coded"), FRACTIONS.items())
def test_a_leading_zero_is_a_leading_2(digits: str, coded: str) -> None:
    label = Ibip.from_parts("150.163.34.243", 800, Instant(SECONDS, digits))
    assert str(label) == f"8JMKD3MGP8W/34PGRBSW{coded}"
    assert Ibip.parse(str(label)).instant == Instant(SECONDS, digits)


@pytest.mark.parametrize(("one", "other"), list(combinations(FRACTIONS, 2)))
def test_different_fractions_never_collide(one: str, other: str) -> None:
    labels = [Ibip.from_parts("150.163.34.243", 800, Instant(SECONDS, digits)) for digits in (one, other)]
    assert labels[0] != labels[1]
    assert str(labels[0]) != str(labels[1])


def test_trailing_zeros_are_never_written() -> None:
    instant = Instant(SECONDS, "500")
    assert str(Ibip.from_parts("150.163.34.243", 800, instant)) == "8JMKD3MGP8W/34PGRBSW7"
    assert str(RepositoryName.from_parts("www.urlib.net", 80, instant)) == "urlib.net/www/2009/02.16.17.46.00.5"


def test_a_repository_name_keeps_00_before_a_fraction() -> None:
    label = RepositoryName.parse("urlib.net/www/2010/10.20.15.20.00.5")
    assert label.suffix == "2010/10.20.15.20.00.5"
    assert label.instant == Instant.parse("2010-10-20T15:20:00.5Z")


def test_digits_after_the_minute_are_seconds_and_not_a_fraction() -> None:
    assert RepositoryName.parse("urlib.net/www/2010/10.20.15.20.50").instant == Instant.parse("2010-10-20T15:20:50Z")


def test_fractions_are_ordered_as_numbers() -> None:
    digits = ["", "005", "05", "1", "15", "2", "9"]
    labels = [Ibip.from_parts("150.163.34.243", 800, Instant(SECONDS, fraction)) for fraction in digits]
    assert sorted(labels, key=lambda label: label.instant.as_fraction()) == sorted(labels) == labels
