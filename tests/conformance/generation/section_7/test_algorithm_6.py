"""G Algorithm 6, MOUNTSUFFIXOFIBIPOFANITEM, with E5."""

from __future__ import annotations

import pytest

from ibi import Instant, InvalidLabel
from ibi.standard.label.generate import mount_suffix_of_ibip

BEGINNING = Instant.parse("1995-08-01T00:00:00Z")


def test_line_2_seconds_count_from_august_1995() -> None:
    assert BEGINNING.seconds == 807235200
    assert mount_suffix_of_ibip(BEGINNING) == "2"
    assert mount_suffix_of_ibip(Instant(807235201)) == "3"


@pytest.mark.parametrize(
    ("date", "suffix"),
    [
        ("2009-02-16T17:46:00Z", "34PGRBS"),
        ("2009-09-09T22:01:00Z", "362SFKH"),
        ("2013-09-04T12:27:57Z", "3EPGUE5"),
        ("2022-08-25T11:46:00Z", "47GAF6S"),
    ],
)
def test_line_4_seconds_are_written_with_27_graphemes(date: str, suffix: str) -> None:
    assert mount_suffix_of_ibip(Instant.parse(date)) == suffix


@pytest.mark.parametrize(("fraction", "coded"), [("5", "7"), ("05", "27"), ("005", "227"), ("25", "T"), ("27", "32")])
def test_line_7_a_fraction_follows_w(fraction: str, coded: str) -> None:
    """E5: the standard's integer would write .5 and .05 alike."""
    assert mount_suffix_of_ibip(Instant(1234806360, fraction)) == f"34PGRBSW{coded}"


def test_line_5_without_a_fraction_there_is_no_w() -> None:
    assert "W" not in mount_suffix_of_ibip(Instant(1234806360, "000"))


def test_a_date_before_august_1995_cannot_be_written() -> None:
    with pytest.raises(InvalidLabel):
        mount_suffix_of_ibip(Instant(807235199, "999"))
