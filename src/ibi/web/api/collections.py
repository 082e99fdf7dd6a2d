"""`/api/collections`: named sets of items: listed and read by all, made and changed with a token."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.label import Label
from ibi.languages import message
from ibi.model.account import Scope, shown_account
from ibi.model.search import (
    LARGEST_PAGE,
    LONGEST_NAME,
    PAGE_SIZE,
    CollectionSearch,
    Facet,
    InvalidCollection,
    ItemCollection,
)
from ibi.services.items.collections import CollectionDraft, Collections
from ibi.services.promptness import beside
from ibi.services.sites import ArchiveSite
from ibi.web.api.authentication import Callers
from ibi.web.http.body import read_json
from ibi.web.http.request import by_method
from ibi.web.http.request_errors import PathNotFound, check_parameters, number_of
from ibi.web.pages.explain_page import parse_link
from ibi.web.pages.words import shown_title

COLLECTIONS: Final = "/api/collections"
MOST_AT_ONCE: Final = 1000
"""Items that one request puts in or takes out."""
MOST_PAGES: Final = 1_000_000
"""Pages of a list: of the largest collection, far more than it has."""
_NO_CACHE: Final = {"cache-control": "no-cache"}


class _SearchBody(msgspec.Struct, forbid_unknown_fields=True):
    text: str = ""
    filters: dict[str, list[str]] = {}


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    title: str = ""
    description: str = ""
    search: _SearchBody | None = None
    curator: str | None = None
    """The name of an account; an empty text is the Archive. Without it, who asks, or who it was before."""


class _NewBody(_Body, forbid_unknown_fields=True):
    name: str = ""


class _ItemsBody(msgspec.Struct, forbid_unknown_fields=True):
    add: list[str] = []
    remove: list[str] = []


def collection_document(site: ArchiveSite, collection: ItemCollection) -> dict[str, Any]:
    place = f"{site.public_url}{COLLECTIONS}/{collection.name}"
    page = f"{site.public_url}/collections/{collection.name}"
    return {
        "name": collection.name,
        "title": collection.title,
        "description": collection.description,
        "curator": shown_account(collection.curator),
        "search": None if collection.search is None else _search_document(collection.search),
        "created": str(collection.created),
        "changed": str(collection.changed),
        "links": {"self": place, "items": f"{place}/items", "page": page, "feed": f"{page}.atom"},
    }


def _search_document(search: CollectionSearch) -> dict[str, Any]:
    filters: dict[str, list[str]] = {}
    for facet, value in search.filters:
        filters.setdefault(facet.value, []).append(value)
    return {"text": search.text, "filters": filters}


class CollectionEndpoints:
    def __init__(self, callers: Callers, collections: Collections) -> None:
        self._callers, self._site, self._collections = callers, callers.site, collections

    def routes(self) -> list[Route]:
        one = f"{COLLECTIONS}/{{name}}"
        return [
            Route(COLLECTIONS, by_method(GET=self.list, POST=self.create), methods=["GET", "POST"]),
            Route(one, by_method(GET=self.get, PUT=self.put, DELETE=self.delete), methods=["GET", "PUT", "DELETE"]),
            Route(f"{one}/items", by_method(GET=self.items, POST=self.change_items), methods=["GET", "POST"]),
        ]

    async def list(self, request: Request) -> Response:
        check_parameters(request.query_params, ())
        found = await beside(self._collections.list)
        documents = [collection_document(self._site, each) for each in found]
        return _json({"collections": documents, "links": {"self": f"{self._site.public_url}{COLLECTIONS}"}})

    async def get(self, request: Request) -> Response:
        return self._answer(await self._require_named(request))

    async def create(self, request: Request) -> Response:
        who = await self._callers.actor(request, Scope.DEPOSIT)
        body = await read_json(request, _NewBody)
        said = await self._read_draft(body, who.account)
        made = await self._callers.run_short(lambda: self._collections.create(who, body.name, said))
        place = f"{self._site.public_url}{COLLECTIONS}/{made.name}"
        return _json(collection_document(self._site, made), HTTPStatus.CREATED, {"location": place})

    async def put(self, request: Request) -> Response:
        who = await self._callers.actor(request, Scope.DEPOSIT)
        before = await self._require_named(request)
        said = await self._read_draft(await read_json(request, _Body), before.curator)
        return self._answer(await self._callers.run_short(lambda: self._collections.change(who, before.name, said)))

    async def delete(self, request: Request) -> Response:
        who = await self._callers.actor(request, Scope.DEPOSIT)
        name = (await self._require_named(request)).name
        await self._callers.run_short(lambda: self._collections.remove(who, name))
        return Response(None, HTTPStatus.NO_CONTENT)

    async def items(self, request: Request) -> Response:
        """A page of its items, the newest or those chosen last first."""
        check_parameters(request.query_params, ("page", "size"))
        collection = await self._require_named(request)
        number = number_of(request.query_params, "page", 1, 1, MOST_PAGES)
        size = number_of(request.query_params, "size", PAGE_SIZE, 1, LARGEST_PAGE)
        found, site = await self._collections.page(collection, number, size), self._site
        base = f"{site.public_url}{COLLECTIONS}/{collection.name}/items"
        links = {"self": f"{base}?page={number}&size={size}"}
        if number * size < found.total:
            links["next"] = f"{base}?page={number + 1}&size={size}"
        items = [
            {
                "label": str(item.rep),
                "title": shown_title(item),
                "links": {
                    "self": f"{site.public_url}/api/items/{item.rep}",
                    "page": site.urls.metadata(item, None, None),
                },
            }
            for item in found.items
        ]
        return _json({"total": found.total, "is_more": found.is_more, "items": items, "links": links})

    async def change_items(self, request: Request) -> Response:
        """Take items out, and put others in; how many there were of each."""
        who = await self._callers.actor(request, Scope.DEPOSIT)
        name, body = (await self._require_named(request)).name, await read_json(request, _ItemsBody)
        gone, new = _labels(body.remove, "remove"), _labels(body.add, "add")

        def work() -> dict[str, int]:
            removed = self._collections.take_out(who, name, gone) if gone else 0
            return {"removed": removed, "added": self._collections.put(who, name, new)}

        return _json(await self._callers.run_short(work))

    async def _read_draft(self, body: _Body, curator: str | None) -> CollectionDraft:
        account = curator if body.curator is None else await self._callers.account(body.curator)
        search = None if body.search is None else _read_search(body.search)
        return CollectionDraft(title=body.title, description=body.description, search=search, curator=account)

    async def _require_named(self, request: Request) -> ItemCollection:
        name = str(request.path_params["name"])
        if len(name) > LONGEST_NAME:
            raise PathNotFound()
        return await beside(lambda: self._collections.require(name))

    def _answer(self, collection: ItemCollection) -> Response:
        return _json(collection_document(self._site, collection))


def _read_search(body: _SearchBody) -> CollectionSearch:
    known = {facet.value: facet for facet in Facet}
    unknown = next((name for name in body.filters if name not in known), None)
    if unknown is not None:
        raise InvalidCollection(field="search", reason=message("there is no filter {name}"), name=ascii(unknown[:40]))
    filters = tuple((known[name], value) for name, values in body.filters.items() for value in values)
    return CollectionSearch(text=" ".join(body.text.split()), filters=filters)


def _labels(texts: list[str], field: str) -> tuple[Label, ...]:
    if len(texts) > MOST_AT_ONCE:
        raise InvalidCollection(field=field, reason=message("it names more than {most} items"), most=MOST_AT_ONCE)
    return tuple(parse_link(text).label for text in texts)


def _json(body: object, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(body), status, {**_NO_CACHE, **(headers or {})}, "application/json")


def collection_endpoints(callers: Callers) -> list[Route]:
    found = callers.site.collections
    return [] if found is None else CollectionEndpoints(callers, found).routes()
