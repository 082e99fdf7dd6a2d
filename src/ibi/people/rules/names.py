"""Rules for the names, e-mail addresses and passwords of people.

A person signs in and owns items under a name, in letters of any script. Pages may show another name. Spellings that
people take for the same name (capitals, composed and decomposed letters, wide letters) are one name.
"""

from __future__ import annotations

from typing import Final
from unicodedata import category, name, normalize

from ibi.people.model.account import Role
from ibi.people.rules.errors import InvalidMail, InvalidPersonName, InvalidRole, WeakPassword
from ibi.standard.errors import InvalidMessage
from ibi.standard.messages.values import mail_address
from ibi.standard.safe_text import quote

SHORTEST_PASSWORD: Final = 10
_LEAST_DIFFERENT: Final = 4
"""Different characters that a password needs at least."""
_LONGEST_PASSWORD: Final = 1000
MOST_NAME: Final = 64
MOST_SHOWN: Final = 100
_SIGNS: Final = frozenset(" ._-'’·")
_MOST_MARKS: Final = 3
"""Marks over one letter: scripts of India and South-East Asia need as many."""
_ALIKE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
"""Scripts with letters that look alike. A name uses letters of only one of them."""


def check_name(text: str) -> str:
    """Return the name in NFC, or raise `InvalidPersonName`. A name appears in logs, in lists and beside items."""
    found = normalize("NFC", text)
    if not _is_name(found):
        raise InvalidPersonName(name=quote(text, 80), most=MOST_NAME)
    return found


def nearest_name(text: str, most: int = MOST_NAME) -> str | None:
    """Return a name of at most `most` characters made from a text with other characters: `Ávila João` from `Ávila,
    João`. None if the text contains no name."""
    spelled = "".join(each if _may_stand(each) else " " for each in normalize("NFC", text.replace("@", " at ")))
    words = " ".join(spelled.split())
    begins = next((place for place, each in enumerate(words) if _is_letter(each)), len(words))
    found = words[begins:][:most].rstrip()
    return found if _is_name(found) else None


def check_shown(text: str) -> str:
    """Return the name that pages show for a person, in NFC. It may be empty: then pages show the name."""
    found = " ".join(normalize("NFC", text).split())
    if len(found) > MOST_SHOWN or not found.isprintable() or _has_too_many_marks(found):
        raise InvalidPersonName(name=quote(text, 80), most=MOST_SHOWN)
    return found


def check_mail(text: str) -> str:
    try:
        return mail_address(text.strip())
    except InvalidMessage:
        raise InvalidMail(mail=quote(text, 80)) from None


def fold_name(text: str) -> str:
    """Return the form that all spellings of a name share. It also accepts texts that are no name."""
    return normalize("NFKC", normalize("NFKC", text[:400]).casefold())


def check_password(password: str, person: str) -> str:
    """Return the password, or raise `WeakPassword` if it is easy to guess."""
    if len(password) < SHORTEST_PASSWORD:
        raise WeakPassword(reason=f"it needs at least {SHORTEST_PASSWORD} characters")
    if len(password) > _LONGEST_PASSWORD:
        raise WeakPassword(reason=f"it has more than {_LONGEST_PASSWORD} characters")
    if len(person) > 2 and fold_name(person) in fold_name(password):
        raise WeakPassword(reason="it has the name of the account in it")
    if len(set(password)) < _LEAST_DIFFERENT:
        raise WeakPassword(reason=f"it needs at least {_LEAST_DIFFERENT} different characters")
    return password


def role_named(text: str) -> Role:
    for role in Role:
        if role.value == text:
            return role
    raise InvalidRole(role=quote(text, 40), roles=", ".join(map(str, Role)))


def _is_name(text: str) -> bool:
    if not 0 < len(text) <= MOST_NAME or not _is_letter(text[0]) or text[-1] == " " or "  " in text:
        return False
    # Only one at sign is allowed: it occurs in a name only if the name is an e-mail address.
    plain = text.replace("@", "", 1)
    return all(map(_may_stand, plain)) and not _has_too_many_marks(text) and len(_scripts(text)) <= 1


def _may_stand(character: str) -> bool:
    return _is_letter(character) or category(character)[0] == "M" or character in _SIGNS


def _is_letter(character: str) -> bool:
    return category(character)[0] == "L" or category(character) == "Nd"


def _has_too_many_marks(text: str) -> bool:
    marks = 0
    for each in text:
        marks = marks + 1 if category(each)[0] == "M" else 0
        if marks > _MOST_MARKS:
            return True
    return False


def _scripts(text: str) -> set[str]:
    """Return the look-alike scripts that the letters of the text belong to."""
    return {name(each, "").partition(" ")[0] for each in text if category(each)[0] == "L"} & _ALIKE
