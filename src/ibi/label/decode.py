"""Reading back what `generate` encodes into an IBIp: the address and port of a prefix, the fraction of a suffix."""

from __future__ import annotations

import re
from functools import lru_cache

from ibi.instant import MAX_FRACTION_DIGITS
from ibi.label.grammar import UNWRITTEN_PORT
from ibi.label.numerals import IPV6, convert_from_decimal, decode_ibip, ipv4_text

# Four numbers up to 255 without leading zeros, as Python's own `ipaddress` reads them.
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")


@lru_cache(maxsize=16_384)
def decode_prefix(prefix: str) -> tuple[str, int] | None:
    """Address and port of a prefix in upper case; None if no generator makes it (E6, E7)."""
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
    """The port that the graphemes write, 800 if there are none; None if no generator writes it so (E6)."""
    if not coded:
        return UNWRITTEN_PORT
    port = decode_ibip(coded)
    return None if coded[0] == "2" or port > 65_535 or port == UNWRITTEN_PORT else port


def _is_ipv6(text: str) -> bool:
    if text.count(":") < 2:  # refuses most other texts early
        return False
    from ipaddress import IPv6Address  # costs 5 ms to import, and only these labels need it

    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def decode_fraction(coded: str) -> str | None:
    """E5: each leading `2` is a leading zero of the fraction. None if no generator makes it (E6, E36)."""
    rest = coded.lstrip("2")
    if not rest:
        return None
    number = decode_ibip(rest)
    fraction = "0" * (len(coded) - len(rest)) + str(number)
    return None if number % 10 == 0 or len(fraction) > MAX_FRACTION_DIGITS else fraction
