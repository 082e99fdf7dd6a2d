"""G Algorithm 2, MOUNTSUFFIXOFNAMEOFREPOSITORYOFANITEM, with E5, E8 and the misprint of line 11 (E30)."""

from __future__ import annotations

import pytest

from ibi import Instant
from ibi.standard.label.generate import mount_suffix_of_repository_name


@pytest.mark.parametrize(
    ("date", "suffix"),
    [
        ("2009-02-16T17:46:00Z", "2009/02.16.17.46"),
        ("2010-10-20T15:14:06Z", "2010/10.20.15.14.06"),
        ("1970-01-01T00:00:00Z", "1970/01.01.00.00"),
        ("1969-12-31T23:59:59Z", "1969/12.31.23.59.59"),
        ("2000-02-29T12:00:01Z", "2000/02.29.12.00.01"),
        ("1000-01-01T00:00:00Z", "1000/01.01.00.00"),
        ("9999-12-31T23:59:59Z", "9999/12.31.23.59.59"),
    ],
)
def test_year_month_day_hour_and_minute_are_extracted_in_utc(date: str, suffix: str) -> None:
    assert mount_suffix_of_repository_name(Instant.parse(date)) == suffix


def test_seconds_00_without_a_fraction_are_left_out() -> None:
    assert mount_suffix_of_repository_name(Instant(1234806360)) == "2009/02.16.17.46"


def test_every_minute_of_a_day_is_written_without_seconds_and_every_second_of_an_hour_with_them() -> None:
    for minute in range(1440):
        written = f"2009/02.16.{minute // 60:02}.{minute % 60:02}"
        assert mount_suffix_of_repository_name(Instant(1234742400 + 60 * minute)) == written
    for second in range(3600):
        written = f"2009/02.16.00.{second // 60:02}" + (f".{second % 60:02}" if second % 60 else "")
        assert mount_suffix_of_repository_name(Instant(1234742400 + second)) == written


def test_seconds_other_than_00_follow_the_minute() -> None:
    assert mount_suffix_of_repository_name(Instant(1234806361)) == "2009/02.16.17.46.01"


def test_a_fraction_follows_the_seconds() -> None:
    assert mount_suffix_of_repository_name(Instant(1234806361, "25")) == "2009/02.16.17.46.01.25"


def test_a_fraction_keeps_seconds_00() -> None:
    """E5: without them `.5` would read as seconds."""
    assert mount_suffix_of_repository_name(Instant(1234806360, "5")) == "2009/02.16.17.46.00.5"


@pytest.mark.parametrize("fraction", ["5", "05", "005", "500001", "0" * 29 + "1"])
def test_a_fraction_is_its_decimal_digits_with_leading_zeros(fraction: str) -> None:
    assert mount_suffix_of_repository_name(Instant(1234806361, fraction)).endswith(f".01.{fraction}")
