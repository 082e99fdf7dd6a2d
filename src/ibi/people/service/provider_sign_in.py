"""Sign-in by an OpenID Connect provider: the authorization code flow with a proof key (RFC 7636).

The browser takes one secret to the provider, in a cookie. State, nonce and proof are derived from it, so this server
stores nothing that strangers could fill. Issuer and subject alone identify a person: an e-mail address proves nothing
about an account here.
"""

from __future__ import annotations

import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final

from ibi.jobs.limits import Attempts, LimitRows
from ibi.jobs.promptness import OwnThreads, beside
from ibi.people.model.account import Actor, Person, ProviderClaims, Role, Scope
from ibi.people.ports import IdentityProvider, SignInMeans
from ibi.people.rules.errors import (
    IdentityTaken,
    InvalidPersonName,
    MailTaken,
    PersonExists,
    ProviderBusy,
    ProviderRefused,
    UnknownIdentity,
)
from ibi.people.rules.names import MOST_NAME, check_mail, check_shown, nearest_name
from ibi.people.service.account_admin import PersonAdmin
from ibi.people.service.sign_in import Device, SignedIn, SignIn, begin_all
from ibi.standard.errors import IbiError

CALLBACK: Final = "/sign-in/provider/callback"
RETURNS_OF_NETWORK: Final = 20
"""Failed returns from the provider before a network has to wait. Each return costs a request to the provider."""
CALLS_AT_ONCE: Final = 16
"""Calls to the provider that run or wait. A provider that hangs makes each call take seconds."""
_THREADS: Final = 4
_MOST_HOMONYMS: Final = 20
_RANDOM_BYTES: Final = 5


class ProviderSignIn:
    """Signs people in by one provider, for the pages."""

    def __init__(
        self,
        provider: IdentityProvider,
        sign_in: SignIn,
        means: SignInMeans,
        admin: PersonAdmin,
        *,
        public_url: str,
        role: Role | None = None,
        rows: LimitRows | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """A person without an account here gets one with that `role`; None creates no accounts. Several processes share
        the `rows` of attempts."""
        self._attempts, self._monotonic = Attempts(free=RETURNS_OF_NETWORK, rows=rows), monotonic
        self._threads = OwnThreads("provider", _THREADS, CALLS_AT_ONCE, lambda: ProviderBusy(name=provider.name))
        self._provider, self._sign_in, self._means, self._admin, self._role = provider, sign_in, means, admin, role
        self._redirect = f"{public_url.rstrip('/')}{CALLBACK}"

    @property
    def name(self) -> str:
        return self._provider.name

    async def begin(self) -> tuple[str, str]:
        """Return the secret for the browser's cookie, and the URL it goes to."""
        secret = secrets.token_urlsafe(32)
        challenge = urlsafe_b64encode(sha256(_derive(secret, "proof").encode()).digest()).decode().rstrip("=")
        state, nonce = _derive(secret, "state"), _derive(secret, "nonce")
        return secret, await self._threads(
            lambda: self._provider.authorization_url(self._redirect, state, nonce, challenge)
        )

    async def sign_in(self, secret: str, answer: Mapping[str, str], device: Device, address: str) -> SignedIn:
        """Sign in the person who returns with that answer. `UnknownIdentity` if they have no account here,
        `TooManyGuesses` after too many failed returns from their network."""
        claims = await self._redeem(secret, answer, device.network)
        name = await self._sign_in.ask(lambda: self._means.find_identity(claims.issuer, claims.subject))
        person = None if name is None else await self._sign_in.ask(lambda: self._sign_in.people.find(name))
        if name is None:
            person = await beside(lambda: self._make_account(claims, address))
        if person is None or person.disabled is not None:
            raise UnknownIdentity(name=self.name)
        return await self._sign_in.admit(person, device)

    async def link(self, secret: str, answer: Mapping[str, str], signed: SignedIn, actor: Actor) -> None:
        """Let the account at the provider sign in as this person from now on. `IdentityTaken` if another person has
        it."""
        claims, person = await self._redeem(secret, answer, signed.session.network), signed.person

        def add() -> None:
            if not self._means.add_identity(claims.issuer, claims.subject, person.name):
                raise IdentityTaken(name=self.name)
            self._admin.acting_as(actor).record("link provider account", person, claims.issuer)

        await beside(add)

    async def unlink(self, signed: SignedIn, actor: Actor) -> None:
        """Remove every provider account from this person."""

        def drop() -> None:
            linked = self._means.identities_of(signed.person.name)
            for issuer, subject in linked:
                self._means.drop_identity(issuer, subject, signed.person.name)
            if linked:
                self._admin.acting_as(actor).record("unlink provider account", signed.person)

        await beside(drop)

    def is_linked(self, person: Person) -> bool:
        return bool(self._means.identities_of(person.name))

    async def _redeem(self, secret: str, answer: Mapping[str, str], network: str) -> ProviderClaims:
        """Return the provider's claims about the person. Any client can invent a secret and a matching answer, so the
        requests to the provider that this causes are counted."""
        state = _derive(secret, "state")
        if not secret or not hmac.compare_digest(state.encode(), answer.get("state", "").encode()):
            raise ProviderRefused(name=self.name, reason="the answer is not to what this browser asked")
        issuer, names_itself = await self._threads(lambda: (self._provider.issuer, self._provider.names_itself))
        said = answer.get("iss")
        if said != issuer and (said is not None or names_itself):
            raise ProviderRefused(name=self.name, reason="the answer is that of another provider")
        if "error" in answer or not answer.get("code"):
            raise ProviderRefused(name=self.name, reason="it did not sign you in")
        begin_all([(self._attempts, ("provider", network))], self._monotonic)
        proof, nonce, now = _derive(secret, "proof"), _derive(secret, "nonce"), self._sign_in.clocks.read().wall.seconds
        claims = await self._threads(lambda: self._provider.redeem(answer["code"], self._redirect, proof, nonce, now))
        self._attempts.note_success(("provider", network))
        return claims

    def _make_account(self, claims: ProviderClaims, address: str) -> Person | None:
        """Create an account for a person who has none. Return None if the settings do not allow it."""
        if self._role is None:
            return None
        who = Actor(None, Scope.READ, None, address)
        admin = self._admin.acting_as(who)
        mail = self._free_mail(claims.mail)
        for name in _names(claims.name):
            try:
                person = admin.create(name, self._role.value, mail=mail, shown=_choose_shown_name(claims.name, name))
            except PersonExists:
                continue
            except MailTaken:  # taken just now
                mail = None
                continue
            if not self._means.add_identity(claims.issuer, claims.subject, person.name):
                admin.disable(person.name)  # another request of the same browser was quicker
                return None
            admin.record("link provider account", person, claims.issuer)
            return person
        return None

    def _free_mail(self, mail: str | None) -> str | None:
        """Return the address, or None if a person here has it: the same address does not make the account theirs."""
        try:
            address = None if mail is None else check_mail(mail)
        except IbiError:
            return None
        people = self._sign_in.people
        is_taken = address is not None and (people.find_by_mail(address) or people.find(address))
        return None if is_taken else address


def _derive(secret: str, use: str) -> str:
    return hmac.new(secret.encode(), use.encode(), sha256).hexdigest()


def _names(said: str) -> list[str]:
    """Return names to try for a new person, the nearest to the provider's name first. The last ends in a random number,
    so no other person has it."""
    unique = secrets.token_hex(_RANDOM_BYTES)
    name = nearest_name(said, MOST_NAME - len(unique) - 1) or "person"
    return [name, *(f"{name} {number}" for number in range(2, _MOST_HOMONYMS)), f"{name} {unique}"]


def _choose_shown_name(said: str, name: str) -> str:
    """Return the name of a new person on pages: the provider's spelling, if it is allowed and differs from the account
    name. Otherwise return an empty text."""
    try:
        shown = check_shown(said)
    except InvalidPersonName:
        return ""
    return "" if shown == name else shown
