"""People who sign in, and the sessions they are signed in by. Passwords and secrets are nowhere here, only hashes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import total_ordering

from ibi.instant import Instant

__all__ = ["Person", "Role", "Session", "SignInLink"]


@total_ordering
class Role(Enum):
    """What somebody may do; each role includes those before it."""

    READER = "reader"
    DEPOSITOR = "depositor"
    LIBRARIAN = "librarian"
    ADMIN = "admin"

    def __str__(self) -> str:
        return self.value

    def __lt__(self, other: Role) -> bool:
        return _RANK[self] < _RANK[other]


_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an account. Without a password only a link signs in; once `disabled`, nothing does."""

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
    """A link that signs in whoever opens it, once, found by the SHA-256 of its secret."""

    digest: bytes = field(repr=False)
    person: str
    expires: Instant
