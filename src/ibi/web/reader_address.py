"""Whose request it is: the address that fetches, or the one that a trusted proxy vouches for."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from starlette.types import Scope

from ibi.messages.field import IpAddress
from ibi.model.visibility import IpNetwork
from ibi.web.headers import values

__all__ = ["reader_address"]

_MOST_HOPS = 64


def reader_address(scope: Scope, proxies: Sequence[IpNetwork]) -> IpAddress | None:
    """The last address on the way here that is no proxy of ours; None if it is not known.

    Each proxy adds to the right of X-Forwarded-For whom it got the request from: what stands further left than the
    first stranger is that stranger's word, and no proof.
    """
    client = scope.get("client")
    address = _address(client[0]) if client else None
    hops = [hop.strip() for value in values(scope["headers"], b"x-forwarded-for") for hop in value.split(",")]
    for hop in reversed(hops[-_MOST_HOPS:]):
        if address is None or not any(address in network for network in proxies):
            break
        address = _address(hop)
    return address


def _address(text: str) -> IpAddress | None:
    """An address without scope and port; IPv4 inside IPv6 is IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if address.version == 6 else address
