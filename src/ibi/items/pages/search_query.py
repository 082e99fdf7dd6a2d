"""The address of a search, and its filters: those that are set, and those that can be set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.datastructures import QueryParams

from ibi.items.model.item import Item
from ibi.items.model.search import (
    SAMPLED,
    SAMPLED_FACETS,
    Access,
    Facet,
    FacetCount,
    FacetCounts,
    FileKind,
    ListPlace,
    Order,
    SearchPage,
    SearchQuery,
    YearSpan,
)
from ibi.items.rules.highlighting import MarkedText, highlight, summary_line
from ibi.items.rules.search import Filters, facet_value
from ibi.items.rules.search_terms import SearchField, Terms, read_terms
from ibi.standard.errors import InvalidInput
from ibi.standard.label import RepositoryName
from ibi.web.drawings import element
from ibi.web.reader import message
from ibi.web.words import KINDS, short, shown_title

_MOST_FILTERS = 20


def query_of(parameters: QueryParams) -> SearchQuery:
    """Parse the query of an address.

    It has `q`, the facets by their names, `sort`, `page`, and `after` where pages have no numbers any more. `from` and
    `to` are years. Invalid values are ignored.
    """
    text = parameters.get("q", "")
    filters = tuple((facet, value) for facet in Facet for value in parameters.getlist(facet.value) if value.strip())
    filters += _years_asked(parameters)
    orders = {order.value: order for order in Order}
    order = orders.get(parameters.get("sort", ""), usual_order(text.strip()))
    number = parameters.get("page", "1")
    page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    after = _place(parameters.get("after"))
    return SearchQuery(text=text, filters=filters[:_MOST_FILTERS], order=order, page=page, after=after)


def _years_asked(parameters: QueryParams) -> Filters:
    """Return the filter for the span of years in the form. An invalid span is ignored."""
    first, last = parameters.get("from", "").strip(), parameters.get("to", "").strip()
    span = YearSpan.parse(f"{first}..{last}")
    return () if span is None else ((Facet.YEAR, str(span)),)


def _place(text: str | None) -> ListPlace | None:
    try:
        return None if text is None else ListPlace.parse(text)
    except InvalidInput:
        return None


def search_address(query: SearchQuery) -> str:
    return _address("/search", query)


def feed_address(query: SearchQuery) -> str:
    return _address("/search.atom", query)


def export_address(query: SearchQuery, ending: str) -> str:
    return _address(f"/search.{ending}", query)


def _address(path: str, query: SearchQuery) -> str:
    pairs = query_pairs(query)
    return f"{path}?{urlencode(pairs)}" if pairs else path


def query_pairs(query: SearchQuery) -> list[tuple[str, str]]:
    """Return the parameters of a query's address that differ from their defaults."""
    pairs = [("q", query.text)] if query.text else []
    pairs += [(facet.value, value) for facet, value in query.filters]
    pairs += [("sort", query.order.value)] if query.order is not usual_order(query.text) else []
    pairs += [("after", str(query.after))] if query.after is not None else []
    pairs += [("page", str(query.page))] if query.page > 1 else []
    return pairs


def usual_order(text: str) -> Order:
    """Return the default order: by relevance, or newest first if there are no words."""
    return Order.RELEVANCE if text else Order.NEWEST


EXPORTS: Final = (("CSV", "csv"), ("BibTeX", "bib"), ("RIS", "ris"), ("NDJSON", "ndjson"))
"""The formats in which a whole list can be exported, with the ending of each address."""

FACETS: Final[Mapping[Facet, str]] = {
    Facet.SUBJECT: message("Subject"),
    Facet.CREATOR: message("Creator"),
    Facet.TYPE: message("Type"),
    Facet.ACCESS: message("Access"),
    Facet.FILE: message("Files"),
    Facet.LANGUAGE: message("Language"),
    Facet.LICENCE: message("Licence"),
    Facet.YEAR: message("Year"),
    Facet.PREFIX: message("Named by"),
}
_WORDS: Final[Mapping[Facet, Mapping[str, str]]] = {
    Facet.TYPE: {str(kind): words for kind, words in KINDS.items()},
    Facet.ACCESS: {
        Access.OPEN.value: message("Open access"),
        Access.EMBARGO.value: message("Embargo"),
        Access.RESTRICTED.value: message("Restricted access"),
    },
    Facet.FILE: {
        FileKind.PDF.value: "PDF",
        FileKind.DOCUMENT.value: message("Text document"),
        FileKind.SPREADSHEET.value: message("Table"),
        FileKind.PRESENTATION.value: message("Presentation"),
        FileKind.WEB.value: message("Web page"),
        FileKind.TEXT.value: message("Plain text"),
        FileKind.IMAGE.value: message("Image"),
        FileKind.AUDIO.value: message("Sound"),
        FileKind.VIDEO.value: message("Video"),
        FileKind.DATA.value: message("Data"),
        FileKind.PACKAGE.value: message("Package of files"),
        FileKind.OTHER.value: message("Other files"),
    },
}
"""English names of values that are terms of this site."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a facet: the address of the list with or without it, and the number of items that have it."""

    value: str
    url: str
    words: str | None = None
    """Its English name, if it is a term of this site."""
    is_language: bool = False
    number: int | None = None
    is_least: bool = False
    """True if not all items were counted."""


def chosen_filters(query: SearchQuery) -> Iterator[tuple[str, Choice]]:
    """Yield the name of each filter that is set, with the link to the list without it."""
    for facet, value in query.filters:
        rest = tuple(pair for pair in query.filters if pair != (facet, value))
        yield FACETS[facet], _choice(replace(query, filters=rest, page=1, after=None), facet, value)


def offered_facets(
    query: SearchQuery, counts: FacetCounts, found: SearchPage
) -> Iterator[tuple[str, tuple[Choice, ...]]]:
    """Yield the name of each facet, with the links to narrower lists. Years have a chart of their own."""
    for facet, name in FACETS.items():
        is_least = found.is_more or (facet in SAMPLED_FACETS and found.total > SAMPLED)
        choices = tuple(
            replace(_choice(_narrow(query, facet, each.value), facet, each.value, each.number), is_least=is_least)
            for each in counts.of(facet)
            if (facet, each.value) not in query.filters
        )
        if choices and facet is not Facet.YEAR:
            yield name, choices


def subject_address(subject: object) -> str:
    """Return the address of the list of all items with a subject."""
    return search_address(SearchQuery(filters=((Facet.SUBJECT, facet_value(str(subject))),), order=Order.NEWEST))


def _narrow(query: SearchQuery, facet: Facet, value: str) -> SearchQuery:
    return replace(query, filters=(*query.filters, (facet, value)), page=1, after=None)


def _choice(changed: SearchQuery, facet: Facet, value: str, number: int | None = None) -> Choice:
    words = _WORDS.get(facet, {}).get(value)
    shown = _span_words(value) if facet is Facet.YEAR else value
    return Choice(shown, search_address(changed), words, is_language=facet is Facet.LANGUAGE, number=number)


def _span_words(value: str) -> str:
    """Return `2001..2010` in the form for readers."""
    first, dots, last = value.partition("..")
    return f"{first or '…'}–{last or '…'}" if dots else value


_MOST_BARS: Final = 36
_STEPS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
_WIDTH, _HEIGHT = 256, 64


class YearChart(NamedTuple):
    """The number of items of each year, or of each group of years, in order."""

    picture: Markup
    choices: tuple[Choice, ...]
    first: str
    last: str
    hidden: tuple[tuple[str, str], ...]
    """Hidden fields of the form beside the chart."""


def year_chart(query: SearchQuery, counts: FacetCounts) -> YearChart | None:
    """Return the chart, or None if no item has a year."""
    years = counts.all_years
    if not years:
        return None
    rest = replace(
        query, filters=tuple(pair for pair in query.filters if pair[0] is not Facet.YEAR), page=1, after=None
    )
    bars = _bars(years)
    choices = tuple(
        _choice(_narrow(rest, Facet.YEAR, str(span)), Facet.YEAR, str(span), number) for span, number in bars if number
    )
    return YearChart(_draw(bars), choices, years[0].value, years[-1].value, tuple(query_pairs(rest)))


def _bars(years: tuple[FacetCount, ...]) -> list[tuple[YearSpan, int]]:
    first, last = int(years[0].value), int(years[-1].value)
    step = next(step for step in _STEPS if last // step - first // step < _MOST_BARS)
    numbers: dict[int, int] = dict.fromkeys(range(first // step, last // step + 1), 0)
    for each in years:
        numbers[int(each.value) // step] += each.number
    return [(YearSpan(index * step, (index + 1) * step - 1), number) for index, number in numbers.items()]


def _draw(bars: list[tuple[YearSpan, int]]) -> Markup:
    """Draw the chart. It is hidden from screen readers, because the same numbers follow as a list."""
    most, width = max(number for _, number in bars), _WIDTH / len(bars)
    drawn = [
        element(
            "rect",
            element("title", f"{_span_words(str(span))}: {number}"),
            x=index * width,
            y=_HEIGHT - max(number / most * _HEIGHT, 2.0),
            width=max(width - 1.0, 1.0),
            height=max(number / most * _HEIGHT, 2.0),
        )
        for index, (span, number) in enumerate(bars)
        if number
    ]
    return element(
        "svg",
        *drawn,
        class_="years-picture",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        aria_hidden="true",
    )


_MOST_SUBJECTS: Final = 5


class MarkedItem(NamedTuple):
    """The parts of a found item in a list, with the words of the search marked."""

    title: tuple[MarkedText, ...]
    creators: tuple[tuple[MarkedText, ...], ...]
    summary: tuple[MarkedText, ...]
    subjects: tuple[tuple[tuple[MarkedText, ...], str], ...]
    """Each subject with the address of the list of its items."""


def mark_items(items: Iterable[Item], text: str) -> dict[RepositoryName, MarkedItem]:
    terms = read_terms(text)
    return {item.rep: _mark(item, terms) for item in items}


def _mark(item: Item, terms: Terms) -> MarkedItem:
    metadata = item.metadata
    return MarkedItem(
        highlight(shown_title(item), terms, SearchField.TITLE),
        tuple(highlight(short(who), terms, SearchField.CREATOR) for who in metadata.creator[:4]),
        summary_line(str(metadata.description[0]), terms) if metadata.description else (),
        tuple(
            (highlight(short(each, 80), terms, SearchField.SUBJECT), subject_address(each))
            for each in metadata.subject[:_MOST_SUBJECTS]
        ),
    )
