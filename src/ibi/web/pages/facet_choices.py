"""The filters of a search as links: those that are set, to remove them, and those that would narrow it down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ibi.model.search import Facet, FacetCounts, SearchQuery
from ibi.web.pages.item_words import KINDS
from ibi.web.pages.search_address import search_address
from ibi.web.pages.translation import message

FACETS: Final[Mapping[Facet, str]] = {
    Facet.YEAR: message("Year"),
    Facet.CREATOR: message("Creator"),
    Facet.TYPE: message("Kind"),
    Facet.LANGUAGE: message("Language"),
    Facet.PREFIX: message("Named by"),
}
_KINDS: Final = {str(kind): words for kind, words in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a facet: the address of the list with or without it, and how many items have it."""

    value: str
    url: str
    words: str | None = None
    """Its English name, if it is one of our own terms."""
    is_language: bool = False
    number: int | None = None


def chosen_filters(query: SearchQuery) -> Iterator[tuple[str, Choice]]:
    """The name of each filter that is set, and the link to the list without it."""
    for facet, value in query.filters:
        rest = tuple(pair for pair in query.filters if pair != (facet, value))
        yield FACETS[facet], _choice(replace(query, filters=rest, page=1), facet, value)


def offered_facets(query: SearchQuery, counts: FacetCounts) -> Iterator[tuple[str, tuple[Choice, ...]]]:
    """The name of each facet, and the links to narrower lists."""
    for facet, name in FACETS.items():
        choices = tuple(
            _choice(_narrow(query, facet, each.value), facet, each.value, each.number)
            for each in counts.of(facet)
            if (facet, each.value) not in query.filters
        )
        if choices:
            yield name, choices


def _narrow(query: SearchQuery, facet: Facet, value: str) -> SearchQuery:
    return replace(query, filters=(*query.filters, (facet, value)), page=1)


def _choice(changed: SearchQuery, facet: Facet, value: str, number: int | None = None) -> Choice:
    words = _KINDS.get(value) if facet is Facet.TYPE else None
    return Choice(value, search_address(changed), words, is_language=facet is Facet.LANGUAGE, number=number)
