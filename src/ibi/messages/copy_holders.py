"""Who holds Copies of an Archive's items, as the Archive says it: signed, by Archive and prefix (E84).

The word of the home counts while it is silent, so it must be there before: a resolver keeps the statement, and can give
it to others, who check it by the key of the home.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ibi.errors import InvalidInput, InvalidLabel
from ibi.label import Label, parse
from ibi.label.search import parse_home_prefix
from ibi.messages.home_fields import MOST_COPIES
from ibi.messages.label_forms import LabelForms
from ibi.signing import InvalidStatement, PublicKey, SigningKey, Statement, read_statement, sign_statement

LONGEST_STATEMENT: Final = 1 << 18
"""Characters: as many Archives and prefixes as there may be, and more."""
MOST_PREFIXES: Final = 64
"""Prefixes of one holder; who holds more holds Copies of all."""
_KIND: Final = "copies"


class CopyHolder(NamedTuple):
    """An Archive that holds Copies: of all items of the home, or of those whose labels have one of the prefixes."""

    service: Label
    prefixes: frozenset[str] = frozenset()
    """As `ibi.label.search` writes them; empty for all items."""

    @classmethod
    def parse(cls, text: str) -> CopyHolder:
        """From `LABEL` or `LABEL=PREFIX,PREFIX`; `InvalidLabel` if it is neither."""
        label, equals, prefixes = text.partition("=")
        words = prefixes.split(",") if equals else []
        if len(words) > MOST_PREFIXES:
            raise InvalidLabel(text, 0, "it has more than {most} prefixes", most=MOST_PREFIXES)
        return cls(parse(label), frozenset(map(parse_home_prefix, words)))

    def __str__(self) -> str:
        prefixes = ",".join(sorted(self.prefixes))
        return f"{self.service.spelling}={prefixes}" if prefixes else self.service.spelling

    def has_copies_of(self, prefix: str) -> bool:
        return not self.prefixes or prefix in self.prefixes


class CopiesStatement(NamedTuple):
    """What an Archive says of all who hold Copies of its items."""

    archive: tuple[Label, ...]
    """The forms of its service's label."""
    at: int
    """When it said so, in milliseconds since 1970: the latest counts."""
    holders: tuple[CopyHolder, ...]
    signer: PublicKey


def sign_copies(archive: LabelForms, holders: Iterable[CopyHolder], at: int, key: SigningKey) -> str:
    """The statement of the Archive of that service label."""
    claims = {
        "archive": [label.spelling for label in archive.labels],
        "at": at,
        "holders": [
            {"archive": holder.service.spelling, "prefixes": sorted(holder.prefixes) or None} for holder in holders
        ],
    }
    return sign_statement(_KIND, claims, key)


def read_copies_statement(text: str) -> CopiesStatement:
    """`InvalidStatement` if it cannot be understood, or is not signed by the key it names. Whether that is the key of
    the Archive it names is for the caller to say."""
    if len(text) > LONGEST_STATEMENT:
        raise InvalidStatement(text, LONGEST_STATEMENT, "it has more than {most} characters", most=LONGEST_STATEMENT)
    found = read_statement(text, _KIND)
    try:
        return _read(found)
    except (InvalidInput, TypeError, KeyError, AttributeError) as error:
        raise InvalidStatement(text, 0, "it does not tell who holds Copies") from error


def _read(found: Statement) -> CopiesStatement:
    at, archive, holders = found.claims["at"], found.claims["archive"], found.claims["holders"]
    if not isinstance(at, int) or isinstance(at, bool) or not (isinstance(archive, list) and isinstance(holders, list)):
        raise TypeError
    if not 0 < len(archive) <= 2 or len(holders) > MOST_COPIES:
        raise TypeError
    return CopiesStatement(tuple(map(parse, archive)), at, tuple(map(_holder, holders)), found.signer)


def _holder(claims: Any) -> CopyHolder:
    prefixes = claims["prefixes"] or []
    if not isinstance(prefixes, list) or len(prefixes) > MOST_PREFIXES:
        raise TypeError
    return CopyHolder(parse(claims["archive"]), frozenset(map(parse_home_prefix, prefixes)))
