"""An Archive as the resolver knows it: registered and included (R §7)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ibi.messages.label_forms import LabelForms
from ibi.messages.values import host_and_port
from ibi.model.visibility import IpNetwork
from ibi.origin import host_of
from ibi.vocabulary import ArchiveProtocol


@dataclass(frozen=True, slots=True)
class ArchiveRef:
    """Where an Archive is asked, and thanked; and on which hosts its URLs may be (E31).

    `hosts` are those it declared beyond that of its `address`: `host`, which means every port, or `host:port`.
    `networks` are those, not of the whole Internet, in which its registration allows it to be dialled. `registered` is
    when, in seconds: of several that claim one Original, the one that has been there longest is believed. It is no
    part of what makes two of them equal.
    """

    service: LabelForms
    address: str
    protocol: ArchiveProtocol = ArchiveProtocol.HTTP
    hosts: frozenset[str] = frozenset()
    networks: tuple[IpNetwork, ...] = ()
    registered: int = 0
    prefixes: frozenset[str] = frozenset()
    """Prefixes of which it is the home besides those of its own label (`ibi.label.home_prefix`)."""
    vouched: bool = False
    """Whether its claims are followed while the home of an item is silent."""
    _host: str = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        host_and_port(self.address)
        object.__setattr__(self, "_host", host_of(self.address.lower()))
        object.__setattr__(self, "hosts", frozenset(host_and_port(host).lower() for host in self.hosts))
        object.__setattr__(self, "_hash", hash(self._values))

    def __eq__(self, other: object) -> bool:
        """Of two that are compared, nearly all are the very same, or differ in their hash."""
        if self is other:
            return True
        if not isinstance(other, ArchiveRef):
            return NotImplemented
        return self._hash == other._hash and self._values == other._values

    def __hash__(self) -> int:
        """Reckoned once: every resolution looks up every Archive several times."""
        return self._hash

    def declares(self, authority: str) -> bool:
        """Whether URLs of this Archive may name `authority`, the `host[:port]` of a URL.

        Not `Origin`: this is asked of every entry of every answer, and messages leave little to normalise (E45). A
        declared port is compared as it is spelled, also 80.
        """
        authority = authority.lower()
        host = host_of(authority)
        return host == self._host or not self.hosts.isdisjoint({authority, host})

    @property
    def _values(self) -> tuple[object, ...]:
        return self.service, self.address, self.protocol, self.hosts, self.networks, self.prefixes, self.vouched

    def __str__(self) -> str:
        return self.address
