"""Stores of accounts (people with their sessions, and tokens), and the audit log of all changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ibi.people.model.account import (
    AuditCheck,
    AuditEntry,
    AuditPage,
    AuditQuery,
    Invitation,
    Person,
    ProviderClaims,
    SecondFactor,
    Session,
    SignInLink,
    Token,
)
from ibi.standard.instant import Instant


class People(Protocol):
    """The people of one data directory. Calls come from any thread; every process sees the changes of the others."""

    prompt: bool
    """True if an event loop may make these calls: a look-up takes tens of microseconds, a change some milliseconds."""

    def add(self, person: Person) -> None:
        """Add a new person durably.

        Raise `ibi.people.rules.errors.PersonExists` if the name is taken, in any spelling
        (`ibi.people.rules.names.fold_name`). A name is also taken if it is the e-mail address of another person, or of
        an invited one. Raise `MailTaken` if the address is taken.
        """

    def change(self, name: str, make: Callable[[Person], Person], *, keep_admin: bool = False) -> Person:
        """Replace a person by the result of `make`. No other change comes in between.

        Their name and the date of the account stay. The same transaction ends:

        - all sessions and links of a person who gets another password or is disabled;
        - links to choose a password, if the address changes;
        - invitations by a person who is disabled or no longer an administrator.

        Raise `ibi.people.rules.errors.UnknownPerson` if the name is unknown, `MailTaken` if another person has the
        address. With `keep_admin`, raise `LastAdmin` if no administrator with a password or an account at a provider
        would remain. These errors, and those of `make`, change nothing.
        """

    def find(self, name: str) -> Person | None:
        """Return the person with this name, in any spelling."""

    def find_by_mail(self, mail: str) -> Person | None:
        """Return the person with this e-mail address, ignoring case."""

    def list(self) -> tuple[Person, ...]:
        """Return all people, by name."""

    def open_session(self, session: Session, person: Person) -> bool:
        """Add a session of a person if `Person.is_let_in_as` still holds for the person as authenticated.

        Return whether it was added.
        """

    def find_session(self, digest: bytes) -> Session | None:
        """Return the session with this digest, expired or not. Fast: every page for a signed-in person calls it."""

    def sessions_of(self, name: str) -> tuple[Session, ...]:
        """Return the sessions of a person, expired or not, the latest first."""

    def end_session(self, digest: bytes) -> None: ...

    def add_link(self, link: SignInLink, person: Person) -> bool:
        """Add a link for a person, on the same condition as a session. Return whether it was added."""

    def find_link(self, digest: bytes) -> SignInLink | None:
        """Return the link with this digest, expired or not; it stays."""

    def take_link(self, digest: bytes) -> SignInLink | None:
        """Remove and return the link with this digest: if two callers open it at once, one gets it."""

    def invite(self, invitation: Invitation) -> None:
        """Add an invitation. It voids an earlier one to the same address."""

    def find_invitation(self, digest: bytes) -> Invitation | None:
        """Return the invitation with this digest, expired or not."""

    def invitations(self) -> tuple[Invitation, ...]:
        """Return all invitations, the oldest first."""

    def accept(self, digest: bytes, person: Person) -> bool:
        """Add the person in exchange for the invitation, which is removed: of two concurrent callers, one succeeds.

        Return False if there is no such invitation. Otherwise raise as `add`.
        """

    def withdraw(self, digest: bytes) -> bool:
        """Delete an invitation. Return whether there was one."""

    def sweep(self, now: Instant) -> None:
        """Delete expired sessions, links and invitations."""

    def close(self) -> None: ...


class SignInMeans(Protocol):
    """The means of sign-in besides passwords: accounts at a provider, and second factors.

    They are stored beside `People`, in the same data directory.
    """

    prompt: bool

    def find_identity(self, issuer: str, subject: str) -> str | None:
        """Return the name of the person with that account at a provider."""

    def identities_of(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return issuer and subject of each account of a person at a provider."""

    def add_identity(self, issuer: str, subject: str, name: str) -> bool:
        """Record the owner of that account. Return False if it belongs to another person."""

    def drop_identity(self, issuer: str, subject: str, name: str) -> None: ...

    def find_factor(self, name: str) -> SecondFactor | None: ...

    def change_factor(self, name: str, make: Callable[[SecondFactor | None], SecondFactor | None]) -> None:
        """Replace a person's second factor by the result of `make`; None stands for no factor.

        No other change comes in between. If `make` raises, nothing changes.
        """


class IdentityProvider(Protocol):
    """A provider that authenticates people who sign in elsewhere (OpenID Connect). Calls wait for the network.

    Raise `ibi.people.rules.errors.ProviderAway` if it cannot be reached, `ProviderRefused` for a refusal or a wrong
    answer.
    """

    name: str

    @property
    def issuer(self) -> str:
        """The provider's own identifier."""

    @property
    def names_itself(self) -> bool:
        """True if its answers to browsers always name their issuer (RFC 9207)."""

    def authorization_url(self, redirect_uri: str, state: str, nonce: str, challenge: str) -> str:
        """Return the URL at which a browser signs in."""

    def redeem(self, code: str, redirect_uri: str, verifier: str, nonce: str, now: int) -> ProviderClaims:
        """Return the identity of the person who signed in, for the code that the browser brought back."""


class Tokens(Protocol):
    """The tokens of one data directory. Calls come from any thread.

    Additions and revocations by one process are visible to every other process with its next call: there is no cache.
    """

    prompt: bool
    """True if `find` takes tens of microseconds, so that an event loop may call it."""

    def add(self, token: Token, check: Callable[[tuple[Token, ...]], None] | None = None) -> None:
        """Add a new token durably. Raise `ibi.people.rules.errors.TokenExists` if its id is taken: the first token
        stays.

        `check` gets the tokens that its person has; none is added while it runs. If it raises, nothing is added.
        """

    def find(self, identity: str) -> Token | None:
        """Return the token with this id, valid or not; None if there is none. Fast: every request calls it."""

    def list(self) -> tuple[Token, ...]:
        """Return every token, including revoked ones, by date of creation and then by id."""

    def list_of(self, person: str) -> tuple[Token, ...]:
        """Return the tokens of one person, in the same order."""

    def revoke(self, identity: str, at: Instant) -> Token | None:
        """Revoke the token with this id durably. Return the token in its new state, None if there is none.

        A token that is revoked already keeps its date.
        """

    def close(self) -> None: ...


class AuditLog(Protocol):
    """The audit log of one data directory. Calls come from any thread; several processes may write.

    An event loop never calls it.
    """

    def append(self, entries: Sequence[AuditEntry]) -> None:
        """Append lines in this order, without lines of others between them.

        They survive the death of this process at once, and a crash of the machine moments later: callers do not wait
        for the disk. The lines describe completed changes. So lines that the disk refuses are kept in memory and
        written with the next ones, or by `close`. Raise `StorageError` if there are too many of these.

        If lines at the end of the log are missing or changed, a line of the act `ibi.people.model.account.LOG_BROKEN`
        that says so is written before them.
        """

    def watch(self, on_written: Callable[[], object]) -> None:
        """Register a callback for the first lines after each `sync`; it must be fast."""

    def sync(self) -> None:
        """Flush all added lines to disk, including lines that it refused before. Raise `StorageError` if that fails."""

    def entries(self) -> Iterator[AuditEntry]:
        """Yield every entry, the oldest first.

        Raise `AuditBroken` where the chain is broken. After the last entry, raise `AuditIncomplete` if the end of the
        log cannot be verified, or a log that existed is gone.

        Entries of the act `LOG_BROKEN` are included: a log that has one is not intact.
        """

    def was_begun(self) -> bool:
        """Return whether a log is known to have existed. A log of an earlier version counts only after an append."""

    def close(self) -> None:
        """Wait until all is on disk. Closing again does nothing."""


class AuditTrail(Protocol):
    """Read access to the audit log of one data directory. Calls block, from any thread; nothing here changes a line."""

    def page(self, query: AuditQuery, most: int, before: int | None = None) -> AuditPage:
        """Return at most `most` matching lines, the newest first, from the place `before` of an earlier page.

        Each call reads a bounded amount. A page may be short or empty although older lines match.
        """

    def export(self, query: AuditQuery) -> Iterator[bytes]:
        """Yield all matching lines as they are in the log, the oldest first, some whole lines at a time."""

    def verify(self, now: Callable[[], Instant]) -> AuditCheck | None:
        """Verify the log from its first line, and record the result. Return None if another caller is doing so."""

    def is_being_verified(self) -> bool: ...

    def last_check(self) -> AuditCheck | None:
        """Return the last result, of any process; None if the log was never verified this way."""
