"""G Table 7.1: the rules for the formation of an IBIp, with what Algorithms 5 and 6 ask of it (E5, E6, E7)."""

from __future__ import annotations

import pytest

import ibi
from ibi import Ibip, InvalidLabel

ACCEPTED = {
    "the_example_of_the_rule": "8JMKD3MGP7W/385N5PE",
    "the_example_of_the_text": "8JMKD3MGP8W/34PGRBS",
    "a_port": "8JMKD3MGP3W34T/47GAF6S",
    "an_ipv6_address": "7URMDHLL9SSN2D89MX/34PGRBS",
    "an_ipv6_address_and_a_port": "7URMDHLL9SSN2D89MX4/34PGRBS",
    "a_fraction": "8JMKD3MGP8W/34PGRBSW7",
    "a_fraction_with_leading_zeros": "8JMKD3MGP8W/34PGRBSW2227",
    "the_very_first_second": "8JMKD3MGP8W/2",
    "the_very_first_second_and_a_fraction": "8JMKD3MGP8W/2W7",
    "letters_of_both_cases": "8jMkD3mGp8w/34pGrBs",
}

REFUSED = {
    "nothing": "",
    "one_part": "8JMKD3MGP8W",
    "no_prefix": "/34PGRBS",
    "no_suffix": "8JMKD3MGP8W/",
    "three_parts": "8JMKD3MGP8W/34PGRBS/3",
    "two_slashes": "8JMKD3MGP8W//34PGRBS",
    "the_digit_0": "8JMKD3MGP8W/34PGRB0",
    "the_letter_O": "8JMKD3MGP8W/34PGRBO",
    "the_digit_1": "8JMKD3MGP8W/34PGRB1",
    "the_letter_I": "8JMKD3MGP8W/34PGRBI",
    "the_letter_V": "8JMKD3MGP8W/34PGRBV",
    "the_letter_Y": "8JMKD3MGP8W/34PGRBY",
    "the_letter_Z": "8JMKD3MGP8W/34PGRBZ",
    "a_small_i": "8JMKD3MGP8W/34PGRBi",
    "a_small_o": "8JMoD3MGP8W/34PGRBS",
    "a_hyphen": "8JMKD3MGP8W/34PG-RBS",
    "a_letter_beyond_ascii": "8JMKD3MGP8W/34PGRBÅ",
    "the_kelvin_sign_for_K": "8JM\u212aD3MGP8W/34PGRBS",
    "the_long_s_for_S": "8JMKD3MGP8W/34PGRB\u017f",
    "a_fullwidth_digit": "8JMKD3MGP8W/\uff134PGRBS",
    "a_space_after_it": "8JMKD3MGP8W/34PGRBS ",
    "a_line_feed_after_it": "8JMKD3MGP8W/34PGRBS\n",
    "a_space_before_it": " 8JMKD3MGP8W/34PGRBS",
    "a_nul_after_it": "8JMKD3MGP8W/34PGRBS\0",
    "a_lone_surrogate": "8JMKD3MGP8W/34PGRBS\ud800",
    "no_separator_in_the_prefix": "8JMKD3MGP8/34PGRBS",
    "two_separators_in_the_prefix": "8JMKD3MGP8WW/34PGRBS",
    "both_separators_in_the_prefix": "8JMKD3MGP8WX/34PGRBS",
    "no_address": "W/34PGRBS",
    "an_address_that_is_none": "8JMKD3MGP9W/34PGRBSX",
    "an_ipv4_address_with_the_separator_of_ipv6": "8JMKD3MGP8X/34PGRBS",
    "an_X_in_the_suffix": "8JMKD3MGP8W/34PGRBSX7",
    "two_W_in_the_suffix": "8JMKD3MGP8W/34PGRBSW7W7",
    "no_seconds_before_the_fraction": "8JMKD3MGP8W/W7",
    "a_date_after_the_year_9999": "8JMKD3MGP8W/UUUUUUUU",
    "nine_graphemes_of_seconds": "8JMKD3MGP8W/333333333",
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_an_ibip_may_have(text: str) -> None:
    label = ibi.parse(text)
    assert isinstance(label, Ibip)
    assert label == Ibip.parse(text)
    assert str(label) == text.upper()


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_an_ibip_may_not_have(text: str) -> None:
    for parse in (ibi.parse, Ibip.parse):
        with pytest.raises(InvalidLabel) as caught:
            parse(text)
        assert caught.value.text == text
        assert 0 <= caught.value.offset <= len(text)


def test_a_repository_name_is_no_ibip() -> None:
    with pytest.raises(InvalidLabel):
        Ibip.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")


def test_an_ibip_is_case_insensitive() -> None:
    upper, lower = ibi.parse("8JMKD3MGP8W/34PGRBS"), ibi.parse("8jmkd3mgp8w/34pgrbs")
    assert upper == lower
    assert hash(upper) == hash(lower)


def test_generation_writes_upper_case() -> None:
    assert str(ibi.parse("8jmkd3mgp8w/34pgrbs")) == "8JMKD3MGP8W/34PGRBS"
