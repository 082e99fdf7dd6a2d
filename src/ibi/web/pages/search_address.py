"""Addresses of searches: `/search?…` parsed to a query, and written again."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from ibi.model.search import Facet, Order, SearchQuery

_MOST_FILTERS = 20


def query_of(parameters: QueryParams) -> SearchQuery:
    """Parse the query of an address: `q`, the facets by their names, `sort` and `page`. Invalid values are ignored."""
    text = parameters.get("q", "")
    filters = tuple((facet, value) for facet in Facet for value in parameters.getlist(facet.value) if value.strip())
    orders = {order.value: order for order in Order}
    order = orders.get(parameters.get("sort", ""), _usual(text.strip()))
    number = parameters.get("page", "1")
    page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    return SearchQuery(text=text, filters=filters[:_MOST_FILTERS], order=order, page=page)


def search_address(query: SearchQuery) -> str:
    return _address("/search", query)


def feed_address(query: SearchQuery) -> str:
    return _address("/search.atom", query)


def _address(path: str, query: SearchQuery) -> str:
    """The address of a query, without parameters at their defaults."""
    pairs = [("q", query.text)] if query.text else []
    pairs += [(facet.value, value) for facet, value in query.filters]
    pairs += [("sort", query.order.value)] if query.order is not _usual(query.text) else []
    pairs += [("page", str(query.page))] if query.page > 1 else []
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _usual(text: str) -> Order:
    """The default order: relevance, or without words the newest first."""
    return Order.RELEVANCE if text else Order.NEWEST
