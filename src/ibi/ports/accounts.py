"""Where accounts are kept: people with their sessions, and tokens; and the log of who changed what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ibi.instant import Instant
from ibi.model.account import (
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


class People(Protocol):
    """The people of one data directory. Calls come from any thread; every process sees what another has changed."""

    prompt: bool
    """Whether an event loop may make these calls: a look-up takes tens of microseconds, a change some milliseconds."""

    def add(self, person: Person) -> None:
        """Keep a new person, durably. `ibi.accounts.errors.PersonExists` if the name is taken, in any spelling
        (`ibi.accounts.names.fold_name`), also as an e-mail address, that of another person who is invited included;
        `MailTaken` if the address is."""

    def change(self, name: str, make: Callable[[Person], Person], *, keep_admin: bool = False) -> Person:
        """Replace a person by what `make` makes of them; no other change comes in between.

        Their name and the date of the account stay. With the change, and not after it, there end: all sessions and
        links of a person who gets another password or is disabled; links to choose a password of one whose address
        changes; invitations by one who is no administrator any more, or disabled.

        `ibi.accounts.errors.UnknownPerson` if the name is unknown, `MailTaken` if another person has the address; with
        `keep_admin`, `LastAdmin` if it leaves no administrator with a password or an account at a provider. These, and
        what `make` raises, change nothing.
        """

    def find(self, name: str) -> Person | None:
        """The person of this name, in any spelling."""

    def find_by_mail(self, mail: str) -> Person | None:
        """The person of this e-mail address, in any case of its letters."""

    def list(self) -> tuple[Person, ...]:
        """All people, by name."""

    def open_session(self, session: Session, person: Person) -> bool:
        """Keep a session of a person, if they are still let in as they were known when they proved who they are
        (`Person.is_let_in_as`); whether it is kept."""

    def find_session(self, digest: bytes) -> Session | None:
        """The session with this digest, over or not. Quick: it is asked at every page of a person who is signed in."""

    def sessions_of(self, name: str) -> tuple[Session, ...]:
        """The sessions of a person, over or not, the latest first."""

    def end_session(self, digest: bytes) -> None: ...

    def add_link(self, link: SignInLink, person: Person) -> bool:
        """Keep a link for a person, on the same condition as a session; whether it is kept."""

    def find_link(self, digest: bytes) -> SignInLink | None:
        """The link with this digest, over or not; it stays."""

    def take_link(self, digest: bytes) -> SignInLink | None:
        """The link with this digest, which is gone then: of two who open it at once, one gets it."""

    def invite(self, invitation: Invitation) -> None:
        """Keep an invitation; an earlier one to the same address is void then."""

    def find_invitation(self, digest: bytes) -> Invitation | None:
        """The invitation with this digest, over or not."""

    def invitations(self) -> tuple[Invitation, ...]:
        """All invitations, the oldest first."""

    def accept(self, digest: bytes, person: Person) -> bool:
        """Add the person in exchange for the invitation, which is gone then: of two who accept it at once, one gets
        the account. False if there is no such invitation; otherwise as `add`."""

    def withdraw(self, digest: bytes) -> bool:
        """Forget an invitation; whether there was one."""

    def sweep(self, now: Instant) -> None:
        """Forget sessions, links and invitations that are over."""

    def close(self) -> None: ...


class SignInMeans(Protocol):
    """What people sign in with besides passwords: accounts at a provider, and second factors. Beside `People`, in the
    same data directory."""

    prompt: bool

    def find_identity(self, issuer: str, subject: str) -> str | None:
        """The name of the person to whom an account at a provider belongs."""

    def identities_of(self, name: str) -> tuple[tuple[str, str], ...]:
        """Issuer and subject of each account of a person at a provider."""

    def add_identity(self, issuer: str, subject: str, name: str) -> bool:
        """Note whose account that is; False if it is another person's."""

    def drop_identity(self, issuer: str, subject: str, name: str) -> None: ...

    def find_factor(self, name: str) -> SecondFactor | None: ...

    def change_factor(self, name: str, make: Callable[[SecondFactor | None], SecondFactor | None]) -> None:
        """Replace a person's second factor by what `make` makes of it, None for none; no other change comes in
        between, and what `make` raises changes nothing."""


class IdentityProvider(Protocol):
    """Who vouches for people who sign in elsewhere (OpenID Connect). Calls wait for the network.

    `ibi.accounts.errors.ProviderAway` if it cannot be reached, `ProviderRefused` for what it refuses or says wrongly.
    """

    name: str

    @property
    def issuer(self) -> str:
        """How it names itself."""

    @property
    def names_itself(self) -> bool:
        """Whether its answers to browsers always say whose they are (RFC 9207)."""

    def authorization_url(self, redirect_uri: str, state: str, nonce: str, challenge: str) -> str:
        """Where a browser goes to sign in."""

    def redeem(self, code: str, redirect_uri: str, verifier: str, nonce: str, now: int) -> ProviderClaims:
        """Who has signed in, for the code that the browser came back with."""


class Tokens(Protocol):
    """The tokens of one data directory. Calls come from any thread.

    What one process has added or revoked, every other sees with its next call: nothing is remembered between calls.
    """

    prompt: bool
    """Whether `find` takes tens of microseconds, so that an event loop may make it."""

    def add(self, token: Token, check: Callable[[tuple[Token, ...]], None] | None = None) -> None:
        """Keep a new token, durably. `ibi.accounts.errors.TokenExists` if its id is taken: the first one stays. `check`
        gets the tokens that its person has, and none is added until it is done; what it raises adds nothing."""

    def find(self, identity: str) -> Token | None:
        """The token with this id, valid or not; None if there is none. Quick: it is asked at every request."""

    def list(self) -> tuple[Token, ...]:
        """Every token, revoked ones too, by date of creation and then by id."""

    def list_of(self, person: str) -> tuple[Token, ...]:
        """Those of one person, in the same order."""

    def revoke(self, identity: str, at: Instant) -> Token | None:
        """Revoke the token with this id, durably: the token as it is then, None if there is none.

        One that is revoked already keeps its date.
        """

    def close(self) -> None: ...


# --- the audit log ----------------------------------------------------------------------------------------------------

# Where it is written down who changed what.


class AuditLog(Protocol):
    """The audit log of one data directory. Calls come from any thread; several processes may write.

    Never called on an event loop.
    """

    def append(self, entries: Sequence[AuditEntry]) -> None:
        """Add lines, in this order and side by side. They survive the death of this process at once, and that of the
        machine moments later: callers do not wait for the disk. What they tell of was done, so that lines which the
        disk refuses are kept in memory and added with the next ones, or by `close`; a `StorageError` if there are too
        many of these.

        If the log is not as it was left (lines at its end are missing or others), a line of the act
        `ibi.model.account.LOG_BROKEN` that says so comes before them."""

    def watch(self, on_written: Callable[[], object]) -> None:
        """Have it called with the first lines after each `sync`; it must be quick."""

    def sync(self) -> None:
        """Have the disk keep what was added, lines among it that it has refused before. A `StorageError` if it does
        not."""

    def entries(self) -> Iterator[AuditEntry]:
        """Every entry, the oldest first; where the chain is broken, `AuditBroken`; after the last one,
        `AuditIncomplete` if it cannot be told where the log ended, or a log that was begun is gone.

        Entries of the act `LOG_BROKEN` are among them: a log that has one is not whole."""

    def was_begun(self) -> bool:
        """Whether there is known to have been a log once. One of an earlier version is not, before it is added to."""

    def close(self) -> None:
        """Wait until all is on the disk. To close again does nothing."""


class AuditTrail(Protocol):
    """The audit log of one data directory, to be read. Calls block, from any thread; nothing here changes a line."""

    def page(self, query: AuditQuery, most: int, before: int | None = None) -> AuditPage:
        """At most so many lines that are wanted, the newest first, from the place `before` on, which an earlier page
        told. What is read is bounded: a page may be short, or empty, though there are older lines that are wanted."""

    def export(self, query: AuditQuery) -> Iterator[bytes]:
        """All lines that are wanted, as they are in the log, the oldest first: some whole lines at a time."""

    def verify(self, now: Callable[[], Instant]) -> AuditCheck | None:
        """Read the log from its first line, and keep the outcome; None if another does so at the moment."""

    def is_being_verified(self) -> bool: ...

    def last_check(self) -> AuditCheck | None:
        """The last outcome, of any process; None if the log was never verified this way."""
