"""How many connections one client may have: whoever opens them by the thousand leaves none for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from ipaddress import ip_network
from typing import Final, NamedTuple

from ibi.model.visibility import IpNetwork
from ibi.web.reader_address import read_address

__all__ = ["Admission", "ConnectionBound", "Place"]

_NETWORK_BITS: Final = 64
"""Of an IPv6 address: what comes after them every machine chooses for itself, as often as it likes."""
_MOST_WAITED_FOR: Final = 64
"""Refused connections of the whole server that are given time to read why."""


def _nothing() -> None:
    """Nobody counts."""


class Admission(Enum):
    """What becomes of a connection."""

    IN = auto()
    WAITED_FOR = auto()
    """Refused, and given the time to read it."""
    OUT = auto()
    """Refused, and closed at once."""


class Place(NamedTuple):
    """A connection, as long as it lasts; `client` is None if its client is not counted."""

    admission: Admission
    client: str | None


class ConnectionBound:
    """The connections of every client of one server, counted from its event loop. An IPv6 client is a network of 64
    bits; whoever connects from one of `exempt` is not counted, nor anybody if `most` is 0."""

    def __init__(self, most: int, exempt: Sequence[IpNetwork] = ()) -> None:
        self._most, self._exempt = most, tuple(exempt)
        self._counts: dict[str, int] = {}
        self._waited_for = 0
        self._refused: Callable[[], object] = _nothing

    def watch(self, refused: Callable[[], object]) -> None:
        """Have `refused` called for each connection that is."""
        self._refused = refused

    def enter(self, address: str) -> Place:
        """The place of a new connection from that address, which has to be left again."""
        client = self._client(address)
        if client is None:
            return Place(Admission.IN, None)
        count = self._counts.get(client, 0)
        if count < self._most:
            self._counts[client] = count + 1
            return Place(Admission.IN, client)
        self._refused()
        if self._waited_for >= _MOST_WAITED_FOR:
            return Place(Admission.OUT, client)
        self._waited_for += 1
        return Place(Admission.WAITED_FOR, client)

    def leave(self, place: Place) -> None:
        admission, client = place
        if admission is Admission.WAITED_FOR:
            self._waited_for -= 1
        elif admission is Admission.IN and client is not None:
            count = self._counts[client] - 1
            if count:
                self._counts[client] = count
            else:
                del self._counts[client]

    def __len__(self) -> int:
        """Clients that are connected, and counted."""
        return len(self._counts)

    def _client(self, text: str) -> str | None:
        if not self._most:
            return None
        address = read_address(text)
        if address is None or any(address in network for network in self._exempt):
            return None
        return str(address) if address.version == 4 else str(ip_network((address, _NETWORK_BITS), strict=False))
