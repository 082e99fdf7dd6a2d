"""Where a request came from, as far as a log may know it: the network, not the person."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

__all__ = ["truncated"]


@lru_cache(maxsize=1024)
def truncated(address: str) -> str:
    """The network of an address: its first 24 bits (IPv4) or 48 bits (IPv6)."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    bits = 24 if parsed.version == 4 else 48
    return str(ip_network((parsed, bits), strict=False))
