"""Where accounts are kept: people with their sessions, and tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ibi.instant import Instant
from ibi.model.account import Person, Session, SignInLink, Token


class People(Protocol):
    """The people of one data directory. Calls come from any thread; every process sees what another has changed."""

    prompt: bool
    """Whether an event loop may make these calls: a look-up takes tens of microseconds, a change some milliseconds."""

    def add(self, person: Person) -> None:
        """Keep a new person, durably. `ibi.accounts.errors.PersonExists` if the name is taken, in any case of its
        letters."""

    def change(self, name: str, make: Callable[[Person], Person]) -> Person:
        """Replace a person by what `make` makes of them; no other change comes in between.

        `ibi.accounts.errors.UnknownPerson` if the name is unknown; what `make` raises changes nothing.
        """

    def find(self, name: str) -> Person | None:
        """The person of this name, in any case of its letters."""

    def list(self) -> tuple[Person, ...]:
        """All people, by name."""

    def open_session(self, session: Session) -> None: ...

    def find_session(self, digest: bytes) -> Session | None:
        """The session with this digest, over or not. Quick: it is asked at every page of a person who is signed in."""

    def end_session(self, digest: bytes) -> None: ...

    def end_sessions_of(self, name: str) -> None:
        """End every session of a person, and every link that is still good: after a change of password, say."""

    def add_link(self, link: SignInLink) -> None: ...

    def find_link(self, digest: bytes) -> SignInLink | None:
        """The link with this digest, over or not; it stays."""

    def take_link(self, digest: bytes) -> SignInLink | None:
        """The link with this digest, which is gone then: of two who open it at once, one gets it."""

    def sweep(self, now: Instant) -> None:
        """Forget sessions and links that are over."""

    def close(self) -> None: ...


class Tokens(Protocol):
    """The tokens of one data directory. Calls come from any thread.

    What one process has added or revoked, every other sees with its next call: nothing is remembered between calls.
    """

    prompt: bool
    """Whether `find` takes tens of microseconds, so that an event loop may make it."""

    def add(self, token: Token) -> None:
        """Keep a new token, durably. `ibi.accounts.errors.TokenExists` if its id is taken: the first one stays."""

    def find(self, identity: str) -> Token | None:
        """The token with this id, valid or not; None if there is none. Quick: it is asked at every request."""

    def list(self) -> tuple[Token, ...]:
        """Every token, revoked ones too, by date of creation and then by id."""

    def revoke(self, identity: str, at: Instant) -> Token | None:
        """Revoke the token with this id, durably: the token as it is then, None if there is none.

        One that is revoked already keeps its date.
        """

    def close(self) -> None: ...
