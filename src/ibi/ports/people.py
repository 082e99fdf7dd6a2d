"""Where people, their sessions and their sign-in links are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ibi.instant import Instant
from ibi.model.person import Person, Session, SignInLink

__all__ = ["People"]


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
