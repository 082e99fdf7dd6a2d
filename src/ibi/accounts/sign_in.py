"""Who may sign in, and what proves it afterwards.

A session's cookie and a sign-in link hold 256 bits of chance each, so that their plain SHA-256 can be stored; a
password is chosen by a person, and its slow hash is made where there are threads for it.
"""

from __future__ import annotations

import re
from base64 import b32encode
from hashlib import sha256
from hmac import compare_digest
from hmac import new as hmac
from typing import Final

from ibi.accounts.errors import BadSignIn, InvalidPersonName, InvalidRole, WeakPassword
from ibi.instant import Instant
from ibi.model.account import Person, Role, Session, SignInLink
from ibi.ports.accounts import People

RANDOM_BYTES: Final = 32
SESSION_SECONDS: Final = 12 * 3600
"""A working day: people do not sit at one desk for longer."""
LINK_SECONDS: Final = 3600
SHORTEST_PASSWORD: Final = 10
_LONGEST_PASSWORD: Final = 1000
_MOST_NAME: Final = 64

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_SECRET = re.compile(r"[a-z2-7]{52}")


def check_name(name: str) -> str:
    """The name, if a person may be called that: it stands in logs, in lists and in e-mail addresses."""
    if not _NAME.fullmatch(name):
        raise InvalidPersonName(name=ascii(name[:80]), most=_MOST_NAME)
    return name


def check_password(password: str, name: str) -> str:
    """The password, if it is not one of those that are tried first."""
    if len(password) < SHORTEST_PASSWORD:
        raise WeakPassword(reason=f"it needs at least {SHORTEST_PASSWORD} characters")
    if len(password) > _LONGEST_PASSWORD:
        raise WeakPassword(reason=f"it has more than {_LONGEST_PASSWORD} characters")
    if name.casefold() in password.casefold() or len(set(password)) < 4:
        raise WeakPassword(reason="it is too easy to guess")
    return password


def role_named(text: str) -> Role:
    for role in Role:
        if role.value == text:
            return role
    raise InvalidRole(role=ascii(text[:40]), roles=", ".join(map(str, Role)))


def new_session(random: bytes, person: Person, now: Instant) -> tuple[str, Session]:
    """What the cookie holds, and the session to be kept."""
    text = _text(random)
    whole = Instant(now.seconds)
    return text, Session(_digest(text), person.name, whole, Instant(whole.seconds + SESSION_SECONDS))


def new_link(random: bytes, person: Person, now: Instant) -> tuple[str, SignInLink]:
    """The secret of the link, and the link to be kept."""
    text = _text(random)
    return text, SignInLink(_digest(text), person.name, Instant(now.seconds + LINK_SECONDS))


def find_signed_in(text: str, people: People, now: Instant) -> tuple[Person, Session] | None:
    """Whose cookie this is, if the session and the person are good."""
    if not _SECRET.fullmatch(text):
        return None
    session = people.find_session(_digest(text))
    if session is None or session.expires <= now:
        return None
    person = people.find(session.person)
    return None if person is None or person.disabled is not None else (person, session)


def person_of_link(text: str, people: People, now: Instant) -> Person:
    """The person that a link would sign in; it stays usable. `BadSignIn` if it is not valid."""
    return _whose(people.find_link(_digest(text)) if _SECRET.fullmatch(text) else None, people, now)


def use_link(text: str, people: People, now: Instant) -> Person:
    """The person that a link signs in, once: after that it is not valid any more."""
    return _whose(people.take_link(_digest(text)) if _SECRET.fullmatch(text) else None, people, now)


def _whose(link: SignInLink | None, people: People, now: Instant) -> Person:
    person = None if link is None or link.expires <= now else people.find(link.person)
    if person is None or person.disabled is not None:
        raise BadSignIn()
    return person


def csrf_of(text: str) -> str:
    """What the forms of a session carry: no other site can know it, and it does not tell the cookie."""
    return hmac(text.encode("ascii"), b"csrf", sha256).hexdigest()[:40]


def check_csrf(text: str, given: str) -> bool:
    return compare_digest(csrf_of(text).encode(), given.encode(errors="replace"))


def _text(random: bytes) -> str:
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"it takes {RANDOM_BYTES} random bytes")
    return b32encode(random).decode("ascii").rstrip("=").lower()


def _digest(text: str) -> bytes:
    return sha256(text.encode("ascii")).digest()
