"""`/api/collections`: named sets of items. Everyone may list and read them; changes need a token."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.collections.model import LONGEST_NAME, CollectionSearch, InvalidCollection, ItemCollection
from ibi.collections.resources import (
    COLLECTIONS,
    MOST_AT_ONCE,
    CollectionChange,
    CollectionItems,
    CollectionItemsChange,
    CollectionResource,
    CollectionsResource,
    ItemOfCollection,
    ItemsChanged,
    NewCollection,
    SearchRequest,
)
from ibi.collections.service import CollectionDraft, Collections
from ibi.items.model.search import LARGEST_PAGE, PAGE_SIZE, Facet
from ibi.jobs.promptness import beside
from ibi.people.model.account import Scope
from ibi.standard.label import Label
from ibi.standard.resource import Answer
from ibi.standard.translatable import message
from ibi.web.authentication import Callers
from ibi.web.body import read_json, short_json
from ibi.web.request import by_method
from ibi.web.request_errors import PathNotFound, check_parameters, number_of
from ibi.web.typed_links import parse_link
from ibi.web.words import shown_title

MOST_PAGES: Final = 1_000_000
"""Largest page number: far more pages than the largest collection has."""
_NO_CACHE: Final = {"cache-control": "no-cache"}


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
        url = self._site.public_url
        collections = [CollectionResource.of(each, url) for each in found]
        return _json(CollectionsResource(collections=collections, links={"self": f"{url}{COLLECTIONS}"}))

    async def get(self, request: Request) -> Response:
        return self._answer(await self._require_named(request))

    async def create(self, request: Request) -> Response:
        who = await self._callers.actor(request, Scope.DEPOSIT)
        body = await read_json(request, NewCollection)
        said = await self._read_draft(body, who.account)
        made = await self._callers.run_short(lambda: self._collections.create(who, body.name, said))
        shown = CollectionResource.of(made, self._site.public_url)
        return _json(shown, HTTPStatus.CREATED, {"location": shown.links["self"]})

    async def put(self, request: Request) -> Response:
        who = await self._callers.actor(request, Scope.DEPOSIT)
        before = await self._require_named(request)
        said = await self._read_draft(await read_json(request, CollectionChange), before.curator)
        return self._answer(await self._callers.run_short(lambda: self._collections.change(who, before.name, said)))

    async def delete(self, request: Request) -> Response:
        who = await self._callers.actor(request, Scope.DEPOSIT)
        name = (await self._require_named(request)).name
        await self._callers.run_short(lambda: self._collections.remove(who, name))
        return Response(None, HTTPStatus.NO_CONTENT)

    async def items(self, request: Request) -> Response:
        """Return a page of the items, with the newest or the last added first."""
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
            ItemOfCollection(
                label=str(item.rep),
                title=shown_title(item),
                links={
                    "self": f"{site.public_url}/api/items/{item.rep}",
                    "page": site.urls.metadata(item, None, None),
                },
            )
            for item in found.items
        ]
        return _json(CollectionItems(total=found.total, is_more=found.is_more, items=items, links=links))

    async def change_items(self, request: Request) -> Response:
        """Remove and add items, and return the number of each."""
        who = await self._callers.actor(request, Scope.DEPOSIT)
        name, body = (await self._require_named(request)).name, await read_json(request, CollectionItemsChange)
        gone, new = _labels(body.remove, "remove"), _labels(body.add, "add")

        def work() -> ItemsChanged:
            removed = self._collections.take_out(who, name, gone) if gone else 0
            return ItemsChanged(removed=removed, added=self._collections.put(who, name, new))

        return _json(await self._callers.run_short(work))

    async def _read_draft(self, body: CollectionChange, curator: str | None) -> CollectionDraft:
        account = curator if body.curator is None else await self._callers.account(body.curator)
        search = None if body.search is None else _read_search(body.search)
        return CollectionDraft(title=body.title, description=body.description, search=search, curator=account)

    async def _require_named(self, request: Request) -> ItemCollection:
        name = str(request.path_params["name"])
        if len(name) > LONGEST_NAME:
            raise PathNotFound()
        return await beside(lambda: self._collections.require(name))

    def _answer(self, collection: ItemCollection) -> Response:
        return _json(CollectionResource.of(collection, self._site.public_url))


def _read_search(body: SearchRequest) -> CollectionSearch:
    known = {facet.value: facet for facet in Facet}
    unknown = next((name for name in body.filters if name not in known), None)
    if unknown is not None:
        raise InvalidCollection(field="search", reason=message("there is no filter {name}"), name=ascii(unknown[:40]))
    filters = tuple((known[name], value) for name, values in body.filters.items() for value in values)
    return CollectionSearch(text=" ".join(body.text.split()), filters=filters)


def _labels(texts: Sequence[str], field: str) -> tuple[Label, ...]:
    if len(texts) > MOST_AT_ONCE:
        raise InvalidCollection(field=field, reason=message("it names more than {most} items"), most=MOST_AT_ONCE)
    return tuple(parse_link(text).label for text in texts)


def _json(body: Answer, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> Response:
    return short_json(body, status, {**_NO_CACHE, **(headers or {})})
