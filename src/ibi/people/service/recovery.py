"""Second factors of signed-in people: set up, confirmed and turned off by themselves, or removed by a command."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from ibi.jobs.limits import Attempts, LimitRows
from ibi.jobs.promptness import OwnThreads, beside
from ibi.people.model.account import Actor, LinkUse, Person, Scope, SecondFactor, person_account
from ibi.people.ports import AuditLog
from ibi.people.rules.errors import BadSignIn
from ibi.people.rules.names import check_name, check_password, fold_name
from ibi.people.rules.sign_in import (
    RANDOM_BYTES,
    RECOVERY_RANDOM,
    SECRET_BYTES,
    find_by_sign_in,
    new_link,
    person_of_link,
    recovery_codes,
    use_link,
)
from ibi.people.service.account_admin import PersonAdmin, note_audit
from ibi.people.service.sign_in import Device, SignedIn, SignIn, TooManyGuesses, begin_all
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.mail import Letter, Mailer


@dataclass(frozen=True, slots=True)
class SecondFactors:
    """The second factors of people who are signed in, for the page of their account."""

    sign_in: SignIn
    admin: PersonAdmin

    async def find(self, signed: SignedIn) -> SecondFactor | None:
        """Return the person's second factor, confirmed or not."""
        means = self.sign_in.means
        return None if means is None else await self.sign_in.ask(lambda: means.find_factor(signed.person.name))

    async def begin(self, signed: SignedIn) -> None:
        """Make a secret for a device. No sign-in asks for codes until the first code was right."""
        means, name = self.sign_in.means, signed.person.name
        fresh = SecondFactor(secrets.token_bytes(SECRET_BYTES))

        def make(now: SecondFactor | None) -> SecondFactor:
            return fresh if now is None or now.confirmed is None else now

        if means is not None:
            await self.sign_in.ask(lambda: means.change_factor(name, make))

    async def confirm(self, signed: SignedIn, code: str, actor: Actor) -> tuple[str, ...]:
        """Turn the second factor on if the code is right. Return the recovery codes, which are shown only now."""
        shown, kept = recovery_codes(secrets.token_bytes(RECOVERY_RANDOM))
        when = Instant(self.sign_in.clocks.read().wall.seconds)

        def confirm(factor: SecondFactor) -> SecondFactor:
            if factor.confirmed is not None:
                raise BadSignIn()
            return replace(factor, confirmed=when, recovery=kept)

        await self.sign_in.check_code(signed.person, code, confirm)
        await asyncio.to_thread(self.admin.acting_as(actor).record, "set up second factor", signed.person)
        return shown

    async def end(self, signed: SignedIn, code: str, actor: Actor) -> None:
        """Turn the second factor off. This takes a valid code."""

        def end(_: SecondFactor) -> None:
            return None

        await self.sign_in.check_code(signed.person, code, end)
        await asyncio.to_thread(self.admin.acting_as(actor).record, "end second factor", signed.person)


LETTERS_OF_ACCOUNT: Final = 3
"""Letters that one account gets without a wait between them."""
LETTERS_OF_NETWORK: Final = 20
_LONGEST_WAIT: Final = 900.0
_MOST_LETTERS: Final = 16
"""Password letters that are sent at a time: a mail server may be slow."""
_MOST_POSTED: Final = 64
"""Letters of all kinds that are sent at a time."""
_THREADS: Final = 4


class MailBusy(IbiError):
    """Too many letters are being sent at the moment: try again soon."""

    code = "mail-busy"
    kind = ErrorKind.UNAVAILABLE


class NoMailServer(IbiError):
    """No mail server is set."""

    code = "no-mail-server"
    kind = ErrorKind.CONFLICT


class AccountRecovery:
    """Let people into their own accounts without the password: by an invitation, or by a new password.

    A request for a new password does not reveal who has an account. Its answer is always the same, and comes before any
    look-up. Requests are counted by the text that was typed and by network, whether or not the account exists. Letters
    to one account are counted too, under all its names together; a letter past the limit is silently dropped.

    Links in letters lead to `public_url`. Several processes share the `rows` of attempts; `account_rows` holds the
    attempts for accounts that exist.
    """

    def __init__(
        self,
        sign_in: SignIn,
        admin: PersonAdmin | None = None,
        *,
        public_url: str = "",
        mailer: Mailer | None = None,
        audit: AuditLog | None = None,
        rows: LimitRows | None = None,
        account_rows: LimitRows | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._people, self._clocks, self.sign_in = sign_in.people, sign_in.clocks, sign_in
        self.admin = admin or PersonAdmin(sign_in.people, sign_in.clocks, sign_in.hasher, audit=audit)
        self.public_url = public_url.rstrip("/")
        self._mailer, self._audit, self._monotonic = mailer, audit, monotonic
        self._by_text = Attempts(free=LETTERS_OF_ACCOUNT, longest_wait=_LONGEST_WAIT, rows=rows)
        self._by_account = Attempts(free=LETTERS_OF_ACCOUNT, longest_wait=_LONGEST_WAIT, rows=account_rows)
        self._by_network = Attempts(free=LETTERS_OF_NETWORK, longest_wait=_LONGEST_WAIT, rows=rows)
        self._log = structlog.get_logger("ibi.accounts")
        self._threads = OwnThreads("letters", _THREADS, _MOST_POSTED, MailBusy)
        self._sending: set[asyncio.Task[None]] = set()

    @property
    def sends_mail(self) -> bool:
        return self._mailer is not None

    async def post(self, letter: Letter) -> IbiError | None:
        """Send a letter and wait for it. Return the error if it was not sent, None if it was."""
        mailer = self._mailer
        if mailer is None:
            return NoMailServer()
        try:
            await self._threads(lambda: mailer.send(letter))
        except IbiError as error:
            return error
        return None

    def ask_for_password(self, text: str, device: Device, address: str, write: Callable[[Person, str], Letter]) -> None:
        """Send a link to the person of that name or e-mail address, if there is one with an address. `write` makes the
        letter from the person and the secret. `TooManyGuesses` after too many requests for this text or from this
        network."""
        counted = [
            (self._by_text, ("letter", fold_name(text)[:100])),
            (self._by_network, ("letters from", device.network)),
        ]
        begin_all(counted, self._monotonic)
        if self._mailer is not None and len(self._sending) < _MOST_LETTERS:
            self._begin(self._send_link(text, address, write))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_link(self, text: str, address: str, write: Callable[[Person, str], Letter]) -> None:
        # In threads, even with a prompt store: accounts that do not exist must keep the loop as busy as those that do.
        person = await beside(lambda: find_by_sign_in(text, self._people))
        if person is None or person.disabled is not None or person.mail is None or not self._may_write_to(person):
            return
        secret = await beside(lambda: self._make_link(person, address))
        if secret is None:
            return
        reason = await self.post(write(person, secret))
        if reason is not None:
            self._log.error("a letter was not sent", reason=str(reason))

    def _may_write_to(self, person: Person) -> bool:
        try:
            begin_all([(self._by_account, ("letters to", fold_name(person.name)))], self._monotonic)
        except TooManyGuesses:
            return False
        return True

    def _make_link(self, person: Person, address: str) -> str | None:
        """Return the secret of a new link. None if the person was changed meanwhile: they may have another address."""
        now = self._clocks.read().wall
        secret, link = new_link(secrets.token_bytes(RANDOM_BYTES), person, now, LinkUse.PASSWORD)
        if not self._people.add_link(link, person):
            return None
        # No account as the author: the request may come from a stranger.
        who = Actor(None, Scope.READ, None, address)
        note_audit(self._audit, who, now, "ask for new password", person_account(person.name))
        return secret

    async def finish_letters(self) -> None:
        """Wait for the letters that are being sent."""
        await asyncio.gather(*self._sending)

    async def of_link(self, secret: str) -> Person:
        """Return the person who may choose a new password by that link. The link stays valid. Raises `BadSignIn`."""
        now = self._clocks.read().wall
        return await self.sign_in.ask(lambda: person_of_link(secret, self._people, now, LinkUse.PASSWORD))

    async def choose_password(self, secret: str, new: str, device: Device, address: str) -> SignedIn:
        """Choose a new password by a link, once. All sessions end; the caller gets a new one."""
        check_password(new, (await self.of_link(secret)).name)
        hashed = await self.sign_in.hash(new)
        now = self._clocks.read().wall

        def choose() -> Person:
            owner = use_link(secret, self._people, now, LinkUse.PASSWORD)

            def change(found: Person) -> Person:
                if not found.is_let_in_as(owner):
                    raise BadSignIn()
                return replace(found, password_hash=hashed)

            return self._people.change(owner.name, change)

        changed = await self.sign_in.ask(choose)
        account = person_account(changed.name)
        who = Actor(account, Scope.READ, None, address)
        await asyncio.to_thread(note_audit, self._audit, who, now, "choose password by mail", account)
        return await self.sign_in.admit(changed, device)

    async def accept(self, secret: str, name: str, password: str, device: Device, address: str) -> SignedIn:
        """Make the account of an invitation, and sign in to it."""
        await asyncio.to_thread(self.admin.find_invitation, secret)
        checked = check_name(name)
        hashed = await self.sign_in.hash(check_password(password, checked))
        person = await asyncio.to_thread(self.admin.accept, secret, checked, hashed, address)
        return await self.sign_in.admit(person, device)
