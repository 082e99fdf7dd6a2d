"""Which addresses are dialled. Registered Archives name their own, and one that lies could name ours, or a neighbour's
that trusts us: so a name is looked up once, all it stands for is judged, and nothing else than that is dialled.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from ibi.errors import InvalidInput
from ibi.label.reach import address_is_global
from ibi.messages import field
from ibi.messages.field import ArchiveProtocol, IpAddress
from ibi.model.visibility import IpNetwork
from ibi.resolver.archive_ref import ArchiveRef, host_of
from ibi.resolver.trace import Failure
from ibi.transport.name_lookup import NameLookup
from ibi.transport.wrapped_address import meant_by

__all__ = ["AddressGuard", "Checked"]

_DEFAULT_PORTS: Final = {ArchiveProtocol.HTTP: 80, ArchiveProtocol.HTTPS: 443}
_EVERYWHERE: Final = "::"
# A public address by the registries, behind which Azure answers its own machines.
_METADATA: Final = frozenset({ip_address("168.63.129.16")})


@dataclass(frozen=True, slots=True)
class Checked:
    """Where to dial: the name is for the certificate and the `Host` header alone."""

    host: str
    port: int
    addresses: tuple[str, ...]


class AddressGuard:
    """`own` is what this process listens on, and the names by which others know that: it never asks itself. An
    unspecified address (`0.0.0.0`, `::`) means every address of the machine.
    """

    def __init__(self, own: frozenset[tuple[str, int]] = frozenset(), *, names: NameLookup | None = None) -> None:
        self._own = frozenset((_plain(host), port) for host, port in own)
        self._names = NameLookup() if names is None else names

    async def check(self, archive: ArchiveRef) -> Checked | Failure:
        """What may be dialled to reach an Archive. Every address of its name has to pass: a name for both a public and
        a private one is a trap. Nothing is sent, except to the name servers of this machine."""
        return await self.check_address(archive.address, _DEFAULT_PORTS[archive.protocol], archive.networks)

    async def check_address(
        self, authority: str, default_port: int, networks: Sequence[IpNetwork] = ()
    ) -> Checked | Failure:
        """The same of `host[:port]`; an odd spelling of a host (`127.1`, `localhost.`) is refused unread."""
        try:
            field.host_and_port(authority)
        except InvalidInput:
            return Failure.FORBIDDEN_ADDRESS
        host = host_of(authority)
        port = default_port if host == authority else int(authority.rpartition(":")[2])
        host = host.strip("[]").lower()
        if (host, port) in self._own:
            return Failure.FORBIDDEN_ADDRESS
        found = [host] if _is_address(host) else await self._names.addresses(host)
        if not found:
            return Failure.UNREACHABLE
        try:
            allowed = all(self._may_dial(ip_address(each), port, networks) for each in found)
        except ValueError:
            return Failure.FORBIDDEN_ADDRESS
        return Checked(host, port, tuple(found)) if allowed else Failure.FORBIDDEN_ADDRESS

    def _may_dial(self, address: IpAddress, port: int, networks: Iterable[IpNetwork]) -> bool:
        meant = meant_by(address)
        return all(_is_public(each) or _is_in(each, networks) for each in meant) and not any(
            self._is_own(each, port) for each in meant
        )

    def _is_own(self, address: IpAddress, port: int) -> bool:
        # What is dialled as unspecified arrives at this machine.
        if address.is_unspecified or (str(address), port) in self._own:
            return True
        return (_EVERYWHERE, port) in self._own and _is_of_this_machine(address)


def _plain(host: str) -> str:
    """A host in the spelling in which it is compared."""
    host = host.strip("[]").lower()
    try:
        address = meant_by(ip_address(host or _EVERYWHERE))[0]
    except ValueError:
        return host.rstrip(".")
    return _EVERYWHERE if address.is_unspecified else str(address)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_public(address: IpAddress) -> bool:
    return address not in _METADATA and address_is_global(str(address))


def _is_in(address: IpAddress, networks: Iterable[IpNetwork]) -> bool:
    return any(address in network for network in networks)


def _is_of_this_machine(address: IpAddress) -> bool:
    """Whether a socket could be bound to it, which is tried: nothing is sent."""
    if address.is_loopback:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
