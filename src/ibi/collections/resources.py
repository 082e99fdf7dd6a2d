"""Collections: named sets of items."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, field

from ibi.collections import model as model
from ibi.people.model.account import shown_account
from ibi.standard.resource import NEEDED, Answer, Links, Request, Time, bounds

COLLECTIONS: Final = "/api/collections"
MOST_AT_ONCE: Final = 1000
"""Items that one request puts in or takes out."""

NameText = Annotated[str, bounds(maxLength=model.LONGEST_NAME, pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
TitleText = Annotated[str, bounds(maxLength=model.LONGEST_TITLE)]
DescriptionText = Annotated[str, bounds(maxLength=model.LONGEST_DESCRIPTION)]
SearchText = Annotated[str, bounds(maxLength=model.LONGEST_SEARCH)]
Filters = Annotated[
    dict[str, list[str]], Meta(description="Values by the name of a facet, as in the address of a search.")
]
SearchOrNone = Meta(description="What finds its items; null if they are chosen by hand.")
ItemTexts = Annotated[
    tuple[Annotated[str, Meta(description="A label, or a link to an item.")], ...], bounds(maxItems=MOST_AT_ONCE)
]


class SearchRequest(Request, frozen=True):
    text: SearchText = ""
    filters: Filters = field(default_factory=dict)


class CollectionChange(Request, frozen=True):
    title: Annotated[TitleText, NEEDED] = ""
    description: DescriptionText = ""
    search: Annotated[SearchRequest | None, SearchOrNone] = None
    curator: Annotated[
        str | None,
        Meta(
            description="A person, or the name of tokens, that looks after it; an empty text is the Archive. Without"
            " it: who asks, or who it was."
        ),
    ] = None


class NewCollection(CollectionChange, frozen=True):
    name: Annotated[NameText, NEEDED] = ""


class CollectionItemsChange(Request, frozen=True):
    add: ItemTexts = ()
    remove: ItemTexts = ()


class ItemsChanged(Answer, frozen=True):
    removed: int
    added: int


class SearchOfCollection(Answer, frozen=True):
    text: SearchText
    filters: Filters

    @classmethod
    def of(cls, search: model.CollectionSearch) -> SearchOfCollection:
        filters: dict[str, list[str]] = {}
        for facet, value in search.filters:
            filters.setdefault(facet.value, []).append(value)
        return cls(text=search.text, filters=filters)


class CollectionResource(Answer, frozen=True):
    name: NameText
    title: TitleText
    description: DescriptionText
    search: Annotated[SearchOfCollection | None, SearchOrNone]
    curator: str
    created: Time
    changed: Time
    links: Links

    @classmethod
    def of(cls, collection: model.ItemCollection, public_url: str) -> CollectionResource:
        """Return a collection of the Archive at `public_url`."""
        place = f"{public_url}{COLLECTIONS}/{collection.name}"
        page = f"{public_url}/collections/{collection.name}"
        return cls(
            name=collection.name,
            title=collection.title,
            description=collection.description,
            curator=shown_account(collection.curator),
            search=None if collection.search is None else SearchOfCollection.of(collection.search),
            created=str(collection.created),
            changed=str(collection.changed),
            links={"self": place, "items": f"{place}/items", "page": page, "feed": f"{page}.atom"},
        )


class CollectionsResource(Answer, frozen=True):
    collections: list[CollectionResource]
    links: Links


class ItemOfCollection(Answer, frozen=True):
    label: str
    title: str
    links: Links


class CollectionItems(Answer, frozen=True):
    total: int
    is_more: Annotated[bool, Meta(description="Whether there are more than `total`.")]
    items: list[ItemOfCollection]
    links: Links
