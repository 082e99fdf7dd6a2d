"""Numbers written with the graphemes of the standard: routines CONVERTTODECIMAL and CONVERTFROMDECIMAL of G §7.

A numeral system here is a row of graphemes, each standing for its own position (G Tables 7.4, 7.5 and 7.6).
"""

from __future__ import annotations

IPV4 = "0123456789."  # G Table 7.4
IPV6 = "0123456789abcdef:"  # G Table 7.5
IBIP = "23456789ABCDEFGHJKLMNPQRSTU"  # G Table 7.6


def convert_to_decimal(text: str, graphemes: str) -> int:
    """The number that `text` writes; ValueError if it holds anything but the graphemes."""
    base = len(graphemes)
    number = 0
    for grapheme in text:
        number = number * base + graphemes.index(grapheme)
    return number


def convert_from_decimal(number: int, graphemes: str) -> str:
    """`number` written with the graphemes; zero is the first of them, and there are no negative ones."""
    if number < 0:
        raise ValueError("no grapheme is a sign")
    base = len(graphemes)
    digits = []
    while True:
        number, rest = divmod(number, base)
        digits.append(graphemes[rest])
        if not number:
            return "".join(reversed(digits))


# The same two conversions for the IBIp system, where minting and parsing spend their time. Python reads base 27 itself,
# with the digits 0-9a-q; writing goes two graphemes at a time.
_PYTHON_DIGITS = b"0123456789abcdefghijklmnopq"
_TO_PYTHON = bytes.maketrans((IBIP + IBIP.lower()).encode(), _PYTHON_DIGITS * 2)
_BASE = len(IBIP)
_SQUARE = _BASE * _BASE
_PAIRS = [high + low for high in IBIP for low in IBIP]
_FIRST: list[str] = [*IBIP, *_PAIRS[_BASE:]]
"""The same numbers without a leading zero."""
_IPV4_TRIPLES = [high + middle + low for high in IPV4 for middle in IPV4 for low in IPV4]


def decode_ibip(text: str) -> int:
    """`convert_to_decimal(text.upper(), IBIP)` for a text known to hold nothing but graphemes of either case."""
    return int(text.encode("ascii").translate(_TO_PYTHON), _BASE)


def ipv4_text(number: int) -> str:
    """`convert_from_decimal(number, IPV4)`, three graphemes at a time."""
    text = ""
    while number >= 1331:
        number, rest = divmod(number, 1331)
        text = _IPV4_TRIPLES[rest] + text
    return _IPV4_TRIPLES[number].lstrip("0") + text if text else convert_from_decimal(number, IPV4)


def encode_ibip(number: int) -> str:
    """`convert_from_decimal(number, IBIP)` for a number that is not negative, quicker."""
    if number < _SQUARE:
        return _FIRST[number]
    high = number // _SQUARE
    if high < _SQUARE:
        return _FIRST[high] + _PAIRS[number % _SQUARE]
    higher = high // _SQUARE
    first = _FIRST[higher] if higher < _SQUARE else encode_ibip(higher)
    return f"{first}{_PAIRS[high % _SQUARE]}{_PAIRS[number % _SQUARE]}"
