"""Tokens: what a program shows to be let in, as far as a store knows it. The secret itself is nowhere here."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import total_ordering

from ibi.instant import Instant

__all__ = ["Scope", "Token"]


@total_ordering
class Scope(Enum):
    """How much a token allows. Each scope includes those before it: `READ < DEPOSIT < ADMIN`."""

    READ = "read"
    DEPOSIT = "deposit"
    ADMIN = "admin"

    def __str__(self) -> str:
        return self.value

    def __lt__(self, other: Scope) -> bool:
        return _RANK[self] < _RANK[other]


_RANK = {scope: rank for rank, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True)
class Token:
    """One token. Its dates are whole seconds; a date of revocation never goes away again."""

    id: str
    """Public: names the token in lists and logs."""
    scope: Scope
    digest: bytes = field(repr=False)
    """SHA-256 of the secret."""
    created: Instant
    name: str = ""
    """What a person calls it; not necessarily unique."""
    expires: Instant | None = None
    revoked: Instant | None = None

    def is_valid_at(self, now: Instant) -> bool:
        """Whether it was not revoked, at whatever time, and has not expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)
