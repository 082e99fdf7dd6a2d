"""Tokens made, recognised and measured against what they are used for.

A token reads `ibi_<id>_<secret>`. The id is public and finds the token; the secret is 256 bits of chance, so that its
plain SHA-256 can be stored: there is nothing to guess that a slow hash would have to protect.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from hmac import compare_digest

from ibi.accounts.errors import (
    BeyondRole,
    InvalidExpiry,
    InvalidScope,
    InvalidTokenName,
    NotAllowed,
    NotAuthenticated,
    UnknownToken,
)
from ibi.instant import Instant
from ibi.model.account import ROLE_SCOPES, Person, Scope, Token
from ibi.ports.accounts import Tokens

MAX_NAME = 100
"""Characters in the name of a token."""

_ID_BYTES = 10
_SECRET_BYTES = 32
TOKEN_BYTES = _ID_BYTES + _SECRET_BYTES
"""Random bytes that a new token takes."""

# Base 32 in small letters: one double click marks it all, and no character needs escaping in a URL or a shell.
_ID = re.compile(r"[a-z2-7]{16}")
_TEXT = re.compile(r"ibi_([a-z2-7]{16})_([a-z2-7]{52})")
_NO_DIGEST = bytes(32)
"""Compared with when there is no such token: no secret is known that hashes to it."""


def new_token(
    random: bytes,
    scope: Scope,
    now: Instant,
    *,
    name: str = "",
    expires: Instant | None = None,
    person: Person | None = None,
) -> tuple[str, Token]:
    """The text to be shown once, and the token to be stored. `random` is `TOKEN_BYTES` from an unpredictable source,
    and is used for nothing else. `BeyondRole` if the `person` whose token it is may not do as much."""
    if len(random) != TOKEN_BYTES:
        raise ValueError(f"a token takes {TOKEN_BYTES} random bytes")
    _check_name(name)
    if expires is not None and expires.seconds <= now.seconds:
        raise InvalidExpiry(expires=str(expires), now=str(now))
    if person is not None:
        _check_role(person, scope)
    identity, secret = _base32(random[:_ID_BYTES]), _base32(random[_ID_BYTES:])
    token = Token(
        identity,
        scope,
        _digest(secret),
        _whole(now),
        name,
        None if expires is None else _whole(expires),
        person=None if person is None else person.name,
    )
    return f"ibi_{identity}_{secret}", token


def authenticate(text: str, find: Callable[[str], Token | None], now: Instant) -> Token:
    """The valid token that `text` spells; `NotAuthenticated` for everything else, whatever is wrong with it.

    A text of the right form costs one `find`, one hash and one comparison, whether or not there is such a token.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise NotAuthenticated()
    token = find(match[1])
    digest = _NO_DIGEST if token is None else token.digest
    if not compare_digest(_digest(match[2]), digest) or token is None or not token.is_valid_at(now):
        raise NotAuthenticated()
    return token


def require(token: Token, needed: Scope) -> None:
    """Refuse with `NotAllowed` what the token's scope does not include."""
    if not token.scope.includes(needed):
        raise NotAllowed(scope=str(token.scope), needed=str(needed))


def as_person_may(token: Token, person: Person | None) -> Token:
    """A person's token as it counts now: it ends with their account, and never allows more than their role.

    `NotAuthenticated` if there is no such person any more, or they are disabled.
    """
    if person is None or person.disabled is not None:
        raise NotAuthenticated()
    allowed = ROLE_SCOPES[person.role]
    if token.scope in allowed:
        return token
    within = [scope for scope in Scope if scope in allowed and token.scope.includes(scope)]
    return replace(token, scope=within[-1])


def _check_role(person: Person, scope: Scope) -> None:
    allowed = ROLE_SCOPES[person.role]
    if scope not in allowed:
        scopes = " or ".join(str(each) for each in Scope if each in allowed)
        raise BeyondRole(person=person.name, role=str(person.role), scope=str(scope), scopes=scopes)


def revoke(tokens: Tokens, identity: str, now: Instant) -> Token:
    """Make a token invalid for good; the token as it is then. A second time changes nothing."""
    revoked = tokens.revoke(identity, _whole(now)) if _ID.fullmatch(identity) else None
    if revoked is None:
        raise UnknownToken(id=_quote(identity))
    return revoked


def scope_named(text: str) -> Scope:
    for scope in Scope:
        if scope.value == text:
            return scope
    raise InvalidScope(scope=_quote(text), scopes=", ".join(map(str, Scope)))


def _check_name(name: str) -> None:
    """A name stands in tables and log lines: it may neither break them nor fill them."""
    if len(name) > MAX_NAME or not name.isprintable():
        raise InvalidTokenName(most=MAX_NAME)


def _quote(text: str) -> str:
    """What a message quotes. A whole token may be given where its id is asked for: the secret is not repeated."""
    return repr(text if len(text) <= 16 else f"{text[:16]}…")


def _whole(instant: Instant) -> Instant:
    return Instant(instant.seconds)


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("ascii")).digest()


def _base32(raw: bytes) -> str:
    from base64 import b32encode

    return b32encode(raw).decode("ascii").rstrip("=").lower()
