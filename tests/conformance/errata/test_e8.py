"""E8: dates exist in the calendar, second ≤ 59, year 1000–9999; an IBIp lies between August 1995 and 9999."""

from __future__ import annotations

import pytest

from ibi import Ibip, Instant, InvalidLabel, RepositoryName
from ibi.standard.label.grammar import encode_ibip

# suffix, words of the reason, what the offset points at
REFUSED = [
    ("2010/02.30.12.38", "30 February does not exist", "30"),
    ("2010/02.29.12.38", "29 February does not exist in 2010", "29"),
    ("1900/02.29.12.38", "29 February does not exist in 1900", "29"),
    ("2010/04.31.12.38", "31 April does not exist", "31"),
    ("2010/06.31.12.38", "31 June does not exist", "31"),
    ("2010/09.31.12.38", "31 September does not exist", "31"),
    ("2010/11.31.12.38", "31 November does not exist", "31"),
    ("2010/01.32.12.38", "32 January does not exist", "32"),
    ("2010/01.00.12.38", "0 January does not exist", "00"),
    ("2010/00.25.12.38", "there is no month 0", "00"),
    ("2010/13.25.12.38", "there is no month 13", "13"),
    ("2010/08.25.24.00", "there is no hour 24", "24"),
    ("2010/08.25.12.60", "there is no minute 60", "60"),
    ("2010/12.31.23.59.60", "there is no second 60", "60"),
    ("2016/12.31.23.59.60", "there is no second 60", "60"),
    ("0999/08.25.12.38", "between 1000 and 9999", "0999"),
    ("0000/01.01.00.00", "between 1000 and 9999", "0000"),
]


@pytest.mark.parametrize(("suffix", "reason", "place"), REFUSED)
def test_a_date_that_does_not_exist_is_refused_and_named(suffix: str, reason: str, place: str) -> None:
    text = f"sid.inpe.br/mtc-m19/{suffix}"
    with pytest.raises(InvalidLabel) as caught:
        RepositoryName.parse(text)
    assert reason in str(caught.value)
    assert text[caught.value.offset :].startswith(place)


@pytest.mark.parametrize(
    "suffix",
    [
        "2000/02.29.23.59.59",
        "2012/02.29.00.00",
        "1000/01.01.00.00",
        "9999/12.31.23.59.59.9",
        "1600/02.29.01.01",
        "2010/01.31.00.01",
    ],
)
def test_a_date_that_exists_is_read(suffix: str) -> None:
    assert RepositoryName.parse(f"sid.inpe.br/mtc-m19/{suffix}").suffix == suffix


def test_the_first_date_of_an_ibip_is_august_1995() -> None:
    assert str(Ibip.parse("8JMKD3MGP8W/2").instant) == "1995-08-01T00:00:00Z"
    with pytest.raises(InvalidLabel):
        Ibip.from_parts("150.163.34.243", 800, Instant.parse("1995-07-31T23:59:59.999Z"))


def test_the_last_date_of_an_ibip_is_the_end_of_9999() -> None:
    last = Instant.parse("9999-12-31T23:59:59.9Z")
    label = Ibip.from_parts("150.163.34.243", 800, last)
    assert Ibip.parse(str(label)).instant == last
    after = encode_ibip(last.seconds + 1 - 807235200)
    for suffix in (after, f"{after}W7"):
        with pytest.raises(InvalidLabel, match="9999"):
            Ibip.parse(f"8JMKD3MGP8W/{suffix}")


def test_a_repository_name_may_be_older_than_any_ibip() -> None:
    instant = Instant.parse("1822-09-07T16:30:00Z")
    assert str(RepositoryName.from_parts("www.urlib.net", 80, instant)) == "urlib.net/www/1822/09.07.16.30"
