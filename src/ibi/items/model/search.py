"""A search of the catalogue, and its results."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple

from ibi.items.model.item import Item
from ibi.standard.label import RepositoryName

MOST: Final = 20_000
"""Most matches that are ranked, counted and have numbered pages: a common word has more than a person reads.

The other matches follow, each page after a place in the list.
"""
ENOUGH: Final = 1_000
"""If the last word finds more than this number as it stands, it counts as complete: longer words are not searched."""
SAMPLED: Final = 5_000
"""The number of the newest matches in which creators and subjects are counted.

An item may have several of them, and tens of thousands of names are too many to count for a page.
"""
PAGE_SIZE: Final = 20
LARGEST_PAGE: Final = 100
_LONGEST_TEXT: Final = 1_000


class Facet(Enum):
    """A property by which a list of items is narrowed.

    An item may have several creators, subjects and types of files. Only year, prefix and access are never missing.
    """

    YEAR = "year"
    CREATOR = "creator"
    TYPE = "type"
    LANGUAGE = "language"
    PREFIX = "prefix"
    """The prefix of the repository name, which identifies the subsystem that named the item."""
    SUBJECT = "subject"
    LICENCE = "licence"
    ACCESS = "access"
    """The access to its files today: one of `Access`."""
    FILE = "file"
    """The kinds of its files: some of `FileKind`."""


SAMPLED_FACETS: Final = frozenset({Facet.CREATOR, Facet.SUBJECT})


class Access(Enum):
    OPEN = "open"
    EMBARGO = "embargo"
    """No reader gets them before an announced day."""
    RESTRICTED = "restricted"
    """Readers of certain networks get them."""


class FileKind(Enum):
    """Kinds of files as readers distinguish them."""

    PDF = "pdf"
    DOCUMENT = "document"
    SPREADSHEET = "spreadsheet"
    PRESENTATION = "presentation"
    WEB = "web"
    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    DATA = "data"
    PACKAGE = "package"
    OTHER = "other"


class YearSpan(NamedTuple):
    """The years from the first to the last, inclusive."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> YearSpan | None:
        """Parse `2009`, `2001..2010`, `2001..` or `..2010`; None for anything else. A reversed span is turned
        around."""
        match = _SPAN.fullmatch(text.strip()) if len(text) < _LONGEST_SPAN else None
        if match is None or not (match["first"] or match["last"]):
            return None
        first = int(match["first"] or FIRST_YEAR)
        last = first if match["to"] is None else int(match["last"] or LAST_YEAR)
        return cls(min(first, last), max(first, last))

    def __str__(self) -> str:
        if self.first == self.last:
            return f"{self.first:04}"
        first = "" if self.first == FIRST_YEAR else f"{self.first:04}"
        return f"{first}..{'' if self.last == LAST_YEAR else f'{self.last:04}'}"


FIRST_YEAR, LAST_YEAR = 0, 9999
_SPAN: Final = re.compile("(?P<first>[0-9]{1,4})?(?P<to> ?(?:\\.\\.\\.?|…|-|–) ?(?P<last>[0-9]{1,4})?)?")
_LONGEST_SPAN: Final = 20


class Order(Enum):
    RELEVANCE = "relevance"
    """Titles that begin with the words, titles that have them, creators and subjects, the rest; then newest first."""
    NEWEST = "newest"
    """By the instant of the label, at which the item was named."""
    OLDEST = "oldest"
    TITLE = "title"


@dataclass(frozen=True, slots=True)
class ListPlace:
    """A place in a list of items: after the item with this name. It stays valid while items are added and removed."""

    name: RepositoryName
    title: str = ""
    """The sort key of titles, in a list by title."""

    @classmethod
    def parse(cls, text: str) -> ListPlace:
        """Parse the output of `str`. An invalid name raises the error of the name."""
        name, _, title = text[:_LONGEST_TEXT].partition(" ")
        return cls(RepositoryName.parse(name), title)

    def __str__(self) -> str:
        return f"{self.name} {self.title}".rstrip(" ")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A search. Without text it lists everything; every filter must match.

    Any text is a query: the first thousand characters count. Pages begin with 1; an impossible number becomes the
    nearest possible one.
    """

    text: str = ""
    filters: tuple[tuple[Facet, str], ...] = ()
    order: Order = Order.RELEVANCE
    page: int = 1
    size: int = PAGE_SIZE
    most: int = MOST
    """Most matches to rank, to number pages of and to count."""
    after: ListPlace | None = None
    """The start of the page; the page number is then ignored."""

    def __post_init__(self) -> None:
        size = min(max(self.size, 1), LARGEST_PAGE)
        object.__setattr__(self, "text", " ".join(self.text[:_LONGEST_TEXT].split()))
        object.__setattr__(self, "filters", tuple(dict.fromkeys(self.filters)))
        object.__setattr__(self, "size", size)
        # The page after the last possible one is as empty as any further one.
        last = self.most // size + 1 if self.after is None else self.page
        object.__setattr__(self, "page", min(max(self.page, 1), last))

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.size if self.after is None else 0

    def next_page(self, found: SearchPage, *, by_number: bool) -> SearchQuery | None:
        """Return the query for the page after the one that was `found`; None if there is none.

        A numbered page is requested by its number if `by_number` is true, or else by its place if the list has one. A
        number is for people; a place stays right while items are added and removed.
        """
        has_number = self.after is None and self.offset + self.size < found.total
        if has_number and (by_number or found.following is None):
            return replace(self, page=self.page + 1)
        return None if found.following is None else replace(self, page=self.page + 1, after=found.following)

    @property
    def set(self) -> SearchQuery:
        """The query without page and order, for counting facets."""
        return replace(self, order=Order.RELEVANCE, page=1, size=PAGE_SIZE, after=None)


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The items of one page, without their files, and the total.

    With `is_more` there are more than `total`, which is then `most`.
    """

    items: tuple[Item, ...] = ()
    total: int = 0
    is_more: bool = False
    following: ListPlace | None = None
    """The start of the next page; None if there is none, or if it must be requested by its number."""


class ExtractedText(NamedTuple):
    """The text of a file as far as it was read, and the reason if the text is incomplete."""

    text: str
    ends_because: str | None = None
    may_pass: bool = False
    """True if the reason lies in the machine, not in the file: another attempt may read all of it."""


@dataclass(frozen=True, slots=True)
class FacetCount:
    value: str
    number: int


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """The most frequent values of each facet among the items found.

    Of many items, the newest were counted; for creators and subjects the newest `SAMPLED`.
    """

    year: tuple[FacetCount, ...] = ()
    creator: tuple[FacetCount, ...] = ()
    type: tuple[FacetCount, ...] = ()
    language: tuple[FacetCount, ...] = ()
    prefix: tuple[FacetCount, ...] = ()
    subject: tuple[FacetCount, ...] = ()
    licence: tuple[FacetCount, ...] = ()
    access: tuple[FacetCount, ...] = ()
    file: tuple[FacetCount, ...] = ()
    all_years: tuple[FacetCount, ...] = ()
    """Every year that one of them has, in order."""

    def of(self, facet: Facet) -> tuple[FacetCount, ...]:
        counts: tuple[FacetCount, ...] = getattr(self, facet.value)
        return counts
