"""The databases of a data directory, and how a file is recognised as one of them.

The header of each file has an `application_id` of its own, so that one database put in the place of another is seen
when it is opened. Files that an earlier version made have none: they are recognised by their tables, and marked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.storage.errors import (
    AccountsDamaged,
    BeliefsDamaged,
    CatalogDamaged,
    PeopleDamaged,
    RegistryDamaged,
    StoreDamaged,
    TicksDamaged,
    UsageDamaged,
)

__all__ = ["ACCOUNTS", "BELIEFS", "CATALOGUE", "KINDS", "PEOPLE", "REGISTRY", "TICKS", "USAGE", "DatabaseKind"]

_IBI: Final = int.from_bytes(b"IBI\0", "big")


@dataclass(frozen=True, slots=True)
class DatabaseKind:
    """What distinguishes one of the databases from others, and what is said when it is damaged."""

    file_name: str
    number: int
    tables: frozenset[str]
    """Tables of its first format: without them it is another database."""
    damaged: type[StoreDamaged]

    @property
    def application_id(self) -> int:
        return _IBI + self.number


CATALOGUE: Final = DatabaseKind("catalogue.sqlite", 1, frozenset({"items", "links"}), CatalogDamaged)
ACCOUNTS: Final = DatabaseKind("accounts.sqlite", 2, frozenset({"tokens"}), AccountsDamaged)
PEOPLE: Final = DatabaseKind("people.sqlite", 3, frozenset({"people", "sessions", "links"}), PeopleDamaged)
REGISTRY: Final = DatabaseKind("registry.sqlite", 4, frozenset({"registrations", "labels"}), RegistryDamaged)
USAGE: Final = DatabaseKind("usage.sqlite", 5, frozenset({"usage"}), UsageDamaged)
TICKS: Final = DatabaseKind("ticks.sqlite", 6, frozenset({"store", "clock", "served"}), TicksDamaged)
BELIEFS: Final = DatabaseKind("beliefs.sqlite", 7, frozenset({"successions", "holdings", "copies"}), BeliefsDamaged)

KINDS: Final = {kind.application_id: kind for kind in (CATALOGUE, ACCOUNTS, PEOPLE, REGISTRY, USAGE, TICKS, BELIEFS)}
