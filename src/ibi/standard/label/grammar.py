"""The alphabet and the numerals of labels, and their decoding.

The patterns accept exactly the texts that the corrected tables derive, within the lengths of E4. The modules of the two
forms then check dates, ports and addresses; `diagnosis` explains a refusal.

A numeral system here is a row of graphemes, each with its own position as its value (G Tables 7.4, 7.5 and 7.6).
"""

from __future__ import annotations

import re
from functools import lru_cache

from ibi.standard.instant import MAX_FRACTION_DIGITS

FIRST_DATE = 807_235_200
"""1995-08-01T00:00:00Z, the month in which the first label was made; an IBIp counts seconds from here."""

UNWRITTEN_PORT = 800
"""The port that an IBIp leaves out; a repository name leaves out 80."""

MAX_WORD = 63
MAX_HOST = 253
MAX_LENGTH = 320
"""Enough for host, port, date and thirty digits of a fraction; longer texts are refused unread."""

# word = ALPHANUM | (ALPHANUM *(ALPHANUM | "-") ALPHANUM), at most 63 characters (E4)
WORD = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# last-word = ALPHA | (ALPHA *(ALPHANUM | "-") ALPHANUM)
_LAST_WORD = r"[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# subdomain = *(word ".") last-word ["."]; the last dot is dropped (E4)
_SUBDOMAIN = rf"(?:{WORD}\.){{0,126}}{_LAST_WORD}"
# prefix = subdomain "/" word [("." | "@") port]; the port is optional (E2) and has no leading zero (E4)
_PORT = r"[1-9][0-9]{0,4}"

_PREFIX = rf"({_SUBDOMAIN})\.?/({WORD})(?:([.@])({_PORT}))?"
REPOSITORY_PREFIX = re.compile(_PREFIX)

# suffix = year "/" month "." day "." hour "." minute ["." second]; second = 2DIGIT ["." fraction]
_SUFFIX = r"([0-9]{4}/[0-9]{2})\.([0-9]{2})\.([0-9]{2})\.([0-9]{2})(?:\.([0-9]{2})(?:\.([0-9]{1,30}))?)?"
REPOSITORY_SUFFIX = re.compile(_SUFFIX)
REPOSITORY_FORM = re.compile(f"{_PREFIX}/{_SUFFIX}")

# IBIp = word "/" word, made of the graphemes of G Table 7.6 in either case, with "W" or "X" between address and port
# and "W" between seconds and fraction (G Algorithms 5 and 6)
_NUMERAL = "[2-9A-HJ-NP-Ua-hj-np-u]"
# A prefix has at most 34 + 1 + 4 graphemes (IPv6 text of 39 characters; port 65535), seconds until 9999 are 8, and a
# fraction of 30 digits 30. Each bound is generous, and keeps the numbers small.
IBIP_FORM = re.compile(rf"({_NUMERAL}{{1,40}}[WXwx]{_NUMERAL}{{0,4}})/({_NUMERAL}{{1,8}})(?:[Ww]({_NUMERAL}{{1,30}}))?")

# E72: names of items before 2008, outside G: two runs of letters and digits, one of which has both cases
_BOTH_CASES = "(?=[0-9A-Z]*[a-z])(?=[0-9a-z]*[A-Z])[A-Za-z0-9]{1,128}"
_RUN = "[A-Za-z0-9]{1,128}"
LEGACY_FORM = re.compile(f"(?:{_BOTH_CASES}/{_RUN}|{_RUN}/{_BOTH_CASES})(?![A-Za-z0-9])")


IPV4 = "0123456789."  # G Table 7.4
IPV6 = "0123456789abcdef:"  # G Table 7.5
IBIP = "23456789ABCDEFGHJKLMNPQRSTU"  # G Table 7.6


def convert_to_decimal(text: str, graphemes: str) -> int:
    """Return the number that `text` writes; raise ValueError if it holds anything but the graphemes."""
    base = len(graphemes)
    number = 0
    for grapheme in text:
        number = number * base + graphemes.index(grapheme)
    return number


def convert_from_decimal(number: int, graphemes: str) -> str:
    """Return `number` written with the graphemes; zero is the first of them. Raise ValueError for a negative number."""
    if number < 0:
        raise ValueError("no grapheme is a sign")
    base = len(graphemes)
    digits = []
    while True:
        number, rest = divmod(number, base)
        digits.append(graphemes[rest])
        if not number:
            return "".join(reversed(digits))


# The same two conversions for the IBIp system, the hot path of minting and parsing. Python reads base 27 itself, with
# the digits 0-9a-q; encoding goes two graphemes at a time.
_PYTHON_DIGITS = b"0123456789abcdefghijklmnopq"
_TO_PYTHON = bytes.maketrans((IBIP + IBIP.lower()).encode(), _PYTHON_DIGITS * 2)
_BASE = len(IBIP)
_SQUARE = _BASE * _BASE
_PAIRS = [high + low for high in IBIP for low in IBIP]
_FIRST: list[str] = [*IBIP, *_PAIRS[_BASE:]]
"""The same numbers without a leading zero."""
_IPV4_TRIPLES = [high + middle + low for high in IPV4 for middle in IPV4 for low in IPV4]


def decode_ibip(text: str) -> int:
    """Return `convert_to_decimal(text.upper(), IBIP)` for a text that only has graphemes, in either case."""
    return int(text.encode("ascii").translate(_TO_PYTHON), _BASE)


def ipv4_text(number: int) -> str:
    """Return `convert_from_decimal(number, IPV4)`, three graphemes at a time."""
    text = ""
    while number >= 1331:
        number, rest = divmod(number, 1331)
        text = _IPV4_TRIPLES[rest] + text
    return _IPV4_TRIPLES[number].lstrip("0") + text if text else convert_from_decimal(number, IPV4)


def encode_ibip(number: int) -> str:
    """Return `convert_from_decimal(number, IBIP)` for a number that is not negative, but faster."""
    if number < _SQUARE:
        return _FIRST[number]
    high = number // _SQUARE
    if high < _SQUARE:
        return _FIRST[high] + _PAIRS[number % _SQUARE]
    higher = high // _SQUARE
    first = _FIRST[higher] if higher < _SQUARE else encode_ibip(higher)
    return f"{first}{_PAIRS[high % _SQUARE]}{_PAIRS[number % _SQUARE]}"


# Four numbers up to 255 without leading zeros, as Python's own `ipaddress` reads them.
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")


@lru_cache(maxsize=16_384)
def decode_prefix(prefix: str) -> tuple[str, int] | None:
    """Return address and port of a prefix in upper case; None if no generator makes it (E6, E7)."""
    separator = "W" if "W" in prefix else "X"
    coded_ip, _, coded_port = prefix.partition(separator)
    port = decode_port(coded_port)
    if coded_ip[0] == "2" or port is None:
        return None
    number = decode_ibip(coded_ip)
    if separator == "W":
        ip = ipv4_text(number)
        return (ip, port) if _IPV4.fullmatch(ip) else None
    ip = convert_from_decimal(number, IPV6)
    return (ip, port) if _is_ipv6(ip) else None


def decode_port(coded: str) -> int | None:
    """Return the port in the graphemes, 800 if there are none; None if no generator writes it so (E6)."""
    if not coded:
        return UNWRITTEN_PORT
    port = decode_ibip(coded)
    return None if coded[0] == "2" or port > 65_535 or port == UNWRITTEN_PORT else port


def _is_ipv6(text: str) -> bool:
    if text.count(":") < 2:  # refuses most other texts early
        return False
    from ipaddress import IPv6Address  # 5 ms to import, and only these labels need it

    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def decode_fraction(coded: str) -> str | None:
    """Return the fraction; each leading `2` is a leading zero of it (E5). None if no generator makes it (E6, E36)."""
    rest = coded.lstrip("2")
    if not rest:
        return None
    number = decode_ibip(rest)
    fraction = "0" * (len(coded) - len(rest)) + str(number)
    return None if number % 10 == 0 or len(fraction) > MAX_FRACTION_DIGITS else fraction
