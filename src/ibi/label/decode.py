"""Reading back what `generate` encodes into an IBIp: the address and port of a prefix, the fraction of a suffix."""

from __future__ import annotations

from functools import lru_cache

from ibi.instant import MAX_FRACTION_DIGITS
from ibi.label.grammar import UNWRITTEN_PORT
from ibi.label.numerals import IPV4, IPV6, convert_from_decimal, decode_ibip

__all__ = ["decode_fraction", "decode_port", "decode_prefix"]


@lru_cache(maxsize=4096)
def decode_prefix(prefix: str) -> tuple[str, int] | None:
    """Address and port of a prefix in upper case; None if no generator makes it (E6, E7)."""
    separator = "W" if "W" in prefix else "X"
    coded_ip, _, coded_port = prefix.partition(separator)
    port = decode_port(coded_port)
    if coded_ip[0] == "2" or port is None:
        return None
    ip = convert_from_decimal(decode_ibip(coded_ip), IPV4 if separator == "W" else IPV6)
    return (ip, port) if _is_address(ip, 4 if separator == "W" else 6) else None


def decode_port(coded: str) -> int | None:
    """The port that the graphemes write, 800 if there are none; None if no generator writes it so (E6)."""
    if not coded:
        return UNWRITTEN_PORT
    port = decode_ibip(coded)
    return None if coded[0] == "2" or port > 65_535 or port == UNWRITTEN_PORT else port


def _is_address(text: str, version: int) -> bool:
    from ipaddress import ip_address  # costs 5 ms to import, and only an IBIp needs it

    try:
        return ip_address(text).version == version
    except ValueError:
        return False


def decode_fraction(coded: str) -> str | None:
    """E5: each leading `2` is a leading zero of the fraction. None if no generator makes it (E6, E36)."""
    rest = coded.lstrip("2")
    if not rest:
        return None
    number = decode_ibip(rest)
    fraction = "0" * (len(coded) - len(rest)) + str(number)
    return None if number % 10 == 0 or len(fraction) > MAX_FRACTION_DIGITS else fraction
