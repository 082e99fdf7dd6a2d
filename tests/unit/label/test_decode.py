"""Reading prefix, port and fraction of an IBIp."""

from __future__ import annotations

import pytest

from ibi.label.grammar import decode_fraction, decode_port, decode_prefix


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
