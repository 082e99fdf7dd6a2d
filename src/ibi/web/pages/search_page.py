"""`/search`: items found by words and narrowed down by facets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import InvalidInput
from ibi.model.search import Order, SearchQuery
from ibi.services.archive_site import ArchiveSite
from ibi.services.items.searching import Searching
from ibi.web.pages import redirect
from ibi.web.pages.explain_page import parse_link
from ibi.web.pages.facet_choices import chosen_filters, offered_facets
from ibi.web.pages.listed import ItemListing
from ibi.web.pages.rendering import render
from ibi.web.pages.search_address import feed_address, query_of, search_address
from ibi.web.pages.translation import message

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
        pages = max(1, -(-found.total // query.size))
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
            feed=feed_address(replace(query, page=1)),
            pages=pages,
            previous=search_address(replace(query, page=query.page - 1)) if query.page > 1 else None,
            following=search_address(replace(query, page=query.page + 1)) if query.page < pages else None,
        )


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
            yield words, search_address(replace(query, order=order, page=1)), order is query.order
