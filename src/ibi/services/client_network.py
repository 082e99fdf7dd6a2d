"""The network that a client is of, for whatever is bounded: an address alone is easily changed for the next one."""

from __future__ import annotations

from functools import lru_cache

from ibi.messages.field import IpAddress
from ibi.model.visibility import IpNetwork

__all__ = ["network_of"]


@lru_cache(maxsize=4096)
def network_of(address: IpAddress | None) -> IpNetwork | None:
    """The part of the Internet that somebody is likely to have whole: 24 bits of an IPv4 address, 48 of an IPv6 one."""
    from ipaddress import ip_network

    if address is None:
        return None
    if address.version == 6:
        address = address.ipv4_mapped or address
    return ip_network((address, 24 if address.version == 4 else 48), strict=False)
