"""Numbers in the three numeral systems of G §7."""

from __future__ import annotations

import pytest

from ibi.label.grammar import (
    IBIP,
    IPV4,
    IPV6,
    convert_from_decimal,
    convert_to_decimal,
    decode_ibip,
    encode_ibip,
)


@pytest.mark.parametrize("graphemes", [IPV4, IPV6, IBIP])
@pytest.mark.parametrize("number", [0, 1, 10, 11, 16, 17, 26, 27, 28, 728, 729, 730, 19682, 19683, 10**12, 10**40])
def test_a_number_comes_back(graphemes: str, number: int) -> None:
    assert convert_to_decimal(convert_from_decimal(number, graphemes), graphemes) == number


def test_the_quick_conversions_equal_the_plain_ones() -> None:
    for number in [*range(2000), 27**3 - 1, 27**3, 27**4 - 1, 27**4, 27**9, 10**30, 27**40 - 1]:
        text = encode_ibip(number)
        assert text == convert_from_decimal(number, IBIP)
        assert decode_ibip(text) == decode_ibip(text.lower()) == convert_to_decimal(text, IBIP) == number


@pytest.mark.parametrize("graphemes", [IPV4, IPV6, IBIP])
def test_every_grapheme_stands_for_its_place(graphemes: str) -> None:
    assert [convert_to_decimal(sign, graphemes) for sign in graphemes] == list(range(len(graphemes)))


def test_leading_zeros_are_lost() -> None:
    """Why an address that begins with 0 is not encodable (E7)."""
    assert convert_to_decimal("0.1.2.3", IPV4) == convert_to_decimal(".1.2.3", IPV4)


def test_nothing_is_the_number_zero() -> None:
    assert convert_to_decimal("", IBIP) == 0


@pytest.mark.parametrize("text", ["0", "1", "I", "O", "V", "W", "X", "Y", "Z", "a", "Ａ", " ", "/"])
def test_a_sign_outside_the_system_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        convert_to_decimal(f"3{text}", IBIP)
