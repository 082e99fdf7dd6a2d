"""Other names of an item that citations know by their kind: DOI, ARK and handle.

They are among its alternates, or among the identifiers of its description, as people write them: bare, with a prefix,
or as a link. What is none of the three is left to the description.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote

from ibi.model.alternate import Alternate
from ibi.model.item import Item

MOST_IDENTIFIERS: Final = 20
"""Of one item, in a citation."""
_LONGEST: Final = 300


class IdentifierScheme(StrEnum):
    """The value is the name that readers know."""

    DOI = "DOI"
    ARK = "ARK"
    HANDLE = "Handle"


# ISO 26324: a prefix of 10 and a number of the registrant, a slash, and a suffix of printable characters.
_DOI: Final = re.compile(
    r"(?:(?:https?://)?(?:dx\.|www\.)?doi\.org/|(?:info:)?doi[:/]\s*)?(10\.\d{4,9}(?:\.\d+)*/\S+)", re.IGNORECASE
)
# The ARK Identifier Scheme (draft-kunze-ark): a name assigning authority of five or more digits or betanumerics.
_ARK: Final = re.compile(r"(?:https?://[^/\s]+/)?ark:/?([0-9bcdfghjkmnpqrstvwxz]{5,16}/\S+)", re.IGNORECASE)
# RFC 3651: a naming authority of segments, a slash, and a local name.
_HANDLE: Final = re.compile(
    r"(?:(?:https?://)?hdl\.handle\.net/|(?:info:)?hdl[:/]\s*)(\d+(?:\.[\w-]+)*/\S+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class OtherIdentifier:
    scheme: IdentifierScheme
    value: str
    """As the scheme writes it: `10.1000/182`, `ark:/12345/x54`, `1822/1234`."""

    @property
    def url(self) -> str:
        """Where its own resolver has it."""
        place = quote(self.value, safe="/:;()@!$*',+=._~-")
        return f"{_RESOLVERS[self.scheme]}{place}"


_RESOLVERS: Final = {
    IdentifierScheme.DOI: "https://doi.org/",
    IdentifierScheme.ARK: "https://n2t.net/",
    IdentifierScheme.HANDLE: "https://hdl.handle.net/",
}


def read_identifier(text: str) -> OtherIdentifier | None:
    """The identifier that a text is; None if it is none of these, or more than one."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if "://" in text and "%" in text:
        text = unquote(text)
    if not text.isprintable():
        return None
    if (doi := _DOI.fullmatch(text)) is not None:
        return OtherIdentifier(IdentifierScheme.DOI, doi[1])
    if (ark := _ARK.fullmatch(text)) is not None:
        return OtherIdentifier(IdentifierScheme.ARK, f"ark:/{ark[1]}")
    if (handle := _HANDLE.fullmatch(text)) is not None:
        return OtherIdentifier(IdentifierScheme.HANDLE, handle[1])
    return None


def identifiers_of(item: Item) -> tuple[OtherIdentifier, ...]:
    """Each once: first those by which the item resolves here."""
    alternates = (_of_alternate(each) for each in item.alternates)
    described = (read_identifier(text.value) for text in item.metadata.identifier)
    return tuple(dict.fromkeys(filter(None, (*alternates, *described))))[:MOST_IDENTIFIERS]


def written_alternate(alternate: Alternate) -> str:
    """Another name of an item as a URI: where its own resolver has it, if it has one."""
    known = _of_alternate(alternate)
    if known is not None:
        return known.url
    return alternate.value if alternate.scheme == "url" else str(alternate)


def _of_alternate(alternate: Alternate) -> OtherIdentifier | None:
    scheme = _SCHEMES.get(alternate.scheme)
    if scheme is None:
        return None
    return OtherIdentifier(scheme, f"ark:/{alternate.value}" if scheme is IdentifierScheme.ARK else alternate.value)


_SCHEMES: Final = {
    "doi": IdentifierScheme.DOI,
    "ark": IdentifierScheme.ARK,
    "hdl": IdentifierScheme.HANDLE,
}
