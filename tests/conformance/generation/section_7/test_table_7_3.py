"""G Table 7.3: examples of CONVERTFROMDECIMAL, and their way back."""

from __future__ import annotations

import pytest

from ibi.standard.label.grammar import IBIP, convert_from_decimal, convert_to_decimal, decode_ibip, encode_ibip

ROWS = [
    (1, "3"),
    (19050, "U5H"),
    (480992662, "38G3TS3"),
    (4588904456580, "J8LNKAN8P"),
    (478239719325051908572237, "7URMDHLL9SSN2D89M"),
]


@pytest.mark.parametrize(("number", "text"), ROWS)
def test_a_decimal_number_is_written_with_27_graphemes(number: int, text: str) -> None:
    assert convert_from_decimal(number, IBIP) == encode_ibip(number) == text


@pytest.mark.parametrize(("number", "text"), ROWS)
def test_the_graphemes_give_the_number_back(number: int, text: str) -> None:
    assert convert_to_decimal(text, IBIP) == decode_ibip(text) == decode_ibip(text.lower()) == number


def test_zero_is_the_first_grapheme() -> None:
    assert convert_from_decimal(0, IBIP) == encode_ibip(0) == "2"
