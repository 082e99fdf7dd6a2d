"""Signing in and out: passwords are compared in threads, guesses are slowed down, and each sign-in opens a session."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from ibi.jobs.limits import Attempts
from ibi.jobs.promptness import ask
from ibi.people.model.account import LinkUse, Person, SecondFactor, Session
from ibi.people.ports import People, SignInMeans
from ibi.people.rules.errors import BadSignIn, CodeNeeded
from ibi.people.rules.names import check_password, fold_name
from ibi.people.rules.sign_in import (
    CODE_SECONDS,
    RANDOM_BYTES,
    find_by_sign_in,
    find_signed_in,
    new_link,
    new_session,
    person_of_link,
    use_code,
    use_link,
)
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant

if TYPE_CHECKING:
    pass
from ibi.people.service.secret_hasher import SecretHasher

MOST_WAITING: Final = 32
"""Passwords that are compared or wait for it: some seconds of work."""

T = TypeVar("T")
_Subjects: TypeAlias = tuple[tuple[str, str], ...]


class TooManyGuesses(IbiError):
    """There were too many wrong guesses: wait {retry_after} seconds and try again."""

    code = "too-many-guesses"
    kind = ErrorKind.TOO_MANY


@dataclass(frozen=True, slots=True)
class Device:
    """The device of a sign-in, as the person sees it later."""

    network: str = ""
    """The logged part of the client's address."""
    browser: str = ""
    """The family of the browser."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A signed-in browser. `text` is the value of its cookie."""

    text: str = field(repr=False)
    person: Person
    session: Session


_NO_DEVICE: Final = Device()
_MARKED: Final = "marked"
_CODE: Final = "code"


def begin_all(counted: Sequence[tuple[Attempts, tuple[str, str]]], monotonic: Callable[[], float]) -> None:
    """Begin an attempt of every subject, or of none. `TooManyGuesses` if one of them has to wait: otherwise a refused
    network would make others wait, and write a row with every request. The attempts share the same rows."""
    with counted[0][0].alone():
        now = monotonic()
        wait = max(attempts.wait(subject, now) for attempts, subject in counted)
        if wait > 0:
            raise TooManyGuesses(retry_after=int(wait) + 1)
        for attempts, subject in counted:
            attempts.begin(subject, now)


class SignIn:
    """Signs people in and out, for the pages."""

    def __init__(
        self,
        people: People,
        clocks: Clocks,
        hasher: SecretHasher,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        attempts: Attempts | None = None,
        account_attempts: Attempts | None = None,
        secret: bytes | None = None,
        most_waiting: int = MOST_WAITING,
        means: SignInMeans | None = None,
    ) -> None:
        """Several processes that serve one place share the attempts and the `secret` of marks. `account_attempts` count
        people who have proved a part of who they are. They stand apart so that the names strangers try never push them
        out. Without `means` there are no second factors."""
        self.means = means
        self.people, self.clocks, self.hasher = people, clocks, hasher
        # Compared with None: attempts without a subject are falsy.
        self._attempts = Attempts() if attempts is None else attempts
        self._account_attempts = Attempts() if account_attempts is None else account_attempts
        self._monotonic, self._waiting = monotonic, 0
        self._secret, self._most_waiting = secret or secrets.token_bytes(RANDOM_BYTES), most_waiting

    @property
    def is_prompt(self) -> bool:
        """True if `current` may be called on an event loop."""
        return self.people.prompt

    def current(self, text: str) -> SignedIn | None:
        """Return the session of a cookie, if it is valid. Not on an event loop unless `is_prompt`."""
        found = find_signed_in(text, self.people, self._now)
        return None if found is None else SignedIn(text, *found)

    async def with_password(
        self, name: str, password: str, network: str, *, mark: str | None = None, browser: str = ""
    ) -> SignedIn:
        """Sign in with a password. `name` may be the e-mail address. `network` is the logged part of the client's
        address. `mark` is the one that the browser got at an earlier sign-in. Raises `BadSignIn` or
        `TooManyGuesses`."""
        return await self.admit(await self._identify(name, password, network, mark), Device(network, browser))

    def mark(self, name: str) -> str:
        """Return a mark for the browser of a signed-in person. With it, guesses of others do not lock the person out.
        It reveals nothing, and is valid until this server ends."""
        return hmac.digest(self._secret, fold_name(name).encode(errors="replace"), "sha256").hex()[:40]

    async def _identify(self, name: str, password: str, network: str, mark: str | None) -> Person:
        with self._hashing_slot():  # slow look-ups are bounded with it
            person = await self.ask(lambda: find_by_sign_in(name, self.people))
            return await self._compare(person, password, self._subjects(name, person, network, mark))

    async def _compare(self, person: Person | None, password: str, subjects: _Subjects) -> Person:
        """Return the person if the password is theirs. Without a person it takes the same time. The caller holds a slot
        for hashing."""
        self._begin(subjects)
        good = await self.hasher.agrees(None if person is None else person.password_hash, password[:1000])
        if not good or person is None or person.disabled is not None:
            raise BadSignIn()
        # Read again: after a change during the comparison, the old password must not sign in.
        if await self.ask(lambda: self.people.find(person.name)) != person:
            raise BadSignIn()
        self._note_success(subjects)
        return person

    async def of_link(self, secret: str) -> Person:
        """Return the person whom a link would sign in. The link stays valid. Raises `BadSignIn`."""
        return await self.ask(lambda: person_of_link(secret, self.people, self._now))

    async def with_link(self, secret: str, device: Device = _NO_DEVICE) -> SignedIn:
        return await self.admit(await self.ask(lambda: use_link(secret, self.people, self._now)), device)

    def sessions_of(self, signed: SignedIn) -> tuple[Session, ...]:
        """Return the sessions of a person that are not over, the latest first. Not on an event loop unless
        `is_prompt`."""
        now = self._now
        return tuple(one for one in self.people.sessions_of(signed.person.name) if one.expires > now)

    async def end_sessions(self, signed: SignedIn, identity: str | None) -> bool:
        """End one other session of the same person, or all but the current one. Return whether there was one."""
        ended = [
            one
            for one in await self.ask(lambda: self.sessions_of(signed))
            if one.digest != signed.session.digest and identity in {None, one.id}
        ]
        for one in ended:
            await self.ask(lambda one=one: self.people.end_session(one.digest))  # type: ignore[misc]
        return bool(ended)

    async def sign_out(self, signed: SignedIn) -> None:
        await self.ask(lambda: self.people.end_session(signed.session.digest))

    async def change_password(self, signed: SignedIn, current: str, new: str) -> SignedIn:
        """Change the password. All sessions of the old one end; the caller gets a new session."""
        person, subjects = signed.person, (("session", signed.session.digest.hex()),)
        check_password(new, person.name)
        if person.password_hash is not None:
            with self._hashing_slot():
                await self._compare(person, current, subjects)
        self._begin(subjects)  # not a guess, but hashing is costly
        with self._hashing_slot():
            hashed = await self.hasher.hash(new)
        self._note_success(subjects)

        def change(now: Person) -> Person:
            if now != person:  # disabled, for example, during the hashing
                raise BadSignIn()
            return replace(now, password_hash=hashed)

        def changed() -> SignedIn:
            changed = self.people.change(person.name, change)
            return self._open_session(changed, Device(signed.session.network, signed.session.browser))

        return await self.ask(changed)

    async def ask(self, call: Callable[[], T]) -> T:
        """Call the store of people: at once if it is prompt, otherwise in a thread."""
        return await ask(self.people, call)

    async def hash(self, secret: str) -> str:
        """Hash a new password, unless too many wait."""
        with self._hashing_slot():
            return await self.hasher.hash(secret)

    async def admit(self, person: Person, device: Device) -> SignedIn:
        """Sign in a person who has proved who they are. `CodeNeeded` if they have a second factor."""
        means = self.means
        factor = None if means is None else await self.ask(lambda: means.find_factor(person.name))
        if factor is None or factor.confirmed is None:
            return await self.ask(lambda: self._open_session(person, device))
        now = self._now
        secret, link = new_link(
            secrets.token_bytes(RANDOM_BYTES), person, now, LinkUse.SECOND_FACTOR, seconds=CODE_SECONDS
        )
        await self.ask(lambda: self.people.sweep(now))
        if not await self.ask(lambda: self.people.add_link(link, person)):
            raise BadSignIn()
        raise CodeNeeded(secret)

    async def with_code(self, secret: str, code: str, device: Device) -> SignedIn:
        """Sign in with the secret of `CodeNeeded` and a code of the second factor. Raises `BadSignIn` or
        `TooManyGuesses`; the secret stays valid for another try."""
        person = await self.ask(lambda: person_of_link(secret, self.people, self._now, LinkUse.SECOND_FACTOR))
        await self.check_code(person, code, lambda factor: factor)
        return await self.ask(
            lambda: self._open_session(use_link(secret, self.people, self._now, LinkUse.SECOND_FACTOR), device)
        )

    async def check_code(self, person: Person, code: str, then: Callable[[SecondFactor], SecondFactor | None]) -> None:
        """Use a code of a person's second factor, and store the factor that `then` returns. Guesses are slowed down by
        person alone: a guesser already has the password or the session."""
        means, now, subjects = self.means, self._now, ((_CODE, fold_name(person.name)),)
        self._begin(subjects)

        def make(factor: SecondFactor | None) -> SecondFactor | None:
            left = None if factor is None else use_code(factor, code, now)
            if left is None:
                raise BadSignIn()
            return then(left)

        if means is None:
            raise BadSignIn()
        await self.ask(lambda: means.change_factor(person.name, make))
        self._note_success(subjects)

    async def note_language(self, person: Person, language: str) -> None:
        """Store the language of the pages at sign-in as the language of a person's mails, unless they have one
        already."""
        if person.language is None:
            await self.ask(
                lambda: self.people.change(person.name, lambda now: replace(now, language=now.language or language))
            )

    @contextmanager
    def _hashing_slot(self) -> Iterator[None]:
        """Bound the passwords that wait: guesses from many networks delay other sign-ins by this much at most."""
        if self._waiting >= self._most_waiting:
            raise TooManyGuesses(retry_after=1)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def _subjects(self, text: str, person: Person | None, network: str, mark: str | None) -> _Subjects:
        """Return the subjects that count attempts: the name or address as it was typed, and the network. A browser that
        signed the same person in before is counted separately.

        Name and address of one person are counted apart. Otherwise guesses at one would make the other wait, and tell
        strangers whose address it is.
        """
        if mark is not None and person is not None:
            name = fold_name(person.name)
            if hmac.compare_digest(mark.encode(), self.mark(name).encode()):
                return ((_MARKED, name),)
        return ("name", fold_name(text)[:100]), ("network", network)

    def _attempts_of(self, subjects: _Subjects) -> Attempts:
        return self._account_attempts if subjects[0][0] in {_MARKED, _CODE} else self._attempts

    def _note_success(self, subjects: _Subjects) -> None:
        for subject in subjects:
            self._attempts_of(subjects).note_success(subject)

    def _begin(self, subjects: _Subjects) -> None:
        begin_all([(self._attempts_of(subjects), subject) for subject in subjects], self._monotonic)

    def _open_session(self, person: Person, device: Device) -> SignedIn:
        """Open a session with a new secret, so that a cookie planted before the sign-in is worthless. `BadSignIn` if
        the person was changed since they proved who they are: an old password must not sign in any more."""
        now = self._now
        self.people.sweep(now)
        text, session = new_session(
            secrets.token_bytes(RANDOM_BYTES), person, now, network=device.network, browser=device.browser
        )
        if not self.people.open_session(session, person):
            raise BadSignIn()
        return SignedIn(text, person, session)

    @property
    def _now(self) -> Instant:
        return self.clocks.read().wall
