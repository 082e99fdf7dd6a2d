"""E6: what a text that no generator makes means, or that it means nothing."""

from __future__ import annotations

import pytest

import ibi
from ibi import Ibip, InvalidLabel, RepositoryName

SAME_INSTANT = [
    ("urlib.net/www/2010/10.20.15.20.00", "urlib.net/www/2010/10.20.15.20"),
    ("urlib.net/www/2010/10.20.15.20.00.0", "urlib.net/www/2010/10.20.15.20"),
    ("urlib.net/www/2010/10.20.15.20.00.000", "urlib.net/www/2010/10.20.15.20"),
    ("urlib.net/www/2010/10.20.15.20.30.0", "urlib.net/www/2010/10.20.15.20.30"),
    ("urlib.net/www/2010/10.20.15.20.30.50", "urlib.net/www/2010/10.20.15.20.30.5"),
    ("urlib.net/www/2010/10.20.15.20.00.0500", "urlib.net/www/2010/10.20.15.20.00.05"),
]

REFUSED = {
    "a_leading_2_in_the_address": "28JMKD3MGP8W/34PGRBS",
    "a_leading_2_in_an_ipv6_address": "27URMDHLL9SSN2D89MX/34PGRBS",
    "a_leading_2_in_the_port": "8JMKD3MGP8W234T/34PGRBS",
    "port_0": "8JMKD3MGP8W2/34PGRBS",
    "port_800_written_out": "8JMKD3MGP8W34K/34PGRBS",
    "port_800_of_an_ipv6_address_written_out": "7URMDHLL9SSN2D89MX34K/34PGRBS",
    "port_65536": "8JMKD3MGP8W5AS9/34PGRBS",
    "a_port_of_five_graphemes": "8JMKD3MGP8W33333/34PGRBS",
    "a_leading_2_in_the_seconds": "8JMKD3MGP8W/234PGRBS",
    "two_2_for_second_0": "8JMKD3MGP8W/22",
    "an_empty_fraction": "8JMKD3MGP8W/34PGRBSW",
    "a_fraction_of_zero": "8JMKD3MGP8W/34PGRBSW2",
    "a_fraction_of_many_zeros": "8JMKD3MGP8W/34PGRBSW2222",
    "a_fraction_that_ends_in_zero": "8JMKD3MGP8W/34PGRBSWC",
    "a_fraction_with_leading_zeros_that_ends_in_zero": "8JMKD3MGP8W/34PGRBSW22C",
}


@pytest.mark.parametrize(("text", "canonical"), SAME_INSTANT)
def test_zeros_that_say_nothing_parse_to_the_same_instant(text: str, canonical: str) -> None:
    label = RepositoryName.parse(text)
    assert label == RepositoryName.parse(canonical)
    assert hash(label) == hash(RepositoryName.parse(canonical))
    assert str(label) == canonical
    assert label.spelling == text


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_an_ibip_is_refused_with(text: str) -> None:
    for parse in (ibi.parse, Ibip.parse):
        with pytest.raises(InvalidLabel):
            parse(text)
        with pytest.raises(InvalidLabel):
            parse(text.lower())


def test_second_0_is_a_single_2() -> None:
    assert str(Ibip.parse("8JMKD3MGP8W/2").instant) == "1995-08-01T00:00:00Z"


@pytest.mark.parametrize(("coded", "port"), [("3", 1), ("34J", 799), ("34L", 801), ("5AS8", 65535), ("", 800)])
def test_every_other_port_is_read(coded: str, port: int) -> None:
    assert Ibip.parse(f"8JMKD3MGP8W{coded}/34PGRBS").port == port
