"""Accounts: people with their roles, and tokens with their scopes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import total_ordering

from ibi.instant import Instant


@total_ordering
class Role(Enum):
    """What a person may do; each role includes those before it."""

    READER = "reader"
    DEPOSITOR = "depositor"
    LIBRARIAN = "librarian"
    ADMIN = "admin"

    def __str__(self) -> str:
        return self.value

    def __lt__(self, other: Role) -> bool:
        return _ROLE_RANK[self] < _ROLE_RANK[other]


_ROLE_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True)
class Person:
    """A person with an account. Without a password only a link signs them in; once `disabled`, nothing does."""

    name: str
    role: Role
    created: Instant
    password_hash: str | None = field(default=None, repr=False)
    disabled: Instant | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that is signed in, found by the SHA-256 of what its cookie holds."""

    digest: bytes = field(repr=False)
    person: str
    created: Instant
    expires: Instant


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A link that signs in as one person, once; found by the SHA-256 of its secret."""

    digest: bytes = field(repr=False)
    person: str
    expires: Instant


@total_ordering
class Scope(Enum):
    """How much a token allows. Each scope includes those before it: `READ < DEPOSIT < ADMIN`."""

    READ = "read"
    DEPOSIT = "deposit"
    ADMIN = "admin"

    def __str__(self) -> str:
        return self.value

    def __lt__(self, other: Scope) -> bool:
        return _SCOPE_RANK[self] < _SCOPE_RANK[other]


_SCOPE_RANK = {scope: rank for rank, scope in enumerate(Scope)}


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
        """Whether it has neither been revoked, at any time, nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)
