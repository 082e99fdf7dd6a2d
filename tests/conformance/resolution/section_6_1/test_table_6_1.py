"""R Table 6.1: the hexadecimal codes of special characters in values."""

from __future__ import annotations

import pytest

from ibi.standard.messages import decode_value, encode_value

TABLE = {" ": "%20", "%": "%25", "&": "%26", "+": "%2B", "=": "%3D", "?": "%3F"}


@pytest.mark.parametrize(("character", "code"), TABLE.items())
def test_a_special_character_is_written_as_its_code(character: str, code: str) -> None:
    assert encode_value(character) == code


@pytest.mark.parametrize(("character", "code"), TABLE.items())
def test_a_code_is_read_as_its_character_in_either_case(character: str, code: str) -> None:
    assert decode_value(code) == decode_value(code.lower()) == character


def test_the_number_sign_is_special_too() -> None:
    assert encode_value("#") == "%23"


def test_the_standards_own_date_is_encoded_as_it_is_printed() -> None:
    assert encode_value("1997-07-16T19:20+01:00") == "1997-07-16T19:20%2B01:00"
    assert decode_value("1997-07-16T19:20%2B01:00") == "1997-07-16T19:20+01:00"


def test_a_raw_plus_sign_is_a_blank() -> None:
    assert decode_value("172.16.44.200+150.163.68.1") == "172.16.44.200 150.163.68.1"


def test_characters_beyond_ascii_are_percent_encoded() -> None:
    assert encode_value("ó") == "%C3%B3"


def test_all_that_the_examples_leave_as_it_is_stays_as_it_is() -> None:
    text = "http://mtc-m16d.sid.inpe.br:80/col/sid.inpe.br/mtc-m19@80/2009/08.21.17.02!:(oai_dc),;_~*'$"
    assert encode_value(text) == text
