"""The address from which this machine reaches other hosts."""

from __future__ import annotations

import socket
from contextlib import closing
from ipaddress import IPv4Address, ip_address
from typing import Final

from ibi.standard.messages.values import IpAddress

# Documentation addresses (RFC 5737, RFC 3849): their route is the route to the Internet, and nothing is sent.
_SOMEWHERE: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_LOOPBACK: Final = IPv4Address("127.0.0.1")


def find_own_address() -> IpAddress:
    """Return the address from which this machine reaches others; the loopback address if it reaches none."""
    for family, somewhere in _SOMEWHERE:
        try:
            with closing(socket.socket(family, socket.SOCK_DGRAM)) as unconnected:
                unconnected.connect((somewhere, 9))  # on a datagram socket this chooses the route and sends nothing
                found = ip_address(unconnected.getsockname()[0].partition("%")[0])
        except OSError:
            continue
        if not found.is_unspecified:
            return found
    return _LOOPBACK
