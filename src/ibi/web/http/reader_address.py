"""The address of a reader: the one that fetches, or the one that a trusted proxy vouches for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from starlette.types import Scope

from ibi.messages.values import IpAddress
from ibi.model.visibility import IpNetwork
from ibi.web.http.headers import values


@lru_cache(maxsize=1024)
def truncate_address(address: str) -> str:
    """The network of an address: its first 24 bits (IPv4) or 48 bits (IPv6)."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    bits = 24 if parsed.version == 4 else 48
    return str(ip_network((parsed, bits), strict=False))


UNKNOWN_READER: Final = IPv4Address("0.0.0.0")  # noqa: S104 - the unspecified address, not one to listen on
"""Stands for a reader whose address is not known: no permitted network contains it."""

_MOST_HOPS: Final = 63
"""Together with the connected address, as many as a request to an Archive may name."""

_LONGEST: Final = 64
"""Characters of an address, with a scope."""


def reader_address(scope: Scope, proxies: Sequence[IpNetwork]) -> IpAddress | None:
    """The last address on the way here that is not a proxy of ours; None if it is not known.

    Each proxy adds the sender's address on the right of X-Forwarded-For. Addresses left of the first stranger are that
    stranger's claim, and no proof.
    """
    return _way(scope, proxies)[-1]


def client_addresses(scope: Scope, proxies: Sequence[IpNetwork]) -> tuple[IpAddress, ...]:
    """The reader's address, then those of our proxies in the order in which the request passed them (R Table 8.10)."""
    way = _way(scope, proxies)
    if len(way) == 1:
        return (way[0] or UNKNOWN_READER,)
    reader, *passed = reversed(way)
    return (reader or UNKNOWN_READER, *(address for address in passed if address is not None))


def _way(scope: Scope, proxies: Sequence[IpNetwork]) -> list[IpAddress | None]:
    """The addresses from here back to the reader; None where one cannot be read."""
    client = scope.get("client")
    way = [read_address(client[0]) if client else None]
    if not proxies:
        return way
    hops = [hop.strip() for value in values(scope["headers"], b"x-forwarded-for") for hop in value.split(",")]
    for hop in reversed(hops[-_MOST_HOPS:]):
        address = way[-1]
        if address is None or not any(address in network for network in proxies):
            break
        way.append(read_address(hop) if len(hop) <= _LONGEST else None)  # too long to be remembered
    return way


@lru_cache(maxsize=1024)
def read_address(text: str) -> IpAddress | None:
    """An address without scope and port; IPv4 inside IPv6 is IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if address.version == 6 else address
