"""The parts of an item that citations need, before any style, with its DOI, ARK and handle identifiers.

These identifiers are among the item's alternates, or among the identifiers of its description. People write them bare,
with a prefix, or as a link. Other identifiers are left to the description.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote

from ibi.citation.rules.names import Name, one_line, read_name
from ibi.items.model.description_values import Alternate
from ibi.items.model.item import Item
from ibi.items.model.item_types import TypeNames, WorkKind, type_names_of
from ibi.items.model.metadata import IssueDate, Orcid, issue_date
from ibi.standard.instant import Instant, civil
from ibi.standard.safe_text import close_directions

MOST_IDENTIFIERS: Final = 20
"""Most identifiers of one item in a citation."""
_LONGEST_IDENTIFIER: Final = 300


class IdentifierScheme(StrEnum):
    """A kind of identifier. The value is the name that readers know."""

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
    """The value as the scheme writes it: `10.1000/182`, `ark:/12345/x54`, `1822/1234`."""

    @property
    def url(self) -> str:
        """The address at its own resolver."""
        place = quote(self.value, safe="/:;()@!$*',+=._~-")
        return f"{_RESOLVERS[self.scheme]}{place}"


_RESOLVERS: Final = {
    IdentifierScheme.DOI: "https://doi.org/",
    IdentifierScheme.ARK: "https://n2t.net/",
    IdentifierScheme.HANDLE: "https://hdl.handle.net/",
}


def read_identifier(text: str) -> OtherIdentifier | None:
    """Return the identifier in a text. None if it is of no known scheme, or more than one."""
    text = text.strip()
    if len(text) > _LONGEST_IDENTIFIER:
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
    """Return each identifier once. Those by which the item resolves here come first."""
    alternates = (_of_alternate(each) for each in item.alternates)
    described = (read_identifier(text.value) for text in item.metadata.identifier)
    return tuple(dict.fromkeys(filter(None, (*alternates, *described))))[:MOST_IDENTIFIERS]


def written_alternate(alternate: Alternate) -> str:
    """Return another name of an item as a URI, at its own resolver if it has one."""
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


_LONGEST: Final = 2_000
"""Characters of a title or a publisher."""
_LONGEST_ABSTRACT: Final = 20_000
_LONGEST_KEYWORD: Final = 300
_MOST_SOURCES: Final = 20


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of a citation in one typeface. It is not escaped: the page that shows it does that."""

    text: str
    italic: bool = False


def plain(runs: tuple[Run, ...]) -> str:
    return "".join(run.text for run in runs)


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the calendar, such as the day of access."""

    year: int
    month: int
    day: int

    @classmethod
    def of(cls, instant: Instant) -> Day:
        return cls(*civil(instant.seconds // 86_400))

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}-{self.day:02}"


@dataclass(frozen=True, slots=True)
class PlaceInSource:
    """The place of a work within its source."""

    volume: str = ""
    issue: str = ""
    pages: str = ""
    """One page, or the first and the last with a dash between: `1–9`."""
    chapter: str = ""

    @property
    def first_and_last_page(self) -> tuple[str, str]:
        """The first and the last page. Without a last page, the first holds the whole text."""
        first, _, last = self.pages.replace("--", "–").replace("-", "–").partition("–")
        return (self.pages, "") if "–" in last else (first.strip(), last.strip())


# Abbreviations of imported records: Dublin Core has no elements for these.
_PLACES: Final = {"v.": "volume", "n.": "issue", "p.": "pages", "cap.": "chapter"}


def read_place(text: str) -> PlaceInSource | None:
    """Return the place in `v. 3, n. 2, p. 1–9`. None if the text is something else."""
    found: dict[str, str] = {}
    named = ""
    for part in text.split(", "):
        word, _, value = part.partition(" ")
        if word in _PLACES and value:
            named = _PLACES[word]
            found[named] = f"{found[named]}, {value}" if named in found else value
        elif named:  # several page ranges have commas between them
            found[named] = f"{found[named]}, {part}"
        else:
            return None
    return PlaceInSource(**found)


@dataclass(frozen=True, slots=True)
class Work:
    """An item as citations describe it. Every text is on one line and not empty."""

    label: str
    url: str
    type: TypeNames
    genre: str | None
    """The kind in the words of the description."""
    title: str
    """The title, or the label if there is none."""
    authors: tuple[Name, ...]
    orcids: tuple[Orcid | None, ...]
    """The ORCID of each author, in the order of `authors`."""
    contributors: tuple[Name, ...]
    issued: IssueDate | None
    named_in: int
    """The year of its label."""
    publisher: str | None
    source: str | None
    """The work that contains it, such as a journal."""
    language: str | None
    abstract: str | None
    keywords: tuple[str, ...]
    identifiers: tuple[OtherIdentifier, ...] = ()
    """Its names in other systems."""
    place: PlaceInSource = PlaceInSource()

    @property
    def kind(self) -> WorkKind:
        return self.type.csl

    @property
    def dated(self) -> IssueDate:
        """The date of issue in the description. Without one, the year of the label, when the item was named."""
        return IssueDate(self.named_in) if self.issued is None else self.issued

    def identifier(self, scheme: IdentifierScheme) -> str | None:
        """Return the first identifier of this scheme."""
        return next((each.value for each in self.identifiers if each.scheme is scheme), None)


def work_of(item: Item, url: str, *, most: int | None = None) -> Work:
    """Return the work. `url` is the persistent URL; `most` limits authors, contributors and keywords each."""
    metadata = item.metadata
    creators = metadata.creator[:most]
    sources = [line for line in (_line(str(text), _LONGEST) for text in metadata.source[:_MOST_SOURCES]) if line]
    places = {line: read_place(line) for line in sources}
    return Work(
        label=(item.labels.ibip or item.rep).spelling,
        url=one_line(url).replace(" ", "%20"),
        type=type_names_of(metadata),
        genre=_first(map(str, metadata.type)),
        title=_first(metadata.titles(item.language)) or item.rep.spelling,
        authors=tuple(map(read_name, creators)),
        orcids=tuple(creator.orcid for creator in creators),
        contributors=tuple(map(read_name, metadata.contributor[:most])),
        issued=issue_date(metadata),
        named_in=civil(item.rep.instant.seconds // 86_400)[0],
        publisher=_first(map(str, metadata.publisher)),
        source=next((line for line in sources if places[line] is None), None),
        language=None if item.language is None else str(item.language),
        abstract=_first(map(str, metadata.description), _LONGEST_ABSTRACT),
        keywords=tuple(filter(None, (_line(subject.value, _LONGEST_KEYWORD) for subject in metadata.subject[:most]))),
        identifiers=identifiers_of(item),
        place=next(filter(None, places.values()), PlaceInSource()),
    )


def _first(texts: Iterable[str], longest: int = _LONGEST) -> str | None:
    return next(filter(None, (_line(text, longest) for text in texts)), None)


def _line(text: str, longest: int) -> str:
    """Return a text on one line, of at most `longest` characters. Only the start of a very long text is processed."""
    return close_directions(one_line(text[: 10 * longest])[:longest].rstrip())


_ENDS = (".", "!", "?", "…", "。")


def end_sentence(*runs: Run) -> tuple[Run, ...]:
    """Return the runs as a sentence, with a full stop unless it ends with a similar sign. Empty if there is no text."""
    kept = tuple(run for run in runs if run.text)
    if not kept or kept[-1].text.rstrip('”’»")').endswith(_ENDS):
        return kept
    return (*kept, Run("."))


def citation(sentences: Iterable[tuple[Run, ...]]) -> tuple[Run, ...]:
    """Return the sentences with spaces between them. Adjacent runs of one typeface are joined."""
    joined: list[Run] = []
    for sentence in filter(None, sentences):
        for run in (Run(" "), *sentence) if joined else sentence:
            if joined and joined[-1].italic == run.italic:
                joined[-1] = Run(joined[-1].text + run.text, run.italic)
            else:
                joined.append(run)
    return tuple(joined)
