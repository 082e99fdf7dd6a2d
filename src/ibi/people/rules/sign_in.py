"""Rules of signing in: the second factor, sessions, links and invitations.

The second factor is a code that a device computes from the time and a secret (RFC 6238). Recovery codes replace a lost
device. A code is valid in its own 30 seconds and in the periods before and after, since clocks differ. It is valid
once, so a code that somebody watched is worthless.

A session cookie and a sign-in link hold 256 random bits each, so their plain SHA-256 can be stored. A person chooses a
password, so it needs a slow hash, which is computed where threads are available.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from hmac import compare_digest
from hmac import new as hmac
from typing import Final
from urllib.parse import quote, urlencode

from ibi.people.model.account import (
    ROLE_SCOPES,
    Invitation,
    LinkUse,
    Person,
    Role,
    Scope,
    SecondFactor,
    Session,
    SignInLink,
    Token,
)
from ibi.people.ports import People, Tokens
from ibi.people.rules.errors import (
    BadInvitation,
    BadSignIn,
    BeyondRole,
    InvalidExpiry,
    InvalidScope,
    InvalidTokenName,
    NotAllowed,
    NotAuthenticated,
    UnknownToken,
)
from ibi.standard.instant import Instant

SECRET_BYTES: Final = 20
"""The length that RFC 4226 recommends for SHA-1."""
DIGITS: Final = 6
PERIOD: Final = 30
_TOLERANCE: Final = (0, -1, 1)
"""Offsets of the valid periods from the present one."""
RECOVERY_CODES: Final = 10
_RECOVERY_BYTES: Final = 10
RECOVERY_RANDOM: Final = RECOVERY_CODES * _RECOVERY_BYTES


def code_at(secret: bytes, seconds: int) -> str:
    """Return the code of the period that contains this second."""
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.twofactor.totp import TOTP

    return TOTP(secret, DIGITS, SHA1(), PERIOD).generate(seconds).decode("ascii")  # noqa: S303 - RFC 6238


def use_code(factor: SecondFactor, text: str, now: Instant) -> SecondFactor | None:
    """Return the factor after one use of the code or recovery code. None if the code is wrong."""
    given = "".join(text[:100].split()).replace("-", "").lower()
    if given.isascii() and given.isdigit():
        return _use_digits(factor, given, now)
    digest = sha256(given.encode(errors="replace")).digest()
    known = next((each for each in factor.recovery if compare_digest(each, digest)), None)
    # A recovery code replaces only a device that was confirmed before.
    if known is None or factor.confirmed is None:
        return None
    return replace(factor, recovery=factor.recovery - {known})


def _use_digits(factor: SecondFactor, digits: str, now: Instant) -> SecondFactor | None:
    for step in (now.seconds // PERIOD + each for each in _TOLERANCE):
        if step > factor.last_step and compare_digest(code_at(factor.secret, step * PERIOD), digits):
            return replace(factor, last_step=step)
    return None


def recovery_codes(random: bytes) -> tuple[tuple[str, ...], frozenset[bytes]]:
    """Return new recovery codes, to show once, and their digests, to store. `random` is `RECOVERY_RANDOM` bytes."""
    if len(random) != RECOVERY_RANDOM:
        raise ValueError(f"recovery codes take {RECOVERY_RANDOM} random bytes")
    parts = (random[place : place + _RECOVERY_BYTES] for place in range(0, len(random), _RECOVERY_BYTES))
    plain = [b32encode(part).decode("ascii").lower() for part in parts]
    shown = tuple("-".join(code[place : place + 4] for place in range(0, len(code), 4)) for code in plain)
    return shown, frozenset(sha256(code.encode("ascii")).digest() for code in plain)


def spell_secret(secret: bytes) -> str:
    """Return the secret as people type it into a device."""
    text = b32encode(secret).decode("ascii")
    return " ".join(text[place : place + 4] for place in range(0, len(text), 4))


def enrolment_uri(secret: bytes, person: str, site: str) -> str:
    """Return the URI that a device reads from a QR code."""
    label = quote(f"{site.replace(':', ' ')}:{person}", safe=":@")
    said = {"secret": b32encode(secret).decode("ascii"), "issuer": site, "digits": DIGITS, "period": PERIOD}
    return f"otpauth://totp/{label}?{urlencode(said, quote_via=quote)}"


RANDOM_BYTES: Final = 32
SESSION_SECONDS: Final = 12 * 3600
"""A working day: people do not sit at one desk for longer."""
LINK_SECONDS: Final = 3600
CODE_SECONDS: Final = 300
"""Time between the right password and the code of the second factor."""
INVITATION_SECONDS: Final = 14 * 86_400
"""Two weeks: an invitation waits for people who are away."""

_SECRET = re.compile(r"[a-z2-7]{52}")


def new_session(
    random: bytes, person: Person, now: Instant, *, network: str = "", browser: str = ""
) -> tuple[str, Session]:
    """Return the text of the cookie, and the session to store."""
    text = _text(random)
    whole = Instant(now.seconds)
    expires = Instant(whole.seconds + SESSION_SECONDS)
    return text, Session(_digest(text), person.name, whole, expires, network, browser)


def new_link(
    random: bytes, person: Person, now: Instant, use: LinkUse = LinkUse.SIGN_IN, seconds: int = LINK_SECONDS
) -> tuple[str, SignInLink]:
    """Return the secret of the link, and the link to store."""
    text = _text(random)
    return text, SignInLink(_digest(text), person.name, Instant(now.seconds + seconds), use)


def new_invitation(
    random: bytes, mail: str, role: Role, now: Instant, *, invited_by: str | None = None, shown: str = ""
) -> tuple[str, Invitation]:
    """Return the secret of the invitation, and the invitation to store."""
    text = _text(random)
    expires = Instant(now.seconds + INVITATION_SECONDS)
    return text, Invitation(_digest(text), mail, role, Instant(now.seconds), expires, invited_by, shown)


def find_invitation(text: str, people: People, now: Instant) -> Invitation:
    """Return the invitation with this secret. Raise `BadInvitation` if it was used or withdrawn, or is too old."""
    found = people.find_invitation(_digest(text)) if _SECRET.fullmatch(text) else None
    if found is None or found.expires <= now:
        raise BadInvitation()
    return found


def find_signed_in(text: str, people: People, now: Instant) -> tuple[Person, Session] | None:
    """Return the person and the session of a cookie. None if the session is unknown or expired, or the person is
    missing or disabled."""
    if not _SECRET.fullmatch(text):
        return None
    session = people.find_session(_digest(text))
    if session is None or session.expires <= now:
        return None
    person = people.find(session.person)
    return None if person is None or person.disabled is not None else (person, session)


def person_of_link(text: str, people: People, now: Instant, use: LinkUse = LinkUse.SIGN_IN) -> Person:
    """Return the person of a link without using the link up. Raise `BadSignIn` if it is invalid, or for another use."""
    link = people.find_link(_digest(text)) if _SECRET.fullmatch(text) else None
    return _whose(None if link is None or link.use is not use else link, people, now)


def use_link(text: str, people: People, now: Instant, use: LinkUse = LinkUse.SIGN_IN) -> Person:
    """Return the person of a link and use the link up: it works once."""
    link = people.find_link(_digest(text)) if _SECRET.fullmatch(text) else None
    if link is None or link.use is not use:
        raise BadSignIn()
    # The person is read before the link is taken. If they get another password in between, the link is gone. If they
    # get it later, the person as read here opens no session.
    person = people.find(link.person)
    return _check_person(person, people.take_link(link.digest), now)


def _whose(link: SignInLink | None, people: People, now: Instant) -> Person:
    return _check_person(None if link is None else people.find(link.person), link, now)


def _check_person(person: Person | None, link: SignInLink | None, now: Instant) -> Person:
    if link is None or link.expires <= now or person is None or person.disabled is not None:
        raise BadSignIn()
    return person


def find_by_sign_in(text: str, people: People) -> Person | None:
    """Return the person who signs in under this text: a name or an e-mail address."""
    return people.find(text) or (people.find_by_mail(text) if "@" in text else None)


def csrf_of(text: str) -> str:
    """Return the CSRF token of a session for its forms. Other sites cannot know it, and it does not reveal the
    cookie."""
    return hmac(text.encode("ascii"), b"csrf", sha256).hexdigest()[:40]


def check_csrf(text: str, given: str) -> bool:
    return compare_digest(csrf_of(text).encode(), given.encode(errors="replace"))


def _text(random: bytes) -> str:
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"it takes {RANDOM_BYTES} random bytes")
    return b32encode(random).decode("ascii").rstrip("=").lower()


def _digest(text: str) -> bytes:
    return sha256(text.encode("ascii")).digest()


# A token reads `ibi_<id>_<secret>`. The id is public and finds the token. The secret is 256 random bits, so its plain
# SHA-256 can be stored: a slow hash would only protect a secret that can be guessed.

MAX_NAME = 100
"""Most characters in the name of a token."""

_ID_BYTES = 10
_SECRET_BYTES = 32
TOKEN_BYTES = _ID_BYTES + _SECRET_BYTES
"""Random bytes that a new token takes."""

# Base 32 in small letters: a double click selects it whole, and no character needs escaping in a URL or a shell.
_ID = re.compile(r"[a-z2-7]{16}")
_TEXT = re.compile(r"ibi_([a-z2-7]{16})_([a-z2-7]{52})")
_NO_DIGEST = bytes(32)
"""The digest to compare with if there is no such token: no known secret hashes to it."""


def new_token(
    random: bytes,
    scope: Scope,
    now: Instant,
    *,
    name: str = "",
    expires: Instant | None = None,
    person: Person | None = None,
) -> tuple[str, Token]:
    """Return the text to show once, and the token to store.

    `random` is `TOKEN_BYTES` from an unpredictable source, and must be used for nothing else. Raise `BeyondRole` if the
    scope exceeds the role of `person`, the owner of the token.
    """
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
    """Return the valid token that `text` spells. Raise `NotAuthenticated` for everything else, without the cause.

    A text of the right form costs one `find`, one hash and one comparison, whether or not there is such a token.
    """
    token = recognise(text, find)
    if token is None or not token.is_valid_at(now):
        raise NotAuthenticated()
    return token


def recognise(text: str, find: Callable[[str], Token | None]) -> Token | None:
    """Return the token that `text` spells, even if it is revoked or expired. None if there is none."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    token = find(match[1])
    digest = _NO_DIGEST if token is None else token.digest
    return token if compare_digest(_digest(match[2]), digest) else None


def require(token: Token, needed: Scope) -> None:
    """Raise `NotAllowed` unless the token's scope includes `needed`."""
    if not token.scope.includes(needed):
        raise NotAllowed(scope=str(token.scope), needed=str(needed))


def as_person_may(token: Token, person: Person | None) -> Token:
    """Return a person's token with its scope limited to the role of that person.

    The token ends with the account: raise `NotAuthenticated` if the person is missing or disabled.
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
    """Make a token invalid for good, and return it. Repeating this changes nothing."""
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
    """Raise `InvalidTokenName` if a name could break or fill the tables and log lines that show it."""
    if len(name) > MAX_NAME or not name.isprintable():
        raise InvalidTokenName(most=MAX_NAME)


def _quote(text: str) -> str:
    """Return the text for a message. A caller may give a whole token instead of its id: its secret is not repeated."""
    return repr(text if len(text) <= 16 else f"{text[:16]}…")


def _whole(instant: Instant) -> Instant:
    return Instant(instant.seconds)


def _base32(raw: bytes) -> str:
    return b32encode(raw).decode("ascii").rstrip("=").lower()
