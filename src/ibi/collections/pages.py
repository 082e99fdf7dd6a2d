"""`/collections`: named sets of items, each with a page and a feed, and the forms for their curators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.collections.model import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_SEARCH,
    LONGEST_TITLE,
    CollectionSearch,
    InvalidCollection,
    ItemCollection,
)
from ibi.collections.service import CollectionDraft, Collections
from ibi.items.model.search import PAGE_SIZE
from ibi.items.pages.search_query import query_of, search_address
from ibi.jobs.promptness import beside
from ibi.people.model.account import Role, person_account, shown_account
from ibi.people.rules.errors import NotAllowed, NotYourItem, RoleTooSmall
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.web.atom import MEDIA_TYPE, Feed, atom
from ibi.web.reader import PRIVATE, Visitor, find_visitor, local_target, page_language, see_other, translations
from ibi.web.rendering import SITE, SiteFacts, render
from ibi.web.request_errors import PathNotFound, whole_number
from ibi.web.sites import ArchiveSite
from ibi.web.typed_links import parse_link
from ibi.web.words import ItemListing

PLACE: Final = "/collections"
_MOST_LABELS: Final = 500
"""Largest number of items that one form adds to a collection."""
_MOST_DIGITS: Final = 6
_OUT: Final = "out:"
"""Prefix of a field's name, before the label of an item to remove."""


class SearchAndItems(InvalidCollection):
    """A search finds the items of a collection, or they are chosen by hand: leave one of the two fields empty."""

    clauses = ()


@dataclass(frozen=True, slots=True)
class _Typed:
    """The form: the typed text or the collection's present values, with an error."""

    name: str = ""
    title: str = ""
    description: str = ""
    search: str = ""
    items: str = ""
    fault: str = ""
    faulty: str = ""
    """The field with the error."""

    @classmethod
    def of(cls, collection: ItemCollection) -> _Typed:
        return cls(collection.name, collection.title, collection.description, written_search(collection.search))

    @classmethod
    def sent(cls, fields: Mapping[str, str], error: IbiError, language: str) -> _Typed:
        names = ("name", "title", "description", "search", "items")
        name, title, description, search, items = (fields.get(each, "") for each in names)
        about = str(error.parameters.get("field") or error.request_field or "items")
        faulty, gettext = about if about in names else "items", translations(language).gettext
        is_beside = isinstance(error, InvalidCollection) and bool(error.clauses)  # the message needs no field name
        fault = _sentence(error.clause("reason", gettext)) if is_beside else error.message(gettext)
        return cls(name, title, description, search, items, fault, faulty)


class CollectionPages:
    """Pages of one Archive's collections."""

    def __init__(self, site: ArchiveSite, collections: Collections) -> None:
        self._site, self._collections = site, collections

    def routes(self) -> list[Route]:
        both = ["GET", "POST"]
        return [
            Route(PLACE, self.all, methods=both),
            Route(f"{PLACE}/new", self.new, methods=both),
            Route(f"{PLACE}/{{name}}.atom", self.feed),
            Route(f"{PLACE}/{{name}}", self.one),
            Route(f"{PLACE}/{{name}}/edit", self.edit, methods=both),
        ]

    async def all(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._put_one(request)
        found = await beside(self._collections.list)
        visitor = self._visitor(request)
        may_collect = visitor is not None and self._collections.may_collect(visitor.actor)
        return render(request.scope, "collections.html", collections=found, may_collect=may_collect)

    async def one(self, request: Request) -> Response:
        collection, visitor = await self._require_named(request), self._visitor(request)
        number = _page_number(request)
        found = await self._collections.page(collection, number)
        pages = max(1, -(-found.total // PAGE_SIZE))
        return render(
            request.scope,
            "collection.html",
            collection=collection,
            curator=None if collection.curator is None else shown_account(collection.curator),
            found=found,
            listed=ItemListing(self._site),
            number=min(number, pages),
            pages=pages,
            place=f"{PLACE}/{collection.name}",
            search_url=None if collection.search is None else search_address(collection.search.query()),
            may_curate=visitor is not None and self._collections.may_curate(visitor.actor, collection),
        )

    async def feed(self, request: Request) -> Response:
        """Write the newest items, or the most recently added, as a feed (RFC 4287)."""
        collection, site = await self._require_named(request), self._site
        found = await self._collections.page(collection, 1, 50)
        name = request.scope.get(SITE, SiteFacts()).name
        place = f"{site.public_url}{PLACE}/{collection.name}"
        body = atom(
            Feed(title=f"{name}: {collection.title}", own_url=f"{place}.atom", page_url=place, author=name),
            found.items,
            site.now,
            lambda item: site.persistent_url(item.labels),
            lambda item: site.urls.metadata(item, None, None),
        )
        return Response(body, 200, {"cache-control": "public, max-age=300"}, MEDIA_TYPE)

    async def new(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.LIBRARIAN)
        if isinstance(visitor, Response):
            return visitor
        if request.method != "POST":
            search = request.query_params.get("search", "")
            return self._form(request, visitor, _Typed(search=search[:LONGEST_SEARCH]))
        fields = await visitor.read_form(request)
        name = fields.get("name", "").strip()
        try:
            said = _draft(fields, person_account(visitor.name))
            labels = _labels_by_hand(fields, said)
            await beside(lambda: self._collections.create(visitor.actor, name, said, labels))
        except IbiError as error:
            return self._render_refusal(request, visitor, fields, error)
        return see_other(f"{PLACE}/{name}")

    async def edit(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site)
        if isinstance(visitor, Response):
            return visitor
        collection = await self._require_named(request)
        if not self._collections.may_curate(visitor.actor, collection):
            raise RoleTooSmall(role=visitor.signed.person.role, needed=Role.LIBRARIAN)
        if request.method != "POST":
            shown = await self._members(request, collection)
            return self._form(request, visitor, _Typed.of(collection), collection, **shown)
        fields = await visitor.read_form(request)
        if fields.get("act") == "remove":
            await beside(lambda: self._collections.remove(visitor.actor, collection.name))
            return see_other(PLACE)
        try:
            await beside(lambda: self._change(visitor, collection, fields))
        except (NotAllowed, NotYourItem):
            raise
        except IbiError as error:
            shown = await self._members(request, collection)
            return self._render_refusal(request, visitor, fields, error, collection, **shown)
        return see_other(f"{PLACE}/{collection.name}/edit?saved=1")

    def _change(self, visitor: Visitor, collection: ItemCollection, fields: Mapping[str, str]) -> None:
        name = collection.name
        curator = person_account(visitor.name) if "mine" in fields else collection.curator
        said = _draft(fields, curator)
        labels = _labels_by_hand(fields, said)
        self._collections.check_items(labels)  # so that the whole form is applied, or nothing
        self._collections.change(visitor.actor, name, said)
        if said.search is None:
            gone = [parse_link(each.removeprefix(_OUT)).label for each in fields if each.startswith(_OUT)]
            if gone:
                self._collections.take_out(visitor.actor, name, gone)
            if labels:
                self._collections.put(visitor.actor, name, labels)

    async def _put_one(self, request: Request) -> Response:
        """Add the item of a page to a collection, from that page."""
        visitor = find_visitor(request, self._site)
        if isinstance(visitor, Response):
            return visitor
        fields = await visitor.read_form(request)
        label = parse_link(fields.get("item", "")).label
        await beside(lambda: self._collections.put(visitor.actor, fields.get("collection", ""), [label]))
        return see_other(local_target(fields.get("to", PLACE)))

    async def _require_named(self, request: Request) -> ItemCollection:
        name = str(request.path_params["name"])
        if len(name) > LONGEST_NAME:
            raise PathNotFound()
        return await beside(lambda: self._collections.require(name))

    async def _members(self, request: Request, collection: ItemCollection) -> dict[str, Any]:
        if collection.search is not None:
            return {}
        number = _page_number(request)
        found = await self._collections.page(collection, number)
        return {"found": found, "number": number, "pages": max(1, -(-found.total // PAGE_SIZE))}

    def _visitor(self, request: Request) -> Visitor | None:
        found = find_visitor(request, self._site)
        return None if isinstance(found, Response) else found

    def _render_refusal(
        self,
        request: Request,
        visitor: Visitor,
        fields: Mapping[str, str],
        error: IbiError,
        collection: ItemCollection | None = None,
        **shown: Any,
    ) -> Response:
        """Show the form again with all typed text, and the error beside its field."""
        if not error.kind.is_told:
            raise error
        typed = _Typed.sent(fields, error, page_language(request.scope))
        return self._form(request, visitor, typed, collection, error.kind.status, **shown)

    def _form(
        self,
        request: Request,
        visitor: Visitor,
        typed: _Typed,
        collection: ItemCollection | None = None,
        status: int = 200,
        **shown: Any,
    ) -> Response:
        return render(
            request.scope,
            "collection_form.html",
            status=status,
            headers=PRIVATE,
            csrf=visitor.csrf,
            typed=typed,
            collection=collection,
            is_mine=collection is not None and collection.curator == person_account(visitor.name),
            is_saved="saved" in request.query_params,
            longest={"name": LONGEST_NAME, "title": LONGEST_TITLE, "description": LONGEST_DESCRIPTION},
            listed=ItemListing(self._site),
            **{"found": None, "number": 1, "pages": 1, **shown},
        )


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


def written_search(search: CollectionSearch | None) -> str:
    """Return a search as a person writes it: its words, or with filters the address of the result list."""
    if search is None:
        return ""
    return search_address(search.query()) if search.filters else search.text


def read_search(text: str) -> CollectionSearch | None:
    """Read words or the address of a search; None for an empty text."""
    text = text.strip()
    if not text:
        return None
    split = urlsplit(text) if "/search?" in text else None
    if split is None:
        return CollectionSearch(text=" ".join(text.split()))
    query = query_of(QueryParams(split.query))
    return CollectionSearch(text=query.text, filters=query.filters)


def _draft(fields: Mapping[str, str], curator: str | None) -> CollectionDraft:
    return CollectionDraft(
        title=fields.get("title", ""),
        description=fields.get("description", "").replace("\r\n", "\n"),
        search=read_search(fields.get("search", "")),
        curator=curator,
    )


def _labels(text: str) -> tuple[Label, ...]:
    """Read labels or links, separated by white space."""
    return tuple(parse_link(word).label for word in text.split()[:_MOST_LABELS])


def _labels_by_hand(fields: Mapping[str, str], said: CollectionDraft) -> tuple[Label, ...]:
    typed = fields.get("items", "")
    if said.search is not None and typed.strip():
        raise SearchAndItems(field="items")
    return _labels(typed)


def _page_number(request: Request) -> int:
    return whole_number(request.query_params.get("page", "1"), _MOST_DIGITS) or 1
