"""People in memory."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from ibi.accounts.errors import PersonExists, UnknownPerson
from ibi.instant import Instant
from ibi.model.account import Person, Session, SignInLink

__all__ = ["MemoryPeople"]


class MemoryPeople:
    """The port `People` without a disk."""

    prompt = True

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}
        self._sessions: dict[bytes, Session] = {}
        self._links: dict[bytes, SignInLink] = {}
        self._lock = Lock()

    def add(self, person: Person) -> None:
        with self._lock:
            if person.name.lower() in self._people:
                raise PersonExists(name=person.name)
            self._people[person.name.lower()] = person

    def change(self, name: str, make: Callable[[Person], Person]) -> Person:
        with self._lock:
            before = self._people.get(name.lower())
            if before is None:
                raise UnknownPerson(name=name)
            after = self._people[name.lower()] = make(before)
        return after

    def find(self, name: str) -> Person | None:
        return self._people.get(name.lower())

    def list(self) -> tuple[Person, ...]:
        with self._lock:
            return tuple(sorted(self._people.values(), key=lambda person: person.name.lower()))

    def open_session(self, session: Session) -> None:
        self._sessions[session.digest] = session

    def find_session(self, digest: bytes) -> Session | None:
        return self._sessions.get(digest)

    def end_session(self, digest: bytes) -> None:
        self._sessions.pop(digest, None)

    def end_sessions_of(self, name: str) -> None:
        with self._lock:
            name = name.lower()
            self._sessions = {key: each for key, each in self._sessions.items() if each.person.lower() != name}
            self._links = {key: each for key, each in self._links.items() if each.person.lower() != name}

    def add_link(self, link: SignInLink) -> None:
        self._links[link.digest] = link

    def find_link(self, digest: bytes) -> SignInLink | None:
        return self._links.get(digest)

    def take_link(self, digest: bytes) -> SignInLink | None:
        return self._links.pop(digest, None)

    def sweep(self, now: Instant) -> None:
        with self._lock:
            self._sessions = {key: each for key, each in self._sessions.items() if each.expires > now}
            self._links = {key: each for key, each in self._links.items() if each.expires > now}

    def close(self) -> None:
        """Nothing to let go of."""
