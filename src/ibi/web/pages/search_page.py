"""The search: its page, its address, its filters, and the same as a feed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import InvalidInput
from ibi.model.search import Facet, FacetCounts, ListPlace, Order, SearchQuery
from ibi.services.items.searching import Searching
from ibi.services.sites import ArchiveSite
from ibi.web.pages import redirect
from ibi.web.pages.atom import MEDIA_TYPE, Feed, atom
from ibi.web.pages.explain_page import parse_link
from ibi.web.pages.item_words import KINDS, ItemListing
from ibi.web.pages.language import message
from ibi.web.pages.rendering import SITE, SiteFacts, render

_MOST_FILTERS = 20


def query_of(parameters: QueryParams) -> SearchQuery:
    """Parse the query of an address: `q`, the facets by their names, `sort`, `page`, and `after`, where pages have no
    numbers any more. Invalid values are ignored."""
    text = parameters.get("q", "")
    filters = tuple((facet, value) for facet in Facet for value in parameters.getlist(facet.value) if value.strip())
    orders = {order.value: order for order in Order}
    order = orders.get(parameters.get("sort", ""), usual_order(text.strip()))
    number = parameters.get("page", "1")
    page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    after = _place(parameters.get("after"))
    return SearchQuery(text=text, filters=filters[:_MOST_FILTERS], order=order, page=page, after=after)


def _place(text: str | None) -> ListPlace | None:
    try:
        return None if text is None else ListPlace.parse(text)
    except InvalidInput:
        return None


def search_address(query: SearchQuery) -> str:
    return _address("/search", query)


def feed_address(query: SearchQuery) -> str:
    return _address("/search.atom", query)


def _address(path: str, query: SearchQuery) -> str:
    pairs = query_pairs(query)
    return f"{path}?{urlencode(pairs)}" if pairs else path


def query_pairs(query: SearchQuery) -> list[tuple[str, str]]:
    """The parameters of a query's address that are not at their defaults."""
    pairs = [("q", query.text)] if query.text else []
    pairs += [(facet.value, value) for facet, value in query.filters]
    pairs += [("sort", query.order.value)] if query.order is not usual_order(query.text) else []
    pairs += [("after", str(query.after))] if query.after is not None else []
    pairs += [("page", str(query.page))] if query.page > 1 else []
    return pairs


def usual_order(text: str) -> Order:
    """The default order: relevance, or without words the newest first."""
    return Order.RELEVANCE if text else Order.NEWEST


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
        yield FACETS[facet], _choice(replace(query, filters=rest, page=1, after=None), facet, value)


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
    return replace(query, filters=(*query.filters, (facet, value)), page=1, after=None)


def _choice(changed: SearchQuery, facet: Facet, value: str, number: int | None = None) -> Choice:
    words = _KINDS.get(value) if facet is Facet.TYPE else None
    return Choice(value, search_address(changed), words, is_language=facet is Facet.LANGUAGE, number=number)


_ORDERS: Final[Mapping[Order, str]] = {
    Order.RELEVANCE: message("Best match"),
    Order.NEWEST: message("Newest first"),
    Order.OLDEST: message("Oldest first"),
    Order.TITLE: message("By title"),
}
_SHOWN: Final = 8
"""Values of a facet that are shown at first; the others can be unfolded."""


class SearchPages:
    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        query = query_of(request.query_params)
        direct = None if query.filters or query.page > 1 else await direct_link(self._site, query.text)
        if direct is not None:
            return redirect(direct)
        found, counts = await self._searching.page(query)
        following = query.next_page(found, by_number=True)
        first = replace(query, page=1, after=None)
        return render(
            request.scope,
            "search.html",
            query=query,
            found=found,
            listed=ItemListing(self._site),
            chosen=tuple(chosen_filters(query)),
            facets=tuple(offered_facets(query, counts)),
            shown=_SHOWN,
            orders=tuple(_orders(query)),
            feed=feed_address(first),
            pages=None if found.is_more or query.after else max(1, -(-found.total // query.size)),
            first=None if query.after is None else search_address(first),
            previous=search_address(replace(query, page=query.page - 1)) if _has_previous(query) else None,
            following=None if following is None else search_address(following),
        )


def _has_previous(query: SearchQuery) -> bool:
    """Whether the page before has a number."""
    return query.page > 1 and query.after is None


async def direct_link(site: ArchiveSite, text: str) -> str | None:
    """The address for a text that is a label or a link: the item's page if it is here, or else the resolver."""
    if "/" not in text:
        return None
    try:
        wanted = parse_link(text)
    except InvalidInput:
        return None
    item = await site.find(wanted.label)
    if item is not None and wanted.text("", keep_spelling=True) == wanted.label.spelling:
        return site.urls.metadata(item, None, None)
    return wanted.text(site.resolver or site.public_url, keep_spelling=True)


def _orders(query: SearchQuery) -> Iterator[tuple[str, str, bool]]:
    """The name and address of each order, and whether it is the one of this page."""
    for order, words in _ORDERS.items():
        if order is not Order.RELEVANCE or query.text:
            yield words, search_address(replace(query, order=order, page=1, after=None)), order is query.order


class FeedPage:
    """The feed of a search, newest first unless the address says otherwise."""

    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        asked = query_of(request.query_params)
        query = asked if "sort" in request.query_params else replace(asked, order=Order.NEWEST)
        found = await self._searching.search(query)
        site, facts = self._site, request.scope.get(SITE, SiteFacts())
        following = query.next_page(found, by_number=True)

        def address(other: SearchQuery) -> str:
            return f"{site.public_url}{feed_address(replace(asked, page=other.page, after=other.after))}"

        feed = Feed(
            title=f"{facts.name}: {query.text}" if query.text else facts.name,
            own_url=address(query),
            page_url=f"{site.public_url}{search_address(asked)}",
            author=facts.name,
            previous_url=address(replace(query, page=query.page - 1)) if _has_previous(query) else None,
            next_url=None if following is None else address(following),
        )
        body = atom(
            feed,
            found.items,
            site.now,
            lambda item: site.persistent_url(item.labels),
            lambda item: site.urls.metadata(item, None, None),
        )
        return Response(body, 200, {"cache-control": "public, max-age=300"}, MEDIA_TYPE)
