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


class Scope(Enum):
    """How much a token allows. `READ`, `DEPOSIT`, `EDIT` and `ADMIN` each include those before it; `COPY`, which reads
    the bytes that others do not get and changes nothing, stands apart and includes `READ` alone."""

    READ = "read"
    DEPOSIT = "deposit"
    EDIT = "edit"
    ADMIN = "admin"
    COPY = "copy"

    def __str__(self) -> str:
        return self.value

    def includes(self, other: Scope) -> bool:
        return other in _INCLUDED[self]


_LADDER = (Scope.READ, Scope.DEPOSIT, Scope.EDIT, Scope.ADMIN)
_INCLUDED = {
    **{scope: frozenset(_LADDER[: rank + 1]) for rank, scope in enumerate(_LADDER)},
    Scope.COPY: frozenset({Scope.READ, Scope.COPY}),
}

ROLE_SCOPES = {
    Role.READER: frozenset({Scope.READ}),
    Role.DEPOSITOR: frozenset({Scope.READ, Scope.DEPOSIT}),
    Role.LIBRARIAN: frozenset({Scope.READ, Scope.DEPOSIT, Scope.EDIT, Scope.COPY}),
    Role.ADMIN: frozenset(Scope),
}
"""The scopes that a person's tokens may use: what a token allows is never more than what its person may do."""


_PERSON = "person:"
_SERVICE = "service:"
_OF_TOKEN = "token:"  # noqa: S105 - the kind of an account


def person_account(name: str) -> str:
    """The account of a person."""
    return _PERSON + name


def service_account(name: str) -> str:
    """The account of all tokens of this name that belong to no person."""
    return _SERVICE + name


def shown_account(account: str | None) -> str:
    """An account in words; items without an owner belong to the Archive."""
    if account is None:
        return "the Archive"
    kind, _, name = account.partition(":")
    return f"the token {name}" if kind == "token" else name or account


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
    person: str | None = None
    """The person to whom it belongs, if it was made for one."""

    def is_valid_at(self, now: Instant) -> bool:
        """Whether it has neither been revoked, at any time, nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def account(self) -> str:
        """The account that owns what is deposited with it: that of its person, or else a service account of its name,
        which all tokens of that name share. A token without either has an account of its own."""
        if self.person is not None:
            return person_account(self.person)
        return service_account(self.name) if self.name else _OF_TOKEN + self.id


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks for something to be done."""

    account: str | None
    """None is the Archive itself."""
    scope: Scope
    token: str | None = None
    """The id of the token that was shown."""
    address: str = "command"
    """Where the request came from: an address, or `command` for the data directory itself."""


COMMAND = Actor(None, Scope.ADMIN)
"""A command on the data directory: a user who may write its files may do everything."""
