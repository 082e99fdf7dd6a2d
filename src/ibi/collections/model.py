"""Collections: searches with a name, a description and a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from ibi.items.model.search import Facet, Order, SearchQuery
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.translatable import message

LONGEST_NAME: Final = 60
LONGEST_TITLE: Final = 200
LONGEST_DESCRIPTION: Final = 5_000
LONGEST_SEARCH: Final = 1_000
MOST_COLLECTIONS: Final = 1_000
MOST_MEMBERS: Final = 10_000
"""Most items that can be added to a collection by hand; a search has no limit."""
RESERVED_NAMES: Final = frozenset({"new"})
"""Names of pages beside those of collections."""
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)


class InvalidCollection(IbiError):
    """The {field} of the collection is refused: {reason}."""

    code = "invalid-collection"
    kind = ErrorKind.MALFORMED
    clauses: ClassVar[tuple[str, ...]] = ("reason",)


class UnknownCollection(IbiError):
    """There is no collection {name}: `/collections` and `ibi collection list` show those there are."""

    code = "unknown-collection"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class CollectionExists(IbiError):
    """There is a collection {name} already: choose another name, or change that one."""

    code = "collection-exists"
    kind = ErrorKind.CONFLICT
    request_field = "name"


class CollectionFull(IbiError):
    """No more than {most} {things} can be kept: nothing was added."""

    code = "collection-full"
    kind = ErrorKind.CONFLICT
    clauses = ("things",)


class FoundBySearch(IbiError):
    """The items of {name} are found by its search: none is put into it or taken out by hand. Change its search instead,
    or leave it out."""

    code = "found-by-search"
    kind = ErrorKind.CONFLICT


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSearch:
    """The search of a collection, without order and page."""

    text: str = ""
    filters: tuple[tuple[Facet, str], ...] = ()

    def query(self, *, page: int = 1, order: Order = Order.NEWEST) -> SearchQuery:
        return SearchQuery(text=self.text, filters=self.filters, order=order, page=page)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCollection:
    """A named set of items. Raise `InvalidCollection` if a field is invalid.

    Without a `search`, its items are chosen by hand, and the store has them.
    """

    name: str
    """The name in its address: lower-case words and digits, with hyphens between."""
    title: str
    description: str = ""
    curator: str | None = None
    """The account that curates it; None: the Archive."""
    search: CollectionSearch | None = None
    created: Instant
    changed: Instant

    def __post_init__(self) -> None:
        for field, value in (("title", _one_line(self.title)), ("description", self.description.strip())):
            object.__setattr__(self, field, value)
        for field, fault in (
            ("name", _name_fault(self.name)),
            ("title", _text_fault(self.title, LONGEST_TITLE, is_needed=True)),
            ("description", _text_fault(self.description.replace("\n", " ").replace("\r", ""), LONGEST_DESCRIPTION)),
            ("search", None if self.search is None else _search_fault(self.search)),
        ):
            if fault is not None:
                reason, most = fault
                raise InvalidCollection(field=field, reason=reason, most=most)


_Fault: TypeAlias = tuple[str, int]
"""A clause that uses `most`, and that number."""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _name_fault(name: str) -> _Fault | None:
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        return message("it is made of small letters, digits and single hyphens, at most {most} of them"), LONGEST_NAME
    return (message("it is that of another page"), LONGEST_NAME) if name in RESERVED_NAMES else None


def _text_fault(text: str, longest: int, *, is_needed: bool = False) -> _Fault | None:
    if is_needed and not text:
        return message("it is missing"), longest
    if len(text) > longest:
        return "it is longer than {most} characters", longest
    return None if text.isprintable() or not text else (message("it has characters that cannot be shown"), longest)


def _search_fault(search: CollectionSearch) -> _Fault | None:
    if not search.text and not search.filters:
        return message("it finds everything: give words or a filter"), LONGEST_SEARCH
    return _text_fault(search.text, LONGEST_SEARCH)
