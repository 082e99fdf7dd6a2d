"""Generation of labels: G Algorithms 1–3 (repository name) and 5–7 (IBIp), as pure functions.

Algorithm 1  MOUNTPREFIXOFNAMEOFREPOSITORYOFANITEM   mount_prefix_of_repository_name
Algorithm 2  MOUNTSUFFIXOFNAMEOFREPOSITORYOFANITEM   mount_suffix_of_repository_name
Algorithm 3  MOUNTNAMEOFREPOSITORYOFANITEM           mount_repository_name
Algorithm 5  MOUNTPREFIXOFIBIPOFANITEM               mount_prefix_of_ibip
Algorithm 6  MOUNTSUFFIXOFIBIPOFANITEM               mount_suffix_of_ibip
Algorithm 7  MOUNTIBIPOFANITEM                       mount_ibip

Algorithm 4 is `ibi.standard.clock`. For many labels of one second, `mount_heads` returns their common part, and
`mount_fraction` the rest of an IBIp.
"""

from __future__ import annotations

from functools import lru_cache

from ibi.standard.errors import InvalidLabel, shown
from ibi.standard.instant import Instant, civil
from ibi.standard.label.diagnosis import check_host
from ibi.standard.label.grammar import FIRST_DATE, IPV4, IPV6, UNWRITTEN_PORT, convert_to_decimal, encode_ibip


@lru_cache(maxsize=1024)
def mount_prefix_of_repository_name(computer: str, port: int) -> str:
    """Return the prefix (G Algorithm 1); the dots of the subdomain are kept (E1), a final one is dropped (E4)."""
    computer = computer.removesuffix(".")
    check_host(computer)  # before `lower`, which converts the Kelvin sign to an ordinary k
    _check_port(port)
    first_word, _, subdomain = computer.lower().partition(".")
    return f"{subdomain}/{first_word}" if port == 80 else f"{subdomain}/{first_word}.{port}"


def mount_suffix_of_repository_name(date: Instant) -> str:
    """Return the suffix (G Algorithm 2).

    Line 11 tests the seconds. A fraction keeps them even if they are 00 (E5, E30).
    """
    minute, second = _written_second(date.seconds)
    if date.fraction:
        return f"{minute}.{second}.{date.fraction}"
    return minute if second == "00" else f"{minute}.{second}"


@lru_cache(maxsize=1024)
def _written_second(seconds: int) -> tuple[str, str]:
    """Return the date up to the minute, and the second: cached, because a busy minter repeats them."""
    days, rest = divmod(seconds, 86_400)
    year, month, day = civil(days)
    return f"{year}/{month:02}.{day:02}.{rest // 3600:02}.{rest // 60 % 60:02}", f"{rest % 60:02}"


_encoded_seconds = lru_cache(maxsize=1024)(encode_ibip)


def mount_repository_name(prefix: str, suffix: str) -> str:
    """Return the repository name (G Algorithm 3)."""
    return f"{prefix}/{suffix}"


@lru_cache(maxsize=1024)
def mount_prefix_of_ibip(ip: str, port: int) -> str:
    """Return the prefix (G Algorithm 5); the address is first normalised by RFC 5952 in hexadecimal groups (E7)."""
    _check_port(port)
    ip = _encodable(ip)
    coded_port = "" if port == UNWRITTEN_PORT else encode_ibip(port)
    if "." in ip:
        return f"{encode_ibip(convert_to_decimal(ip, IPV4))}W{coded_port}"
    return f"{encode_ibip(convert_to_decimal(ip, IPV6))}X{coded_port}"


def _encodable(ip: str) -> str:
    """Return the one spelling of an address that is encoded (E7). A number would lose a leading zero digit."""
    from ipaddress import IPv6Address, ip_address

    try:
        address = ip_address(ip)
    except ValueError:
        raise InvalidLabel(ip, 0, "it is not an IP address") from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise InvalidLabel(ip, ip.index("%"), "an address with a scope means another place on every machine")
        address = address.ipv4_mapped or address
    text = address.compressed
    if text[0] == "0":
        raise InvalidLabel(ip, 0, "an address that begins with 0 cannot be written as a number")
    return text


def mount_suffix_of_ibip(date: Instant) -> str:
    """Return the suffix (G Algorithm 6); a fraction is its digits, each leading zero the grapheme for zero (E5)."""
    seconds = date.seconds - FIRST_DATE
    if seconds < 0:
        raise InvalidLabel(str(date), 0, "an IBIp counts the seconds from August 1995 and cannot be older")
    if not date.fraction:
        return _encoded_seconds(seconds)
    return f"{_encoded_seconds(seconds)}W{mount_fraction(date.fraction)}"


def mount_fraction(fraction: str) -> str:
    """Return the digits of a non-zero fraction in the notation of an IBIp."""
    if fraction[0] != "0":
        return encode_ibip(int(fraction))
    return "2" * (len(fraction) - len(fraction.lstrip("0"))) + encode_ibip(int(fraction))


def mount_ibip(prefix: str, suffix: str) -> str:
    """Return the IBIp (G Algorithm 7)."""
    return f"{prefix}/{suffix}"


@lru_cache(maxsize=1024)
def mount_heads(rep_prefix: str, ibip_prefix: str | None, seconds: int) -> tuple[str, str]:
    """Return the common part of all labels of one second, in both forms.

    A fraction follows, in an IBIp as `mount_fraction` writes it. The second text is empty if there is no such prefix.
    """
    rep = mount_repository_name(rep_prefix, ".".join(_written_second(seconds)))
    if ibip_prefix is None:
        return f"{rep}.", ""
    return f"{rep}.", f"{mount_ibip(ibip_prefix, mount_suffix_of_ibip(Instant(seconds)))}W"


def _check_port(port: int) -> None:
    if not 1 <= port <= 65_535:
        raise InvalidLabel(shown(port), 0, "a port is a number from 1 to 65535")
