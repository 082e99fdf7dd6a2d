"""`GET /api/items`: the search of the pages, for programs.

Follow `links.next` to read a list of any length to its end. Invalid parameters are refused here, although the pages
ignore them: a program with a misspelt filter must not receive everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha512
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from ibi.items.model.item import Item
from ibi.items.model.search import (
    LARGEST_PAGE,
    MOST,
    PAGE_SIZE,
    Access,
    Facet,
    FacetCounts,
    FileKind,
    ListPlace,
    Order,
    SearchQuery,
    YearSpan,
)
from ibi.items.pages.search_query import query_pairs, usual_order
from ibi.items.service.full_text import FullTextSearch, TextMatch
from ibi.items.service.searching import Searching
from ibi.reading.delivery.search_export import listed_item
from ibi.standard.errors import InvalidInput
from ibi.web.authentication import Callers
from ibi.web.preconditions import Validators
from ibi.web.request import values
from ibi.web.request_errors import InvalidParameter, check_parameters
from ibi.web.sites import ArchiveSite

MOST_FILTERS: Final = 20
_KNOWN: Final = {
    Facet.ACCESS: frozenset(each.value for each in Access),
    Facet.FILE: frozenset(each.value for each in FileKind),
}
"""The values that some filters may have."""
_SINGLE: Final = ("q", "sort", "page", "size", "after", "facets")
_FILTERS: Final = tuple(facet.value for facet in Facet)
_IN_SHORT: Final = ("labels", "state", "created", "updated", "links")
_LONGEST_ENTRY: Final = 64 * 1024
"""Largest size of an item in a list, in bytes. A description may be longer: the item's own record has it whole."""
_JSON: Final = "application/json"


class ItemSearch:
    """The endpoint of the search. It is public: it finds the items that the search pages show."""

    def __init__(self, callers: Callers, searching: Searching, texts: FullTextSearch | None) -> None:
        self._callers, self._site, self._searching, self._texts = callers, callers.site, searching, texts

    async def get(self, request: Request) -> Response:
        await self._callers.is_known(request)  # an invalid token is refused, as everywhere
        query, has_facets = read_query(request.query_params)
        found = await self._searching.search(query)
        counts = await self._searching.facets(query) if has_facets else None
        in_text = () if self._texts is None else await self._texts.find(query)
        following = query.next_page(found, by_number=False)
        links = {"self": self._address(query, has_facets=has_facets)}
        if query.after is not None or query.page > 1:
            links["first"] = self._address(replace(query, page=1, after=None), has_facets=has_facets)
        if following is not None:
            links["next"] = self._address(following, has_facets=has_facets)
        if counts is None:
            links["facets"] = self._address(replace(query, page=1, after=None), has_facets=True)
        document: dict[str, Any] = {
            "total": found.total,
            "is_more": found.is_more,
            **({} if counts is None else {"facets": facets_document(counts)}),
            "links": links,
        }
        # A page may have a hundred long descriptions.
        body = await asyncio.to_thread(lambda: _encode(self._site, found.items, in_text, document))
        return _answer(request, body)

    def _address(self, query: SearchQuery, *, has_facets: bool) -> str:
        # With a place in the list, the number of the page has no meaning.
        pairs = query_pairs(query if query.after is None else replace(query, page=1))
        pairs += [("size", str(query.size))] if query.size != PAGE_SIZE else []
        pairs += [("facets", "true")] if has_facets else []
        base = f"{self._site.public_url}/api/items"
        return f"{base}?{urlencode(pairs)}" if pairs else base


def _encode(site: ArchiveSite, items: Sequence[Item], in_text: Sequence[TextMatch], rest: dict[str, Any]) -> bytes:
    found = {"items": [_encode_item(site, item) for item in items]}
    if in_text:
        rest |= {"in_text": [{"item": _encode_item(site, match.item), "line": match.text} for match in in_text]}
    return msgspec.json.encode(found | rest)


def _encode_item(site: ArchiveSite, item: Item) -> msgspec.Raw:
    listed = listed_item(site, item)
    encoded = msgspec.json.encode(listed)
    if len(encoded) > _LONGEST_ENTRY:
        encoded = msgspec.json.encode({name: listed[name] for name in _IN_SHORT} | {"in_short": True})
    return msgspec.Raw(encoded)


def facets_document(counts: FacetCounts) -> dict[str, list[dict[str, object]]]:
    return {facet.value: [{"value": each.value, "number": each.number} for each in counts.of(facet)] for facet in Facet}


def read_query(given: QueryParams) -> tuple[SearchQuery, bool]:
    """Return the query, and whether its facets are wanted. Raise `InvalidParameter` for a parameter that cannot be
    read."""
    check_parameters(given, (*_SINGLE, *_FILTERS), _FILTERS)
    filters = tuple((facet, value) for facet in Facet for value in given.getlist(facet.value))
    if len(filters) > MOST_FILTERS:
        raise InvalidParameter(field=filters[-1][0].value, reason=f"there are at most {MOST_FILTERS} filters")
    if any(facet is Facet.YEAR and YearSpan.parse(value) is None for facet, value in filters):
        raise InvalidParameter(field=Facet.YEAR.value, reason="it is a year such as 2009, or a span such as 2001..2010")
    for facet, value in filters:
        if facet in _KNOWN and value not in _KNOWN[facet]:
            raise InvalidParameter(field=facet.value, reason=f"it is one of {', '.join(sorted(_KNOWN[facet]))}")
    text, size = given.get("q", ""), _number(given, "size", PAGE_SIZE, LARGEST_PAGE)
    after = _place(given)
    # With a place in the list, the number of the page has no meaning and is ignored.
    page = 1 if after is not None else _number(given, "page", 1, MOST // size + 1)
    query = SearchQuery(text=text, filters=filters, order=_order(given, text), page=page, size=size, after=after)
    return query, _is_true(given, "facets")


def _order(given: QueryParams, text: str) -> Order:
    sort = given.get("sort")
    if sort is None:
        return usual_order(text.strip())
    try:
        return Order(sort)
    except ValueError:
        known = ", ".join(order.value for order in Order)
        raise InvalidParameter(field="sort", reason=f"it is one of {known}") from None


def _number(given: QueryParams, name: str, default: int, most: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= most):
        further = ", and links.next leads further" if name == "page" else ""
        raise InvalidParameter(field=name, reason=f"it is a number from 1 to {most}{further}")
    return int(text)


def _place(given: QueryParams) -> ListPlace | None:
    try:
        return ListPlace.parse(given["after"]) if "after" in given else None
    except InvalidInput:
        raise InvalidParameter(field="after", reason="it is what links.next of a page before has") from None


def _is_true(given: QueryParams, name: str) -> bool:
    text = given.get(name, "false")
    if text not in {"true", "false"}:
        raise InvalidParameter(field=name, reason="it is true or false")
    return text == "true"


def _answer(request: Request, body: bytes) -> Response:
    validators, headers = Validators(sha512(body).hexdigest(), 0), request.scope["headers"]
    told = {"etag": validators.etag, "cache-control": "no-cache"}
    if values(headers, b"if-none-match") and validators.is_known(headers):
        return Response(None, HTTPStatus.NOT_MODIFIED, told)
    return Response(body, HTTPStatus.OK, told, _JSON)
