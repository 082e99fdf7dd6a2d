"""IPv6 addresses that lead to an IPv4 address: whoever dials one reaches what it wraps."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Final

from ibi.messages.field import IpAddress

__all__ = ["meant_by"]

# RFC 4291 §2.5.5.1 and RFC 6052 §2.1: the IPv4 address is the last 32 bits. The prefix of RFC 8215 for networks' own
# translators is not among them: where the address stands there is known to that network alone.
_LAST_BITS: Final = (IPv6Network("::/96"), IPv6Network("64:ff9b::/96"))
_THEMSELVES: Final = (IPv6Address("::"), IPv6Address("::1"))


def meant_by(address: IpAddress) -> tuple[IpAddress, ...]:
    """The addresses that `address` stands for: those it wraps, or itself. Teredo wraps two, a server and a client."""
    if isinstance(address, IPv4Address) or address in _THEMSELVES:
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.teredo is not None:
        return address.teredo
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if any(address in network for network in _LAST_BITS):
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return (address,)
