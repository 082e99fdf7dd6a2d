"""The access of readers to the bytes of an item. Its metadata is public."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from ibi.items.model.description_values import checked_text
from ibi.standard.instant import Instant
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork, network, unmap_address

if TYPE_CHECKING:
    pass

MOST_NETWORKS: Final = 1000
"""Most networks from which an item can be seen: every request for it checks them all."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """Public by default; readers without access are sent to the item's metadata."""

    networks: tuple[IpNetwork, ...] = ()
    """The networks of readers with access; empty for all readers."""
    embargo: Instant | None = None
    """No reader gets the bytes before this time."""
    listing: bool = True
    """True if the list of files may be shown."""
    embargo_reason: str | None = None
    """The reason for the embargo, for readers."""

    PUBLIC: ClassVar[Visibility]

    def __post_init__(self) -> None:
        if self.embargo_reason is not None:
            checked_text(self.embargo_reason, "embargo_reason")

    @property
    def is_public(self) -> bool:
        return not self.networks and self.embargo is None

    def is_embargoed(self, now: Instant) -> bool:
        return self.embargo is not None and now < self.embargo

    def is_open_to(self, addresses: Iterable[IpAddress], now: Instant) -> bool:
        """Return whether a reader at any of these addresses may see the bytes at that time."""
        if self.is_embargoed(now):
            return False
        return not self.networks or _is_any_within(map(unmap_address, addresses), self.networks)

    def and_also(self, other: Visibility) -> Visibility:
        """Return the intersection: the later embargo, the networks that both have, a list if both have one."""
        embargo = max((each for each in (self.embargo, other.embargo) if each is not None), default=None)
        networks = _common(self.networks, other.networks) if self.networks and other.networks else None
        return Visibility(
            self.networks or other.networks if networks is None else networks,
            embargo,
            self.listing and other.listing,
            self.embargo_reason,
        )

    def shows_more_than(self, before: Visibility, now: Instant) -> bool:
        """Return whether some reader may see more than with `before`, now or later."""
        if self.listing and not before.listing:
            return True
        if before.embargo is not None and before.is_embargoed(now) and (self.embargo or now) < before.embargo:
            return True
        return bool(before.networks) and not _is_all_within(self.networks, before.networks)


Visibility.PUBLIC = Visibility()


def _common(networks: Iterable[IpNetwork], others: tuple[IpNetwork, ...]) -> tuple[IpNetwork, ...]:
    """Return the addresses that are in both; if there are none, a network that no reader is in."""
    found: list[IpNetwork] = []
    for one in networks:
        for other in others:
            if _is_covered(one, (other,)):
                found.append(one)
            elif _is_covered(other, (one,)):
                found.append(other)
    return tuple(dict.fromkeys(found)) or (network("0.0.0.0/32"),)


def _is_all_within(networks: Iterable[IpNetwork], others: Iterable[IpNetwork]) -> bool:
    """Return whether every address of these networks is in the others; no networks stand for all addresses."""
    found, known = tuple(networks), tuple(others)
    return bool(found) and all(_is_covered(each, known) for each in found)


def _is_covered(network: IpNetwork, others: tuple[IpNetwork, ...]) -> bool:
    """Return whether one of the others, or several of them together, cover the network."""
    import ipaddress

    if network.version == 4:
        return any(
            network.subnet_of(each) for each in ipaddress.collapse_addresses(n for n in others if n.version == 4)
        )
    return any(network.subnet_of(each) for each in ipaddress.collapse_addresses(n for n in others if n.version == 6))


def _is_any_within(addresses: Iterable[IpAddress], networks: Iterable[IpNetwork]) -> bool:
    """Return whether an address is in a network. Networks are grouped by prefix length: there may be a thousand."""
    begins: dict[tuple[int, int], set[int]] = {}
    for each in networks:
        rest = each.max_prefixlen - each.prefixlen
        begins.setdefault((each.version, rest), set()).add(int(each.network_address) >> rest)
    return any(
        version == address.version and int(address) >> rest in found
        for address in addresses
        for (version, rest), found in begins.items()
    )
