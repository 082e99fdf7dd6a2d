"""Signing in and out: passwords compared off the loop, guessing slowed down, one session made for each sign-in."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from ibi.accounts.errors import BadSignIn
from ibi.accounts.sign_in import RANDOM_BYTES, check_password, found_link, new_session, signed_in, taken_link
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.model.account import Person, Session
from ibi.ports.accounts import People
from ibi.ports.clocks import Clocks
from ibi.services.accounts.hashing import SecretHasher
from ibi.services.limits import Attempts

MOST_WAITING: Final = 32
"""Passwords that are compared or wait for it: some seconds' work."""

_Subjects: TypeAlias = tuple[tuple[str, str], ...]


class TooManyGuesses(IbiError):
    """There were too many wrong guesses: wait {retry_after} seconds and try again."""

    code = "too-many-guesses"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A browser that is signed in. `text` is what its cookie holds."""

    text: str = field(repr=False)
    person: Person
    session: Session


class SignIn:
    """What the pages ask."""

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

    def current(self, text: str) -> SignedIn | None:
        """Who is signed in by a cookie."""
        found = signed_in(text, self._people, self._now)
        return None if found is None else SignedIn(text, *found)

    async def with_password(self, name: str, password: str, network: str, *, mark: str | None = None) -> SignedIn:
        """`network` is where the request came from, as far as it is written down; `mark` what the browser was given
        when somebody signed in with it before. `BadSignIn`, `TooManyGuesses`."""
        return self._opened(await self._proved(name, password, self._subjects(name, network, mark)))

    def mark(self, name: str) -> str:
        """For the browser of whoever is signed in: with it they are not kept out by what others guess. It tells
        nobody anything, and ends with this process."""
        return hmac.digest(self._secret, _folded(name).encode(), "sha256").hex()[:40]

    async def _proved(self, name: str, password: str, subjects: _Subjects) -> Person:
        self._begin(subjects)
        person = self._people.find(name)
        kept = None if person is None else person.password_hash
        with self._hashing():
            good = await self._hasher.agrees(kept, password[:1000])
        # Looked at again: the password may have been changed while it was compared, and that ends what it began.
        if not good or person is None or person.disabled is not None or self._people.find(name) != person:
            raise BadSignIn()
        self._succeeded(subjects)
        return person

    def of_link(self, secret: str) -> Person:
        """Whom a link would sign in: it can still be used afterwards. `BadSignIn`."""
        return found_link(secret, self._people, self._now)

    def with_link(self, secret: str) -> SignedIn:
        return self._opened(taken_link(secret, self._people, self._now))

    def sign_out(self, signed: SignedIn) -> None:
        self._people.end_session(signed.session.digest)

    async def change_password(self, signed: SignedIn, current: str, new: str) -> SignedIn:
        """Everything that was signed in by the old one is signed out; whoever changed it is signed in anew."""
        person, subjects = signed.person, (("session", signed.session.digest.hex()),)
        check_password(new, person.name)
        if person.password_hash is not None:
            await self._proved(person.name, current, subjects)
        self._begin(subjects)  # nothing is guessed at, but hashing is dear
        with self._hashing():
            hashed = await self._hasher.hash(new)
        self._succeeded(subjects)

        def made(now: Person) -> Person:
            if now != person:  # disabled, say, while all that was hashed
                raise BadSignIn()
            return replace(now, password_hash=hashed)

        changed = self._people.change(person.name, made)
        self._people.end_sessions_of(person.name)
        return self._opened(changed)

    @contextmanager
    def _hashing(self) -> Iterator[None]:
        """Whoever has many networks to guess from still keeps nobody waiting for longer than this."""
        if self._waiting >= MOST_WAITING:
            raise TooManyGuesses(retry_after=1)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def _subjects(self, name: str, network: str, mark: str | None) -> _Subjects:
        """By whom attempts are counted: by the name that is tried, and by the network that tries; those of a browser
        with which the same person has signed in before apart from all others."""
        name = _folded(name)
        if mark is not None and hmac.compare_digest(mark.encode(), self.mark(name).encode()):
            return (("marked", name),)
        return ("name", name), ("network", network)

    def _succeeded(self, subjects: _Subjects) -> None:
        for subject in subjects:
            self._attempts.succeeded(subject)

    def _begin(self, subjects: _Subjects) -> None:
        now = self._monotonic()
        wait = max(self._attempts.wait(subject, now) for subject in subjects)
        if wait > 0:
            raise TooManyGuesses(retry_after=int(wait) + 1)
        for subject in subjects:
            self._attempts.begin(subject, now)

    def _opened(self, person: Person) -> SignedIn:
        """A secret of its own for each: nobody can plant one before and know it afterwards."""
        now = self._now
        self._people.sweep(now)
        text, session = new_session(secrets.token_bytes(RANDOM_BYTES), person, now)
        self._people.open_session(session)
        return SignedIn(text, person, session)

    @property
    def _now(self) -> Instant:
        return self._clocks.read().wall


def _folded(name: str) -> str:
    return name.casefold()[:100]
