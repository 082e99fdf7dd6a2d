"""The grammar of labels: numbers in the three numeral systems of G §7, and the parts of an IBIp."""

from __future__ import annotations

import pytest

from ibi.standard.label.grammar import (
    IBIP,
    IPV4,
    IPV6,
    convert_from_decimal,
    convert_to_decimal,
    decode_fraction,
    decode_ibip,
    decode_port,
    decode_prefix,
    encode_ibip,
)

# --- numbers in the three numeral systems of G §7 --------------------------------------------------------------------


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


# --- reading prefix, port and fraction of an IBIp --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "address"),
    [
        ("8JMKD3MGP8W", ("150.163.34.243", 800)),
        ("8JMKD3MGP3W34T", ("150.163.34.239", 808)),
        ("LK47B6W", ("127.0.0.1", 800)),
        ("7URMDHLL9SSN2D89MX", ("2001:252:0:1::2008:6", 800)),
        ("7URMDHLL9SSN2D89MX3", ("2001:252:0:1::2008:6", 1)),
        ("CLX", ("::", 800)),
        ("28JMKD3MGP8W", None),
        ("8JMKD3MGP8W2", None),
        ("8JMKD3MGP8W34K", None),
        ("8JMKD3MGP8X", None),
        ("333W", None),
        ("3X", None),
    ],
)
def test_a_prefix_is_an_address_and_a_port_or_nothing(prefix: str, address: tuple[str, int] | None) -> None:
    assert decode_prefix(prefix) == address


@pytest.mark.parametrize(
    ("coded", "port"),
    [
        ("", 800),
        ("3", 1),
        ("4U", 80),
        ("34J", 799),
        ("34K", None),
        ("34L", 801),
        ("5AS8", 65535),
        ("5AS9", None),
        ("2", None),
        ("23", None),
    ],
)
def test_a_port_is_a_number_or_nothing(coded: str, port: int | None) -> None:
    assert decode_port(coded) == port


@pytest.mark.parametrize(
    ("coded", "digits"),
    [
        ("7", "5"),
        ("27", "05"),
        ("227", "005"),
        ("32", "27"),
        ("2", None),
        ("222", None),
        ("C", None),
        ("2C", None),
        ("2" * 29 + "3", "0" * 29 + "1"),
        ("2" * 30 + "3", None),
    ],
)
def test_a_fraction_is_its_digits_or_nothing(coded: str, digits: str | None) -> None:
    assert decode_fraction(coded) == digits
