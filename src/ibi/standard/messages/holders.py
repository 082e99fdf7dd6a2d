"""Header fields of HTTP that an Archive or a resolver adds to its answers, because R's answers have no place for them.

- `IBI-Final: yes` on an empty answer: the label was not given out for use elsewhere; `no`: that is not certain (E62).
- `IBI-Transferred-To: <label>`: the service of the Archive to which the Original was given (E63).
- `IBI-Copies: <label>, <label>`: the services of Archives that hold Copies (E64).
- `IBI-Reason: <word>` on an unconfirmed inclusion: why the resolver did not reach the Archive (E73).
- `IBI-Accepts: https` on every answer of a resolver: it knows Archives of HTTPS (E22).
- `IBI-Key: <key>` and `IBI-Key-Changes: <statement>, <statement>`, also on every answer of a resolver: its signing key,
  and the statements by which it followed earlier keys.
- `IBI-Signature: <statement>`: the signature of the body (E82).
- `IBI-Follower: <statement>` on a request for the feed of changes: the Archive that keeps Copies, and their prefixes.

The bodies stay as the standard prints them. A malformed field is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ibi.standard.errors import InvalidInput, InvalidLabel
from ibi.standard.label import Label, parse
from ibi.standard.label.search import parse_home_prefix
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import InvalidStatement, PublicKey, SigningKey, Statement, read_statement, sign_statement

Field = tuple[bytes, bytes]

FINAL: Final = b"ibi-final"
TRANSFERRED_TO: Final = b"ibi-transferred-to"
COPIES: Final = b"ibi-copies"
REASON: Final = b"ibi-reason"
ACCEPTS: Final = b"ibi-accepts"
KEY: Final = b"ibi-key"
KEY_CHANGES: Final = b"ibi-key-changes"
SIGNATURE: Final = b"ibi-signature"
FOLLOWER: Final = b"ibi-follower"
FINAL_FIELD: Final[Field] = (FINAL, b"yes")
NOT_FINAL_FIELD: Final[Field] = (FINAL, b"no")
ACCEPTS_FIELD: Final[Field] = (ACCEPTS, b"https")
MOST_COPIES: Final = 32
"""Most Archives that one answer names as holders of Copies."""

_LONGEST_LABEL: Final = 512
_REASON: Final = re.compile(rb"[a-z][a-z-]{0,39}")
_LONGEST: Final = 8192
_BLANKS: Final = b" \t"
"""Blanks that may surround a value (RFC 9110 §5.5)."""


def transferred_field(to: Label) -> Field:
    return TRANSFERRED_TO, to.spelling.encode("ascii")


def copies_field(services: Sequence[Label]) -> Field:
    return COPIES, ", ".join(service.spelling for service in services).encode("ascii")


def read_final(value: bytes) -> bool | None:
    """Return whether an empty answer is final; None if the Archive does not say."""
    return {b"yes": True, b"no": False}.get(value.strip(_BLANKS))


@lru_cache(maxsize=256)
def read_transferred_to(value: bytes) -> Label | None:
    return _label(value)


@lru_cache(maxsize=256)
def read_copies(value: bytes) -> tuple[Label, ...]:
    """Return each label once, in order; nothing if one of them is invalid, or if there are too many."""
    if not value or len(value) > _LONGEST or value.count(b",") >= MOST_COPIES:
        return ()
    services = dict.fromkeys(_label(part) for part in value.split(b","))
    labels = tuple(service for service in services if service is not None)
    return labels if len(labels) == len(services) else ()


def reason_field(reason: str) -> Field:
    return REASON, reason.encode("ascii")


def read_reason(value: bytes) -> str | None:
    value = value.strip(_BLANKS)
    return value.decode("ascii") if _REASON.fullmatch(value) else None


def accepts_https(value: bytes) -> bool:
    return b"https" in (word.strip(_BLANKS).lower() for word in value[:_LONGEST].split(b","))


def key_fields(key: PublicKey, changes: Sequence[str]) -> tuple[Field, ...]:
    """Return the fields for the key of a resolver, and for the statements by which earlier keys named it."""
    told = (KEY, str(key).encode("ascii"))
    return (told, (KEY_CHANGES, ", ".join(changes).encode("ascii"))) if changes else (told,)


def signature_field(statement: str) -> Field:
    return SIGNATURE, statement.encode("ascii")


class KeyFields(NamedTuple):
    """The unparsed fields of one answer that are about keys."""

    key: bytes = b""
    changes: bytes = b""
    signature: bytes = b""

    def read_key(self) -> PublicKey | None:
        from ibi.standard.signing import InvalidKey, PublicKey

        try:
            return PublicKey.parse(self.key.strip(_BLANKS).decode("ascii", "replace")) if self.key else None
        except InvalidKey:
            return None

    def read_changes(self) -> tuple[str, ...]:
        return tuple(self.changes.decode("ascii", "replace").replace(",", " ").split())

    def read_signature(self) -> str | None:
        return self.signature.strip(_BLANKS).decode("ascii", "replace") or None


def _label(text: bytes) -> Label | None:
    text = text.strip(_BLANKS)
    if not 0 < len(text) <= _LONGEST_LABEL or not text.isascii():
        return None
    try:
        return parse(text.decode("ascii"))
    except InvalidLabel:
        return None


LONGEST_STATEMENT: Final = 1 << 18
"""Most characters: more than the permitted Archives and prefixes need."""
MOST_PREFIXES: Final = 64
"""Most prefixes of one holder; a holder with more holds Copies of all."""
_KIND: Final = "copies"


class CopyHolder(NamedTuple):
    """An Archive that holds Copies: of all items of the home, or of those with labels that have one of the prefixes."""

    service: Label
    prefixes: frozenset[str] = frozenset()
    """As `ibi.standard.label.search` writes them; empty for all items."""

    @classmethod
    def parse(cls, text: str) -> CopyHolder:
        """Parse `LABEL` or `LABEL=PREFIX,PREFIX`; raise `InvalidLabel` if it is neither."""
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
    """An Archive's statement about all holders of Copies of its items."""

    archive: tuple[Label, ...]
    """The forms of its service's label."""
    at: int
    """The time of the statement, in milliseconds since 1970: the latest counts."""
    holders: tuple[CopyHolder, ...]
    signer: PublicKey


def sign_copies(archive: LabelForms, holders: Iterable[CopyHolder], at: int, key: SigningKey) -> str:
    """Return the statement of the Archive with that service label."""
    claims = {
        "archive": [label.spelling for label in archive.labels],
        "at": at,
        "holders": [
            {"archive": holder.service.spelling, "prefixes": sorted(holder.prefixes) or None} for holder in holders
        ],
    }
    return sign_statement(_KIND, claims, key)


def read_copies_statement(text: str) -> CopiesStatement:
    """Return the statement. Raise `InvalidStatement` if it cannot be parsed, or is not signed by the key it names.

    The caller must check that this is the key of the Archive it names.
    """
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
