"""Administration of accounts: tokens and people."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

from ibi.people.model.account import (
    COMMAND,
    Actor,
    AuditEntry,
    Invitation,
    Person,
    Role,
    Token,
    person_account,
    service_account,
)
from ibi.people.ports import AuditLog, People, SignInMeans, Tokens
from ibi.people.resources import NewToken, TokenResource
from ibi.people.rules.errors import (
    BadInvitation,
    MailTaken,
    PersonExists,
    UnknownAccount,
    UnknownInvitation,
    UnknownPerson,
    UnknownToken,
)
from ibi.people.rules.names import check_mail, check_name, check_password, check_shown, role_named
from ibi.people.rules.sign_in import (
    RANDOM_BYTES,
    TOKEN_BYTES,
    find_invitation,
    new_invitation,
    new_link,
    new_token,
    revoke,
    scope_named,
)
from ibi.people.service.secret_hasher import SecretHasher
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.safe_text import quote

MOST_TOKENS: Final = 50
"""The number of valid tokens that a person may make for themselves."""
MOST_TOKENS_A_DAY: Final = 100
"""The number of tokens that a person may make for themselves in a day. Revoked tokens count: each stays on record for
good."""
_DAY: Final = 86_400


class TooManyTokens(IbiError):
    """You have {most} tokens that are valid: revoke one first."""

    code = "too-many-tokens"
    kind = ErrorKind.CONFLICT


class TooManyTokensMade(IbiError):
    """You have made {most} tokens within a day: use those that you have, or come back tomorrow."""

    code = "too-many-tokens-made"
    kind = ErrorKind.TOO_MANY


class TokenAdmin(Protocol):
    """Administration of tokens, here or over HTTP."""

    def create_token(self, scope: str, name: str, expires: str | None, person: str | None = None) -> NewToken:
        """Create a token for a person, or else for the service account of its name. `token` in the result is its text,
        which is shown only now."""

    def list_tokens(self) -> list[TokenResource]: ...

    def revoke_token(self, identity: str) -> TokenResource: ...


class LocalTokenAdmin:
    """Administration of the tokens in a data directory."""

    def __init__(
        self,
        tokens: Tokens,
        clocks: Clocks,
        people: People | None = None,
        *,
        audit: AuditLog | None = None,
        actor: Actor = COMMAND,
    ) -> None:
        """Without `people`, no token can be made for a person. The `audit` log records each change, with `actor` as its
        author."""
        self._tokens, self._clocks, self._people = tokens, clocks, people
        self._audit, self._actor = audit, actor

    def acting_as(self, actor: Actor) -> LocalTokenAdmin:
        return LocalTokenAdmin(self._tokens, self._clocks, self._people, audit=self._audit, actor=actor)

    def create_token(self, scope: str, name: str, expires: str | None, person: str | None = None) -> NewToken:
        return self._create(scope, name, expires, person)

    def create_own_token(self, scope: str, name: str, expires: str | None, person: str) -> NewToken:
        """Create a token for the person who asks. `TooManyTokens` or `TooManyTokensMade` past the limits."""
        return self._create(scope, name, expires, person, self._refuse_too_many)

    def _create(
        self,
        scope: str,
        name: str,
        expires: str | None,
        person: str | None,
        check: Callable[[tuple[Token, ...]], None] | None = None,
    ) -> NewToken:
        until = None if expires is None else Instant.parse(expires)
        now, chance = self._clocks.read().wall, secrets.token_bytes(TOKEN_BYTES)
        owner = None if person is None else self._require_person(person)
        text, token = new_token(chance, scope_named(scope), now, name=name, expires=until, person=owner)
        self._tokens.add(token, check)
        detail = f"scope {token.scope}, account {token.account}"
        note_audit(self._audit, self._actor, now, "create token", f"token:{token.id}", detail)
        return NewToken.with_text(token, text)

    def _require_person(self, name: str) -> Person:
        person = None if self._people is None else self._people.find(name)
        if person is None or person.disabled is not None:
            raise UnknownPerson(name=quote(name, 80))
        return person

    def list_tokens(self) -> list[TokenResource]:
        return [TokenResource.of(token) for token in self._tokens.list()]

    def tokens_of(self, person: str) -> list[Token]:
        """Return the tokens that were made for a person, revoked ones too, the latest first."""
        return list(reversed(self._tokens.list_of(person)))

    def _refuse_too_many(self, tokens: tuple[Token, ...]) -> None:
        now = self._clocks.read().wall
        if sum(token.is_valid_at(now) for token in tokens) >= MOST_TOKENS:
            raise TooManyTokens(most=MOST_TOKENS)
        if sum(token.created.seconds > now.seconds - _DAY for token in tokens) >= MOST_TOKENS_A_DAY:
            raise TooManyTokensMade(most=MOST_TOKENS_A_DAY)

    def revoke_token_of(self, person: str, identity: str) -> TokenResource:
        """Revoke a token of that person. Raise `UnknownToken` for a token of another person, so that the answer does
        not reveal its id."""
        if not any(token.id == identity for token in self.tokens_of(person)):
            raise UnknownToken(id=quote(identity, 16))
        return self.revoke_token(identity)

    def revoke_token(self, identity: str) -> TokenResource:
        now, before = self._clocks.read().wall, self._tokens.find(identity)
        revoked = revoke(self._tokens, identity, now)
        if before is None or before.revoked is None:
            note_audit(self._audit, self._actor, now, "revoke token", f"token:{revoked.id}")
        return TokenResource.of(revoked)


def note_audit(audit: AuditLog | None, who: Actor, now: Instant, act: str, subject: str, detail: str = "") -> None:
    """Write an action into the audit log, if there is one."""
    if audit is not None:
        at = Instant(now.seconds)
        audit.append([AuditEntry(at, act, subject, who.account, who.token, who.address, detail)])


def find_account(text: str, people: People | None, tokens: Tokens) -> str | None:
    """Return the account of a person or of a token's name. An empty text stands for the Archive: None.

    A name alone means a person first, then tokens. The prefix `person:` or `service:` decides.
    """
    if not text:
        return None
    kind, colon, name = text.partition(":")
    kind, name = (kind, name) if colon and kind in {"person", "service"} else ("", text)
    person = people.find(name) if people is not None and kind != "service" else None
    if person is not None:
        return person_account(person.name)
    if kind != "person" and any(token.account == service_account(name) for token in tokens.list()):
        return service_account(name)
    raise UnknownAccount(account=quote(text, 100))


class PersonAdmin:
    """Administration of people, by a command or by a person who is signed in."""

    def __init__(
        self,
        people: People,
        clocks: Clocks,
        hasher: SecretHasher,
        *,
        audit: AuditLog | None = None,
        actor: Actor = COMMAND,
    ) -> None:
        """The `audit` log records each change, with `actor` as its author."""
        self._people, self._clocks, self._hasher = people, clocks, hasher
        self._audit, self._actor = audit, actor

    def acting_as(self, actor: Actor) -> PersonAdmin:
        return PersonAdmin(self._people, self._clocks, self._hasher, audit=self._audit, actor=actor)

    def record(self, act: str, person: Person, detail: str = "") -> None:
        """Write a change of an account into the audit log."""
        note_audit(self._audit, self._actor, self._now, act, person_account(person.name), detail)

    def create(
        self, name: str, role: str, password: str | None = None, *, mail: str | None = None, shown: str = ""
    ) -> Person:
        """Create an account. `shown` is the name on pages, if it differs from the `name` used for signing in."""
        hashed = None if password is None else self._hasher.hash_now(check_password(password, name))
        person = Person(
            check_name(name),
            role_named(role),
            Instant(self._now.seconds),
            hashed,
            shown=check_shown(shown),
            mail=None if mail is None else check_mail(mail),
        )
        self._people.add(person)
        self.record("create person", person, f"role {person.role}")
        return person

    def list(self) -> tuple[Person, ...]:
        return self._people.list()

    def find(self, name: str) -> Person:
        return self._require_person(name)

    def link(self, name: str) -> str:
        """Create a link that signs in once, within the hour. Return its secret."""
        person = self._require_person(name)
        text, link = new_link(secrets.token_bytes(RANDOM_BYTES), person, self._now)
        while not self._people.add_link(link, person):
            person = self._require_person(name)  # the person was changed since
        self.record("make sign-in link", person)
        return text

    def first_link(self) -> str:
        """Create the first sign-in link of a new server. It is for `admin`, an account that is created if it is
        missing."""
        if self._people.find("admin") is None:
            with suppress(PersonExists):  # another process was quicker
                self.create("admin", Role.ADMIN.value)
        return self.link("admin")

    def set_password(self, name: str, password: str) -> Person:
        person = self._require_person(name)
        hashed = self._hasher.hash_now(check_password(password, person.name))
        changed = self._people.change(person.name, lambda now: replace(now, password_hash=hashed))
        self.record("set password", changed)
        return changed

    def describe(
        self, name: str, *, shown: str | None = None, mail: str | None = None, language: str | None = None
    ) -> Person:
        """Change a person's name on pages, their e-mail address, or the language of their mails, one of those of the
        pages. An empty text removes the value; None leaves it."""
        person = self._require_person(name)
        called = None if shown is None else check_shown(shown)
        address = None if not mail else check_mail(mail)

        def make(now: Person) -> Person:
            kept = now.mail if mail is None else address
            spoken = now.language if language is None else language or None
            return replace(now, shown=now.shown if called is None else called, mail=kept, language=spoken)

        changed = self._people.change(person.name, make)
        parts = [] if changed.shown == person.shown else [f"shown as {changed.full_name}"]
        parts += [] if changed.mail == person.mail else [f"mail {changed.mail or 'none'}"]
        parts += [] if changed.language == person.language else [f"language {changed.language or 'none'}"]
        if parts:
            self.record("describe person", changed, ", ".join(parts))
        return changed

    def set_role(self, name: str, role: str) -> Person:
        """Change a person's role from their next request on. Their tokens never allow more than the role."""
        wanted, person = role_named(role), self._require_person(name)
        changed, withdrawn = self._change_standing(person, lambda now: replace(now, role=wanted))
        if changed.role is not person.role:
            self.record("change role", changed, f"from {person.role} to {changed.role}")
        self._record_withdrawn(withdrawn)
        return changed

    def disable(self, name: str) -> Person:
        person, when = self._require_person(name), Instant(self._now.seconds)
        changed, withdrawn = self._change_standing(person, lambda now: replace(now, disabled=now.disabled or when))
        self.record("disable person", changed)
        self._record_withdrawn(withdrawn)
        return changed

    def _change_standing(
        self, person: Person, make: Callable[[Person], Person]
    ) -> tuple[Person, tuple[Invitation, ...]]:
        """Return the changed person and the invitations of theirs that the change made void. A signed-in person must
        not lock the last administrator out; a command can always make another administrator."""
        account = person_account(person.name)
        sent = [one for one in self._people.invitations() if one.invited_by == account]
        changed = self._people.change(person.name, make, keep_admin=self._actor != COMMAND)
        left = {one.digest for one in self._people.invitations()} if sent else set()
        return changed, tuple(one for one in sent if not changed.administers and one.digest not in left)

    def _record_withdrawn(self, withdrawn: Iterable[Invitation]) -> None:
        for one in withdrawn:
            note_audit(self._audit, self._actor, self._now, "withdraw invitation", f"mail:{one.mail}")

    def enable(self, name: str) -> Person:
        """Let a disabled person in again, with the password, tokens and role they had."""
        person = self._require_person(name)
        changed = self._people.change(person.name, lambda now: replace(now, disabled=None))
        if person.disabled is not None:
            self.record("enable person", changed)
        return changed

    def remove_factor(self, name: str, means: SignInMeans) -> Person:
        """Remove the second factor of a person, for example when their device is lost."""
        person = self._require_person(name)
        means.change_factor(person.name, lambda _: None)
        self.record("remove second factor", person)
        return person

    def invite(self, mail: str, role: str, *, shown: str = "") -> tuple[str, Invitation]:
        """Invite a person to make their own account. Return the secret of the link, and the invitation."""
        address = check_mail(mail)
        if self._people.find_by_mail(address) is not None or self._people.find(address) is not None:
            raise MailTaken(mail=address)
        secret, invitation = new_invitation(
            secrets.token_bytes(RANDOM_BYTES),
            address,
            role_named(role),
            self._now,
            invited_by=self._actor.account,
            shown=check_shown(shown),
        )
        self._people.sweep(self._now)
        self._people.invite(invitation)
        note_audit(self._audit, self._actor, self._now, "invite person", f"mail:{address}", f"role {invitation.role}")
        return secret, invitation

    def invitations(self) -> tuple[Invitation, ...]:
        """Return the invitations that can still be accepted, the oldest first."""
        now = self._now
        return tuple(one for one in self._people.invitations() if one.expires > now)

    def withdraw(self, identity: str) -> Invitation:
        found = next((one for one in self._people.invitations() if one.id == identity), None)
        if found is None or not self._people.withdraw(found.digest):
            raise UnknownInvitation()
        self._record_withdrawn([found])
        return found

    def find_invitation(self, secret: str) -> Invitation:
        """Return the invitation. Raise `BadInvitation` if it can no longer be accepted."""
        return find_invitation(secret, self._people, self._now)

    def accept(self, secret: str, name: str, password_hash: str, address: str) -> Person:
        """Make the account of an invitation, under a name that is not taken yet. `address` is the client's network
        address, for the audit log."""
        invitation = self.find_invitation(secret)
        person = Person(
            check_name(name),
            invitation.role,
            Instant(self._now.seconds),
            password_hash,
            shown="",
            mail=invitation.mail,
        )
        if not self._people.accept(invitation.digest, person):
            raise BadInvitation()
        account = person_account(person.name)
        who = Actor(account, self._actor.scope, None, address)
        detail = f"role {person.role}, mail {person.mail}, invited by {invitation.invited_by or 'a command'}"
        note_audit(self._audit, who, self._now, "accept invitation", account, detail)
        return person

    def _require_person(self, name: str) -> Person:
        person = self._people.find(name)
        if person is None:
            raise UnknownPerson(name=quote(name, 80))
        return person

    @property
    def _now(self) -> Instant:
        return self._clocks.read().wall
