"""Where accounts are kept: people with their sessions, and tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ibi.instant import Instant
from ibi.model.account import Person, Session, SignInLink, Token


class People(Protocol):
    """Those of one data directory. Calls come from any thread; every process sees what another has changed."""

    def add(self, person: Person) -> None:
        """Keep somebody new, durably. `ibi.accounts.errors.PersonExists` if there is one of that name, in any case."""

    def change(self, name: str, make: Callable[[Person], Person]) -> Person:
        """Keep of somebody what `make` makes of how they are now, which nobody else changes meanwhile.

        `ibi.accounts.errors.UnknownPerson` if there is nobody of that name; what `make` raises changes nothing.
        """

    def find(self, name: str) -> Person | None:
        """Whoever has this name, in any case of its letters."""

    def list(self) -> tuple[Person, ...]:
        """Everybody, by name."""

    def open_session(self, session: Session) -> None: ...

    def find_session(self, digest: bytes) -> Session | None:
        """The session with this digest, over or not. Quick: it is asked at every page of whoever is signed in."""

    def end_session(self, digest: bytes) -> None: ...

    def end_sessions_of(self, name: str) -> None:
        """Every session of somebody, and every link that is still good: after a change of password, say."""

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
