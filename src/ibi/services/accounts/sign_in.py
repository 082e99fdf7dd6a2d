"""Signing in and out: passwords are compared in threads, guessing is slowed down, each sign-in makes a session."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, TypeVar

from ibi.accounts.errors import BadSignIn
from ibi.accounts.sign_in import RANDOM_BYTES, check_password, find_signed_in, new_session, person_of_link, use_link
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.model.account import Person, Session
from ibi.ports.accounts import People
from ibi.ports.clocks import Clocks
from ibi.services.accounts.hashing import SecretHasher
from ibi.services.limits import Attempts
from ibi.services.promptness import ask

MOST_WAITING: Final = 32
"""Passwords that are compared or wait for it: some seconds of work."""

T = TypeVar("T")
_Subjects: TypeAlias = tuple[tuple[str, str], ...]


class TooManyGuesses(IbiError):
    """There were too many wrong guesses: wait {retry_after} seconds and try again."""

    code = "too-many-guesses"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A signed-in browser. `text` is the value of its cookie."""

    text: str = field(repr=False)
    person: Person
    session: Session


class SignIn:
    """Signs people in and out, for the pages."""

    def __init__(
        self,
        people: People,
        clocks: Clocks,
        hasher: SecretHasher,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._people, self._clocks, self._hasher = people, clocks, hasher
        self._attempts, self._monotonic, self._waiting = Attempts(), monotonic, 0
        self._secret = secrets.token_bytes(RANDOM_BYTES)

    @property
    def is_prompt(self) -> bool:
        """Whether `current` may be asked on an event loop."""
        return self._people.prompt

    def current(self, text: str) -> SignedIn | None:
        """The session of a cookie, if it is valid. Not on an event loop unless `is_prompt`."""
        found = find_signed_in(text, self._people, self._now)
        return None if found is None else SignedIn(text, *found)

    async def with_password(self, name: str, password: str, network: str, *, mark: str | None = None) -> SignedIn:
        """Sign in with a password. `network` is the logged part of the client's address; `mark` is the one that the
        browser got at an earlier sign-in. Raises `BadSignIn` or `TooManyGuesses`."""
        person = await self._check_password(name, password, self._subjects(name, network, mark))
        return await self._ask(lambda: self._open_session(person))

    def mark(self, name: str) -> str:
        """A mark for the browser of a signed-in person, who with it is not locked out by the guesses of others. It
        reveals nothing, and is valid until this process ends."""
        return hmac.digest(self._secret, _fold(name).encode(), "sha256").hex()[:40]

    async def _check_password(self, name: str, password: str, subjects: _Subjects) -> Person:
        self._begin(subjects)
        with self._hashing_slot():  # slow look-ups are bounded with it
            person = await self._ask(lambda: self._people.find(name))
            kept = None if person is None else person.password_hash
            good = await self._hasher.agrees(kept, password[:1000])
        # Read again: if the password was changed while it was compared, the old one must not sign in.
        now = await self._ask(lambda: self._people.find(name))
        if not good or person is None or person.disabled is not None or now != person:
            raise BadSignIn()
        self._note_success(subjects)
        return person

    async def of_link(self, secret: str) -> Person:
        """The person whom a link would sign in; the link stays valid. Raises `BadSignIn`."""
        return await self._ask(lambda: person_of_link(secret, self._people, self._now))

    async def with_link(self, secret: str) -> SignedIn:
        return await self._ask(lambda: self._open_session(use_link(secret, self._people, self._now)))

    async def sign_out(self, signed: SignedIn) -> None:
        await self._ask(lambda: self._people.end_session(signed.session.digest))

    async def change_password(self, signed: SignedIn, current: str, new: str) -> SignedIn:
        """Change the password. All sessions of the old one end; the caller gets a new session."""
        person, subjects = signed.person, (("session", signed.session.digest.hex()),)
        check_password(new, person.name)
        if person.password_hash is not None:
            await self._check_password(person.name, current, subjects)
        self._begin(subjects)  # not a guess, but hashing is costly
        with self._hashing_slot():
            hashed = await self._hasher.hash(new)
        self._note_success(subjects)

        def change(now: Person) -> Person:
            if now != person:  # disabled, say, during the hashing
                raise BadSignIn()
            return replace(now, password_hash=hashed)

        def changed() -> SignedIn:
            changed = self._people.change(person.name, change)
            self._people.end_sessions_of(person.name)
            return self._open_session(changed)

        return await self._ask(changed)

    async def _ask(self, call: Callable[[], T]) -> T:
        return await ask(self._people, call)

    @contextmanager
    def _hashing_slot(self) -> Iterator[None]:
        """Bound the passwords that wait: guesses from many networks delay other sign-ins by this much at most."""
        if self._waiting >= MOST_WAITING:
            raise TooManyGuesses(retry_after=1)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def _subjects(self, name: str, network: str, mark: str | None) -> _Subjects:
        """The subjects by which attempts are counted: the name tried and the network that tries. Those of a browser
        with which the same person has signed in before are counted separately."""
        name = _fold(name)
        if mark is not None and hmac.compare_digest(mark.encode(), self.mark(name).encode()):
            return (("marked", name),)
        return ("name", name), ("network", network)

    def _note_success(self, subjects: _Subjects) -> None:
        for subject in subjects:
            self._attempts.note_success(subject)

    def _begin(self, subjects: _Subjects) -> None:
        now = self._monotonic()
        wait = max(self._attempts.wait(subject, now) for subject in subjects)
        if wait > 0:
            raise TooManyGuesses(retry_after=int(wait) + 1)
        for subject in subjects:
            self._attempts.begin(subject, now)

    def _open_session(self, person: Person) -> SignedIn:
        """Open a session with a new secret, so that a cookie planted before the sign-in is worthless."""
        now = self._now
        self._people.sweep(now)
        text, session = new_session(secrets.token_bytes(RANDOM_BYTES), person, now)
        self._people.open_session(session)
        return SignedIn(text, person, session)

    @property
    def _now(self) -> Instant:
        return self._clocks.read().wall


def _fold(name: str) -> str:
    return name.casefold()[:100]
