"""The search page and its feed. Addresses and filters are in `ibi.items.pages.search_query`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.items.model.item import name_one_item
from ibi.items.model.search import Order, SearchPage, SearchQuery
from ibi.items.pages.search_query import (
    EXPORTS,
    chosen_filters,
    export_address,
    feed_address,
    mark_items,
    offered_facets,
    query_of,
    search_address,
    year_chart,
)
from ibi.items.service.full_text import FullTextSearch
from ibi.items.service.searching import Searching
from ibi.standard.errors import InvalidInput
from ibi.standard.safe_text import close_directions
from ibi.web.atom import MEDIA_TYPE, Feed, atom, element
from ibi.web.page_answers import redirect
from ibi.web.reader import choose_language, message
from ibi.web.rendering import SITE, SiteFacts, render, static_file
from ibi.web.sites import ArchiveSite
from ibi.web.typed_links import parse_link
from ibi.web.words import ItemListing, shown_title

_ORDERS: Final[Mapping[Order, str]] = {
    Order.RELEVANCE: message("Best match"),
    Order.NEWEST: message("Newest first"),
    Order.OLDEST: message("Oldest first"),
    Order.TITLE: message("By title"),
}
_SHOWN: Final = 6
"""Number of values of a facet that are shown at first. The others can be unfolded."""


class SearchPages:
    def __init__(self, site: ArchiveSite, searching: Searching, texts: FullTextSearch | None) -> None:
        """`texts` finds words in the text of files."""
        self._site, self._searching, self._texts = site, searching, texts

    async def get(self, request: Request) -> Response:
        query = query_of(request.query_params)
        direct = None if query.filters or query.page > 1 else await direct_link(self._site, query.text)
        if direct is not None:
            return redirect(direct)
        found, counts = await self._searching.page(query)
        is_lost = not found.items and query.text and query.page == 1
        meant = await self._searching.suggest(query) if is_lost else None
        in_text = () if self._texts is None else await self._texts.find(query)
        marked = await asyncio.to_thread(mark_items, found.items, query.text)
        first = replace(query, page=1, after=None)
        return render(
            request.scope,
            "search.html",
            query=query,
            found=found,
            listed=ItemListing(self._site),
            chosen=tuple(chosen_filters(query)),
            marked=marked,
            in_text=in_text,
            meant=meant,
            meant_url=None if meant is None else search_address(replace(first, text=meant)),
            facets=tuple(offered_facets(query, counts, found)),
            years=year_chart(query, counts),
            shown=_SHOWN,
            exports=[(name, export_address(first, ending)) for name, ending in EXPORTS],
            orders=tuple(_orders(query)),
            feed=feed_address(first),
            **_page_links(query, found),
        )


def _page_links(query: SearchQuery, found: SearchPage) -> dict[str, Any]:
    """Return the number of pages, if it is known, and the addresses of the pages around this one."""
    following = query.next_page(found, by_number=True)
    return {
        "pages": None if found.is_more or query.after else max(1, -(-found.total // query.size)),
        "first": None if query.after is None else search_address(replace(query, page=1, after=None)),
        "previous": search_address(replace(query, page=query.page - 1)) if _has_previous(query) else None,
        "following": None if following is None else search_address(following),
    }


def _has_previous(query: SearchQuery) -> bool:
    """Return whether the previous page has a number."""
    return query.page > 1 and query.after is None


async def direct_link(site: ArchiveSite, text: str) -> str | None:
    """Return the address for a text that is a label or a link: the item's page if it is here, or else the resolver."""
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
    """Yield the name and address of each order, and whether this page has it."""
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


SUGGESTIONS: Final = "/search/suggestions"
DESCRIPTION: Final = "/opensearch.xml"
_SUGGESTED: Final = 6
_LEAST_TYPED: Final = 2
"""Number of characters: a single one begins words of most items."""
_MOST_RANKED: Final = 500
"""Number of matches from which the best are chosen. Each key press sends a request, which must cost less than a
search."""

_LONGEST_NAME: Final = 16
"""Largest length of a short name in the specification."""


class SuggestionPage:
    """Suggestions while a search is typed, in the format of browsers (OpenSearch Suggestions 1.1).

    The answer has the text, and lists of equal length with titles, labels and addresses.
    """

    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        text = request.query_params.get("q", "")
        query = SearchQuery(text=text, size=_SUGGESTED, most=_MOST_RANKED)
        found = () if len(query.text) < _LEAST_TYPED else (await self._searching.search(query)).items
        titles = [close_directions(shown_title(item)) for item in found]
        labels = [(item.labels.ibip or item.rep).spelling for item in found]
        addresses = [self._site.urls.metadata(item, None, None) for item in found]
        # As plain ASCII: the text may contain lone surrogates.
        body = json.dumps([text, titles, labels, addresses])
        return Response(body, 200, {"cache-control": "public, max-age=30"}, "application/x-suggestions+json")


class SearchDescription:
    """The description with which a browser can add this search to its own (OpenSearch 1.1)."""

    def __init__(self, site: ArchiveSite) -> None:
        self._site = site

    async def get(self, request: Request) -> Response:
        name = request.scope.get(SITE, SiteFacts()).name
        search = f"{self._site.public_url}/search?q={{searchTerms}}"
        suggestions = f"{self._site.public_url}{SUGGESTIONS}?q={{searchTerms}}"
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">\n'
            f"{element('ShortName', name[:_LONGEST_NAME])}\n{element('Description', name)}\n"
            "<InputEncoding>UTF-8</InputEncoding>\n"
            f'<Url type="text/html" template="{escape(search)}"/>\n'
            f'<Url type="application/x-suggestions+json" template="{escape(suggestions)}"/>\n'
            "</OpenSearchDescription>\n"
        )
        return Response(body, 200, {"cache-control": "public, max-age=3600"}, "application/opensearchdescription+xml")


RECENT: Final = 8
"""Number of newest items that are shown."""


class HomePage:
    """The newest items. While there are none but the Archive's own item, the page shows the first steps."""

    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        newest = await self._searching.search(SearchQuery(order=Order.NEWEST, size=RECENT + 1))
        own = self._site.profile.service  # resolvers find the Archive by this item: it is no content
        recent = [item for item in newest.items if not name_one_item(item.labels, own)][:RECENT]
        return render(request.scope, "home.html", recent=recent, listed=ItemListing(self._site))


def common_routes() -> list[Route]:
    """Return the routes that every page needs, for any set of services."""
    return [
        Route("/static/{name}", static_file),
        Route("/language/{tag}", choose_language),
    ]


def search_routes(site: ArchiveSite, searching: Searching, texts: FullTextSearch | None) -> list[Route]:
    """Return the routes of the home page and of the search pages."""
    return [
        Route("/", HomePage(site, searching).get),
        Route("/search", SearchPages(site, searching, texts).get),
        Route("/search.atom", FeedPage(site, searching).get),
        Route(SUGGESTIONS, SuggestionPage(site, searching).get),
        Route(DESCRIPTION, SearchDescription(site).get),
    ]
