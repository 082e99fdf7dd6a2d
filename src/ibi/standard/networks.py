"""Networks of IP addresses, and addresses compared with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from ibi.standard.document_errors import InvalidNetwork
from ibi.standard.messages.values import IpAddress

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network


from ipaddress import IPv4Address

IpNetwork: TypeAlias = "IPv4Network | IPv6Network"


def network(text: str) -> IpNetwork:
    """Parse `150.163.0.0/16`, or one address. Bits beyond the prefix are refused, because they are a typing error."""
    import ipaddress

    try:
        found = ipaddress.ip_network(text)
    except ValueError:
        raise InvalidNetwork(text, 0, "a network looks like 150.163.0.0/16 or 2001:db8::/32") from None
    if found.version == 6 and (found.network_address.scope_id or found.network_address.ipv4_mapped):
        raise InvalidNetwork(text, 0, "write IPv4 as IPv4, and an address without a scope")
    return found


def unmap_address(address: IpAddress) -> IpAddress:
    """Return the IPv4 address inside an IPv6 one: a dual-stack socket writes `::ffff:150.163.2.175`."""
    return (address.ipv4_mapped or address) if address.version == 6 else address


NO_READER: Final = IPv4Address("0.0.0.0")  # noqa: S104 - the unspecified address, not one to listen on
"""Stands for a missing reader, or for a reader with an unknown address: no permitted network contains it.

It never leaves this process: other Archives get the address of the last proxy, or the resolver's own if there is no
reader (E76).
"""
