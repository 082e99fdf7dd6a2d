"""Administration of accounts: tokens and people."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from ibi.accounts.errors import PersonExists, UnknownAccount, UnknownPerson
from ibi.accounts.sign_in import RANDOM_BYTES, check_name, check_password, new_link, role_named
from ibi.accounts.tokens import TOKEN_BYTES, new_token, revoke, scope_named
from ibi.instant import Instant
from ibi.model.account import COMMAND, Actor, Person, Role, Token, person_account, service_account
from ibi.model.audit import AuditEntry
from ibi.ports.accounts import People, Tokens
from ibi.ports.audit import AuditLog
from ibi.ports.clocks import Clocks
from ibi.services.accounts.hashing import SecretHasher


class TokenAdmin(Protocol):
    """Administration of tokens, with texts as arguments and results so that it works over HTTP too."""

    def create_token(self, scope: str, name: str, expires: str | None, person: str | None = None) -> dict[str, object]:
        """Create a token, for a person or else for the service account of its name; `token` in the result is its text,
        which is shown only now."""

    def list_tokens(self) -> list[dict[str, object]]: ...

    def revoke_token(self, identity: str) -> dict[str, object]: ...


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
        """Without `people` no token can be made for a person. What `actor` changes is written into the `audit` log."""
        self._tokens, self._clocks, self._people = tokens, clocks, people
        self._audit, self._actor = audit, actor

    def acting_as(self, actor: Actor) -> LocalTokenAdmin:
        return LocalTokenAdmin(self._tokens, self._clocks, self._people, audit=self._audit, actor=actor)

    def create_token(self, scope: str, name: str, expires: str | None, person: str | None = None) -> dict[str, object]:
        until = None if expires is None else Instant.parse(expires)
        now, chance = self._clocks.read().wall, secrets.token_bytes(TOKEN_BYTES)
        owner = None if person is None else self._require_person(person)
        text, token = new_token(chance, scope_named(scope), now, name=name, expires=until, person=owner)
        self._tokens.add(token)
        detail = f"scope {token.scope}, account {token.account}"
        _note(self._audit, self._actor, now, "create token", f"token:{token.id}", detail)
        return {"token": text, **_fields(token)}

    def _require_person(self, name: str) -> Person:
        person = None if self._people is None else self._people.find(name)
        if person is None or person.disabled is not None:
            raise UnknownPerson(name=ascii(name[:80]))
        return person

    def list_tokens(self) -> list[dict[str, object]]:
        return [_fields(token) for token in self._tokens.list()]

    def revoke_token(self, identity: str) -> dict[str, object]:
        now = self._clocks.read().wall
        revoked = revoke(self._tokens, identity, now)
        _note(self._audit, self._actor, now, "revoke token", f"token:{revoked.id}")
        return _fields(revoked)


def _note(audit: AuditLog | None, who: Actor, now: Instant, act: str, subject: str, detail: str = "") -> None:
    if audit is not None:
        at = Instant(now.seconds)
        audit.append([AuditEntry(at, act, subject, who.account, who.token, who.address, detail)])


def _fields(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": str(token.scope),
        "account": token.account,
        "created": str(token.created),
        "expires": None if token.expires is None else str(token.expires),
        "revoked": None if token.revoked is None else str(token.revoked),
    }


def find_account(text: str, people: People | None, tokens: Tokens) -> str | None:
    """The account that a person or a token's name stands for; None, the Archive, for an empty text.

    A name alone is that of a person, or else that of tokens; `person:` or `service:` before it says which.
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
    raise UnknownAccount(account=ascii(text[:100]))


class PersonAdmin:
    """Administration of people."""

    def __init__(self, people: People, clocks: Clocks, hasher: SecretHasher, *, audit: AuditLog | None = None) -> None:
        """What is changed is written into the `audit` log."""
        self._people, self._clocks, self._hasher, self._audit = people, clocks, hasher, audit

    def _log(self, act: str, person: Person, detail: str = "") -> None:
        _note(self._audit, COMMAND, self._now, act, person_account(person.name), detail)

    def create(self, name: str, role: str, password: str | None = None) -> Person:
        hashed = None if password is None else self._hasher.hash_now(check_password(password, name))
        person = Person(check_name(name), role_named(role), Instant(self._now.seconds), hashed)
        self._people.add(person)
        self._log("create person", person, f"role {person.role}")
        return person

    def list(self) -> tuple[Person, ...]:
        return self._people.list()

    def link(self, name: str) -> str:
        """Create a link that signs in once, within the hour, and return its secret."""
        person = self._require_person(name)
        text, link = new_link(secrets.token_bytes(RANDOM_BYTES), person, self._now)
        self._people.add_link(link)
        self._log("make sign-in link", person)
        return text

    def first_link(self) -> str:
        """Create the first sign-in link of a new server: for `admin`, who is created if missing."""
        if self._people.find("admin") is None:
            with suppress(PersonExists):  # another process was quicker
                self.create("admin", Role.ADMIN.value)
        return self.link("admin")

    def set_password(self, name: str, password: str) -> Person:
        person = self._require_person(name)
        hashed = self._hasher.hash_now(check_password(password, person.name))
        changed = self._people.change(person.name, lambda now: replace(now, password_hash=hashed))
        self._people.end_sessions_of(person.name)
        self._log("set password", changed)
        return changed

    def disable(self, name: str) -> Person:
        person = self._require_person(name)
        when = Instant(self._now.seconds)
        changed = self._people.change(person.name, lambda now: replace(now, disabled=now.disabled or when))
        self._people.end_sessions_of(person.name)
        self._log("disable person", changed)
        return changed

    def _require_person(self, name: str) -> Person:
        person = self._people.find(name)
        if person is None:
            raise UnknownPerson(name=ascii(name[:80]))
        return person

    @property
    def _now(self) -> Instant:
        return self._clocks.read().wall
