"""Accounts: people with their roles, and tokens with their scopes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import total_ordering
from hashlib import sha256
from typing import Final, NamedTuple

from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant


@total_ordering
class Role(Enum):
    """The role of a person; each role includes those before it."""

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
    """The name for sign-in and for ownership of items (`person:<name>`): it never changes."""
    role: Role
    created: Instant
    password_hash: str | None = field(default=None, repr=False)
    disabled: Instant | None = None
    shown: str = ""
    """The display name, if it is not the `name`. It may change, and need not be unique."""
    mail: str | None = None
    """The e-mail address, which also works for sign-in. It is unique."""
    language: str | None = None
    """The language of e-mails to them, one of the languages of the pages; None until they signed in or chose one."""

    @property
    def full_name(self) -> str:
        return self.shown or self.name

    @property
    def administers(self) -> bool:
        return self.role is Role.ADMIN and self.disabled is None

    def is_let_in_as(self, known: Person) -> bool:
        """Return whether nothing has changed since they were `known` that ends sessions or links.

        These are the password, the e-mail address, and whether they are disabled.
        """
        now, then = ((each.password_hash, each.mail, each.disabled) for each in (self, known))
        return now == then

    def ends_sessions_of(self, before: Person) -> bool:
        """Return whether they have another password now, or are disabled."""
        return self.password_hash != before.password_hash or (self.disabled is not None and before.disabled is None)


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser, found by the SHA-256 of its cookie's content."""

    digest: bytes = field(repr=False)
    person: str
    created: Instant
    expires: Instant
    network: str = ""
    """The network in which it began; empty if unknown, as in sessions of earlier versions."""
    browser: str = ""
    """The family of the browser, as in `Firefox, Linux`."""

    @property
    def id(self) -> str:
        """Public: names the session in lists and forms, and does not reveal the cookie."""
        return sha256(b"session\0" + self.digest).hexdigest()[:16]


class LinkUse(Enum):
    """The purpose of a link, sent or handed over."""

    SIGN_IN = "sign-in"
    PASSWORD = "password"  # noqa: S105 - a new one may be chosen
    SECOND_FACTOR = "second-factor"
    """Not a link: a form carries this from the right password to the code."""


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A link that signs in one person, once; found by the SHA-256 of its secret."""

    digest: bytes = field(repr=False)
    person: str
    expires: Instant
    use: LinkUse = LinkUse.SIGN_IN


@dataclass(frozen=True, slots=True)
class Invitation:
    """A link with which a person creates their own account, once; found by the SHA-256 of its secret."""

    digest: bytes = field(repr=False)
    mail: str
    role: Role
    created: Instant
    expires: Instant
    invited_by: str | None = None
    """The account that invites; None is a command on the data directory."""
    shown: str = ""
    """The name that the inviting person entered for them."""

    @property
    def id(self) -> str:
        """Public: names the invitation in lists and forms."""
        return sha256(b"invitation\0" + self.digest).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class ProviderClaims:
    """The claims of a provider about a person who has signed in there."""

    issuer: str
    subject: str
    name: str = ""
    mail: str | None = None
    """None unless the provider has verified it."""


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The time-based codes of a person (RFC 6238), and the recovery codes for a lost device."""

    secret: bytes = field(repr=False)
    confirmed: Instant | None = None
    """The time since which a code is required; None until the first right code shows that the device has the secret."""
    last_step: int = 0
    """The period of the last accepted code: none is accepted twice."""
    recovery: frozenset[bytes] = field(default=frozenset(), repr=False)
    """SHA-256 of the unused recovery codes."""


class Scope(Enum):
    """The permissions of a token.

    `READ`, `DEPOSIT`, `EDIT` and `ADMIN` each include those before it. `COPY` stands apart and includes only `READ`: it
    reads bytes that are not public, and changes nothing.
    """

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
"""The scopes that a person's tokens may use: a token never allows more than its person's role."""

ROLE_SCOPE = {
    Role.READER: Scope.READ,
    Role.DEPOSITOR: Scope.DEPOSIT,
    Role.LIBRARIAN: Scope.EDIT,
    Role.ADMIN: Scope.ADMIN,
}
"""The scope of a signed-in person."""


_PERSON = "person:"
_SERVICE = "service:"
_OF_TOKEN = "token:"  # noqa: S105 - the kind of an account


def person_account(name: str) -> str:
    """Return the account of a person."""
    return _PERSON + name


def service_account(name: str) -> str:
    """Return the account of all tokens of this name that belong to no person."""
    return _SERVICE + name


def shown_account(account: str | None) -> str:
    """Return an account in words; items without an owner belong to the Archive."""
    if account is None:
        return "the Archive"
    kind, _, name = account.partition(":")
    return f"the token {name}" if kind == "token" else name or account


@dataclass(frozen=True, slots=True)
class Token:
    """One token. Its dates are whole seconds; a date of revocation is never removed."""

    id: str
    """Public: names the token in lists and logs."""
    scope: Scope
    digest: bytes = field(repr=False)
    """SHA-256 of the secret."""
    created: Instant
    name: str = ""
    """A name for people; not necessarily unique."""
    expires: Instant | None = None
    revoked: Instant | None = None
    person: str | None = None
    """The person to whom it belongs, if it was made for one."""

    def is_valid_at(self, now: Instant) -> bool:
        """Return whether it has neither been revoked, at any time, nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def account(self) -> str:
        """The account that owns items deposited with it: that of its person, or else a service account of its name.

        All tokens of one name share that service account. A token without either has an account of its own.
        """
        if self.person is not None:
            return person_account(self.person)
        return service_account(self.name) if self.name else _OF_TOKEN + self.id


@dataclass(frozen=True, slots=True)
class Actor:
    """The origin of a request."""

    account: str | None
    """None is the Archive itself."""
    scope: Scope
    token: str | None = None
    """The id of the token that was presented."""
    address: str = "command"
    """The address of the client, or `command` for a command on the data directory."""


COMMAND = Actor(None, Scope.ADMIN)
"""A command on the data directory: a user who may write its files may do everything."""


# One line of the audit log is a JSON object in ASCII. It has the account and token, the act, the item, token or person,
# the time and the client address. It also has the SHA-256 of the line before it, so that no line can be changed,
# removed or inserted without breaking the chain. It never holds a secret: tokens appear by their public ids.

GENESIS: Final = "0" * 64
"""The hash of the preceding line in the first line."""
LOG_BROKEN: Final = "log-broken"
"""The act of a line that says that the log before it was changed: lines were lost or replaced."""
_MOST_LINES: Final = 10**18
_MOST_DETAIL: Final = 1000
_WRITTEN: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class AuditBroken(IbiError):
    """Line {line} of the audit log is not what was written there: {reason}. Compare it with a backup: the file is
    damaged, or another program has changed it."""

    code = "audit-broken"
    kind = ErrorKind.OUT_OF_ORDER


class AuditIncomplete(IbiError):
    """The audit log is not whole: {reason}. Compare it with a backup: lines were removed or replaced by another
    program, or lost when the machine lost its power."""

    code = "audit-incomplete"
    kind = ErrorKind.OUT_OF_ORDER


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change. `account` is None for the Archive itself and for commands on the data directory."""

    at: Instant
    act: str
    subject: str
    """The repository name of an item, or `token:`, `person:` or `key:` with an identifier."""
    account: str | None = None
    token: str | None = None
    address: str = "command"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditPosition:
    """A known position of the log: the number of lines, and the hash of the last."""

    number: int = 0
    head: str = GENESIS

    def after(self, line: bytes) -> AuditPosition:
        return AuditPosition(self.number + 1, sha256(line).hexdigest())


def encode_entry(entry: AuditEntry, position: AuditPosition) -> bytes:
    """Return the line after that position, without its line end."""
    fields = {
        "number": position.number + 1,
        "at": str(entry.at),
        "account": entry.account,
        "token": entry.token,
        "from": entry.address,
        "act": entry.act,
        "subject": entry.subject,
        "detail": entry.detail[:_MOST_DETAIL],
        "previous": position.head,
    }
    return _WRITTEN(fields).encode("ascii")


def decode_entry(line: bytes, number: int) -> tuple[AuditEntry, AuditPosition]:
    """Return the entry in a line, and the position before it. Raise `AuditBroken` for line `number` if it has none."""
    try:
        found = json.loads(line)
        if type(found["number"]) is not int or not 0 < found["number"] <= _MOST_LINES:
            raise ValueError("number")
        before = AuditPosition(found["number"] - 1, str(found["previous"]))
        entry = AuditEntry(
            Instant.parse(found["at"]),
            str(found["act"]),
            str(found["subject"]),
            None if found["account"] is None else str(found["account"]),
            None if found["token"] is None else str(found["token"]),
            str(found["from"]),
            str(found["detail"]),
        )
    # A line may hold anything: numbers too large, brackets too deep, invalid dates.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IbiError) as error:
        raise AuditBroken(line=number, reason=f"it cannot be read ({type(error).__name__})") from None
    return entry, before


def verify_chain(lines: Iterable[bytes], known: AuditPosition | None = None) -> Iterator[AuditEntry]:
    """Yield every entry, each checked against the line before it.

    Raise `AuditBroken` for the first changed or missing line, perhaps after its entry was yielded. No line vouches for
    the last one: pass the position of the end as `known`, if it is known.
    """
    position = AuditPosition()
    if known is not None and not known.number and known != position:
        raise AuditBroken(line=1, reason="what says where the log ends was changed")
    rest = iter(lines)
    for line in rest:
        number = position.number + 1
        entry, before = decode_entry(line, number)
        if before != position:
            raise _find_break(position, line, next(rest, None), known)
        position = position.after(line)
        if known is not None and known.number == number and known.head != position.head:
            raise AuditBroken(line=number, reason="it was changed, or lines before it are others")
        yield entry
    if known is not None and known.number > position.number:
        raise AuditBroken(line=known.number, reason=f"the log ends after line {position.number}")


def _find_break(reached: AuditPosition, line: bytes, following: bytes | None, end: AuditPosition | None) -> AuditBroken:
    """Return the error for a line that does not follow the position reached.

    The line after it, or for the last line the end of the log, shows whether it or the line before it was changed.
    """
    after, (_, said) = reached.after(line), decode_entry(line, reached.number + 1)
    if said.number != reached.number:
        return AuditBroken(line=after.number, reason=f"it is missing, and in its place is line {said.number + 1}")
    if following is not None:
        with suppress(AuditBroken):
            _, end = decode_entry(following, after.number + 1)
    if not reached.number or (end is not None and end.number == after.number and end != after):
        return AuditBroken(line=after.number, reason="it was changed")
    return AuditBroken(line=reached.number, reason=f"line {after.number} has another hash of it")


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """A filter for lines of the audit log: all given values must match."""

    who: str | None = None
    """An account (`person:ana`, or `ana` for short), the id of a token, or an address."""
    act: str | None = None
    subject: str | None = None
    since: Instant | None = None
    until: Instant | None = None
    """The last second, inclusive."""

    def is_met_by(self, entry: AuditEntry) -> bool:
        account = entry.account or ""
        return (
            self.who in (None, account, account.partition(":")[2] or None, entry.token, entry.address)
            and self.act in (None, entry.act)
            and self.subject in (None, entry.subject)
            and (self.since is None or entry.at.seconds >= self.since.seconds)
            and (self.until is None or entry.at.seconds <= self.until.seconds)
        )

    @property
    def words(self) -> tuple[bytes, ...]:
        """Texts that every matching line contains, as lines encode them; the longest first.

        Most lines are skipped by them without being parsed.
        """
        given = (text for text in (self.who, self.act, self.subject) if text)
        return tuple(sorted((_WRITTEN(text)[1:-1].encode("ascii") for text in given), key=len, reverse=True))


class AuditLine(NamedTuple):
    """A line of the log for display; without an `entry` it cannot be parsed."""

    number: int
    """0 if it is not known."""
    entry: AuditEntry | None


class AuditPage(NamedTuple):
    """Lines, the newest first. `older` is the place of the next page; None if there is nothing before."""

    lines: tuple[AuditLine, ...]
    older: int | None
    reached: Instant | None
    """The time of the oldest line that was scanned; None if there was none."""


class AuditCheck(NamedTuple):
    """The result of a verification of the whole log."""

    at: Instant
    lines: int
    problem: str | None
    """The damage; None if the log is intact."""
