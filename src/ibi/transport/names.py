"""What a host name resolves to, as this machine sees it."""

from __future__ import annotations

import socket

__all__ = ["addresses_of"]


def addresses_of(host: str) -> list[str]:
    """Every address of `host`, in the order the system prefers; none if it does not resolve."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
