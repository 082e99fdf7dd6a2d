"""`/search`: items found by words and narrowed down by facets; and `/`, where one begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import InvalidInput
from ibi.model.item import Item
from ibi.model.search import Facet as By
from ibi.model.search import FacetCounts, Order, SearchQuery
from ibi.services.searching import Searching
from ibi.web.archive_site import ArchiveSite
from ibi.web.atom import MEDIA_TYPE, Feed, atom
from ibi.web.pages import redirect
from ibi.web.pages.explain_page import read
from ibi.web.pages.item_words import KINDS
from ibi.web.pages.relatives import shown_title
from ibi.web.pages.rendering import SITE, SiteFacts, render
from ibi.web.pages.translation import message

__all__ = ["RECENT", "FeedPage", "HomePage", "SearchPages", "direct_link", "query_of", "query_string"]

RECENT: Final = 8
_FACETS: Final[Mapping[By, str]] = {
    By.YEAR: message("Year"),
    By.CREATOR: message("Creator"),
    By.TYPE: message("Kind"),
    By.LANGUAGE: message("Language"),
    By.PREFIX: message("Named by"),
}
_ORDERS: Final[Mapping[Order, str]] = {
    Order.RELEVANCE: message("Best match"),
    Order.NEWEST: message("Newest first"),
    Order.OLDEST: message("Oldest first"),
    Order.TITLE: message("By title"),
}
_KINDS: Final = {str(kind): words for kind, words in KINDS.items()}
_SHOWN: Final = 8
"""Values of a facet that are seen at once; the others can be unfolded."""


def query_of(parameters: QueryParams) -> SearchQuery:
    """What an address asks for: `q`, the facets by their names, `sort` and `page`. What makes no sense is left out."""
    text = parameters.get("q", "")
    filters = tuple((facet, value) for facet in By for value in parameters.getlist(facet.value) if value.strip())
    orders = {order.value: order for order in Order}
    order = orders.get(parameters.get("sort", ""), Order.RELEVANCE if text.strip() else Order.NEWEST)
    number = parameters.get("page", "1")
    page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    return SearchQuery(text=text, filters=filters[:20], order=order, page=page)


def query_string(query: SearchQuery, **changed: Any) -> str:
    """The address of a query, without what goes without saying."""
    usual = Order.RELEVANCE if query.text else Order.NEWEST
    pairs = [("q", query.text)] if query.text else []
    pairs += [(facet.value, value) for facet, value in changed.get("filters", query.filters)]
    order = changed.get("order", query.order)
    pairs += [("sort", order.value)] if order is not usual else []
    page = changed.get("page", 1)
    pairs += [("page", str(page))] if page > 1 else []
    return urlencode(pairs)


@dataclass(frozen=True, slots=True)
class _Choice:
    """One value of a facet: how many items have it, and the address of the list with it, or without it."""

    value: str
    url: str
    words: str | None = None
    """What we call it, in English, if it is one of our own terms."""
    is_language: bool = False
    number: int | None = None


class Listed:
    """What a list says of each of its items."""

    kinds = KINDS
    title = staticmethod(shown_title)

    def __init__(self, site: ArchiveSite) -> None:
        self.urls, self._now = site.urls, site.now

    def access(self, item: Item) -> str | None:
        """Why not everybody may see its content, in English; None if everybody may."""
        if item.visibility.is_embargoed(self._now):
            return message("Embargo")
        return message("Restricted access") if item.visibility.networks else None


class SearchPages:
    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        query = query_of(request.query_params)
        direct = None if query.filters or query.page > 1 else direct_link(self._site, query.text)
        if direct is not None:
            return redirect(direct)
        found, counts = await self._searching.page(query)
        pages = max(1, -(-found.total // query.size))
        return render(
            request.scope,
            "search.html",
            query=query,
            found=found,
            listed=Listed(self._site),
            chosen=tuple(_chosen(query)),
            facets=tuple(_offered(query, counts)),
            shown=_SHOWN,
            orders=tuple(_orders(query)),
            feed=_feed_url(query),
            pages=pages,
            previous=_page_url(query, query.page - 1) if query.page > 1 else None,
            following=_page_url(query, query.page + 1) if query.page < pages else None,
        )


class HomePage:
    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        newest = await self._searching.search(SearchQuery(order=Order.NEWEST, size=RECENT))
        return render(request.scope, "home.html", recent=newest.items, listed=Listed(self._site))


class FeedPage:
    """The same list for programs that look now and then for what is new."""

    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        asked = query_of(request.query_params)
        query = asked if "sort" in request.query_params else replace(asked, order=Order.NEWEST)
        found = await self._searching.search(query)
        site, facts = self._site, request.scope.get(SITE, SiteFacts())
        base, pages = site.public_url, max(1, -(-found.total // query.size))
        feed = Feed(
            title=f"{facts.name}: {query.text}" if query.text else facts.name,
            own_url=f"{base}{_feed_url(asked, query.page)}",
            page_url=f"{base}{_page_url(asked, query.page)}",
            author=facts.name,
            previous_url=f"{base}{_feed_url(asked, query.page - 1)}" if query.page > 1 else None,
            next_url=f"{base}{_feed_url(asked, query.page + 1)}" if query.page < pages else None,
        )
        body = atom(
            feed,
            found.items,
            site.now,
            lambda item: site.persistent_url(item.labels),
            lambda item: site.urls.metadata(item, None, None),
        )
        return Response(body, 200, {"cache-control": "public, max-age=300"}, MEDIA_TYPE)


def direct_link(site: ArchiveSite, text: str) -> str | None:
    """Where a text leads that is a label or a link: to the item's page if it is here, or else to the resolver."""
    if "/" not in text:
        return None
    try:
        wanted = read(text)
    except InvalidInput:
        return None
    item = site.catalog.find(wanted.label)
    if item is not None and wanted.text("", keep_spelling=True) == wanted.label.spelling:
        return site.urls.metadata(item, None, None)
    return wanted.text(site.resolver or site.public_url, keep_spelling=True)


def _chosen(query: SearchQuery) -> Iterator[tuple[str, _Choice]]:
    """The filters that there are, each with the address of the list without it."""
    for pair in query.filters:
        rest = tuple(each for each in query.filters if each != pair)
        yield _FACETS[pair[0]], _choice(pair[0], pair[1], f"/search?{query_string(query, filters=rest)}")


def _offered(query: SearchQuery, counts: FacetCounts) -> Iterator[tuple[str, tuple[_Choice, ...]]]:
    """The values that would narrow the list down."""
    for facet, name in _FACETS.items():
        values = [each for each in counts.of(facet) if (facet, each.value) not in query.filters]
        choices = tuple(
            _choice(
                facet,
                each.value,
                f"/search?{query_string(query, filters=(*query.filters, (facet, each.value)))}",
                each.number,
            )
            for each in values
        )
        if choices:
            yield name, choices


def _choice(facet: By, value: str, url: str, number: int | None = None) -> _Choice:
    words = _KINDS.get(value) if facet is By.TYPE else None
    return _Choice(value, url, words, is_language=facet is By.LANGUAGE, number=number)


def _orders(query: SearchQuery) -> Iterator[tuple[str, str, bool]]:
    for order, words in _ORDERS.items():
        if order is not Order.RELEVANCE or query.text:
            yield words, f"/search?{query_string(query, order=order)}", order is query.order


def _page_url(query: SearchQuery, page: int) -> str:
    return f"/search?{query_string(query, page=page)}".rstrip("?")


def _feed_url(query: SearchQuery, page: int = 1) -> str:
    return f"/search.atom?{query_string(query, page=page)}".rstrip("?")
