"""Collections of items: their members, and their changes within the rights of each actor.

Calls that change something block, and are for a thread. Calls that read are for an event loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ibi.collections.model import MOST_MEMBERS, CollectionSearch, FoundBySearch, ItemCollection, UnknownCollection
from ibi.collections.ports import CollectionStore
from ibi.items.model.item import Item
from ibi.items.model.search import ENOUGH, PAGE_SIZE, ListPlace, Order, SearchPage
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.rights import Belonging, ItemAct, may, require_right
from ibi.items.service.searching import Searching
from ibi.jobs.promptness import beside
from ibi.people.model.account import Actor, AuditEntry
from ibi.people.ports import AuditLog
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.vocabulary import State

_MOST_SEARCHED: Final = 50
"""Collections by search that an item's page checks for the item."""
_SAME_TICK: Final = 100
"""Items that may bear labels of one instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionDraft:
    """The values that a person enters for a collection."""

    title: str
    description: str = ""
    search: CollectionSearch | None = None
    curator: str | None = None
    """The account that looks after it."""

    def applied_to(self, collection: ItemCollection, now: Instant) -> ItemCollection:
        return replace(
            collection,
            title=self.title,
            description=self.description,
            search=self.search,
            curator=self.curator,
            changed=max(now, collection.created),
        )


class Collections:
    """The collections of one Archive. Changes are written into the `audit` log."""

    def __init__(
        self,
        store: CollectionStore,
        catalog: Catalog,
        clocks: Clocks,
        *,
        searching: Searching | None = None,
        audit: AuditLog | None = None,
    ) -> None:
        """Without `searching`, collections by search are empty: commands do not look into them."""
        self._store, self._catalog, self._clocks = store, catalog, clocks
        self._searching, self._audit = searching, audit

    def list(self) -> tuple[ItemCollection, ...]:
        return self._store.list()

    def require(self, name: str) -> ItemCollection:
        found = self._store.find(name)
        if found is None:
            raise UnknownCollection(name=ascii(name[:80]))
        return found

    def members(self, name: str, offset: int = 0, most: int = MOST_MEMBERS) -> tuple[RepositoryName, ...]:
        """Return the items that were chosen by hand, the latest first."""
        return self._store.members(name, offset, most)

    async def page(self, collection: ItemCollection, number: int = 1, size: int = PAGE_SIZE) -> SearchPage:
        """Return a page of items: of a search, the newest first; of items chosen by hand, the latest chosen first.
        Deleted items and items that went elsewhere are counted, but not shown."""
        if collection.search is None:
            return await beside(lambda: self._list_chosen(collection.name, max(number, 1), size))
        if self._searching is None:
            return SearchPage()
        return await self._searching.search(replace(collection.search.query(page=number), size=size))

    def _list_chosen(self, name: str, number: int, size: int) -> SearchPage:
        names = self._store.members(name, (min(number, MOST_MEMBERS) - 1) * size, size)
        return SearchPage(tuple(self._find_shown(names)), self._store.count(name))

    def _find_shown(self, names: Sequence[RepositoryName]) -> Iterator[Item]:
        for name in names:
            try:
                item = self._catalog.find(name)
            except IbiError:  # the others are shown all the same
                continue
            if item is not None and item.state is not State.DELETED:
                yield item.without_files()

    async def of_item(self, item: Item) -> tuple[ItemCollection, ...]:
        """Return the collections of the item, by hand or by search, in the order of their titles."""
        everything = await beside(self._store.list)
        if not everything:
            return ()
        by_hand = {each.name for each in await beside(lambda: self._store.holding(item.rep))}
        searched = [each for each in everything if each.search is not None][:_MOST_SEARCHED]
        found = by_hand | {each.name for each in searched if await self._finds(each, item)}
        return tuple(each for each in everything if each.name in found)

    async def offered(self, who: Actor, item: Item) -> tuple[ItemCollection, ...]:
        """Return the collections to which the actor may add the item by hand, and which do not have it yet."""
        there = {each.name for each in await beside(lambda: self._store.holding(item.rep))}
        return tuple(
            each
            for each in await beside(self._store.list)
            if each.search is None and each.name not in there and self.may_curate(who, each)
        )

    async def _finds(self, collection: ItemCollection, item: Item) -> bool:
        """Return whether the search finds the item. The page that is read begins where the item would be, by its
        instant."""
        if self._searching is None or collection.search is None:
            return False
        # A place of the same instant and of no item: the page after it begins with the first item of that instant.
        place = ListPlace(RepositoryName.parse(f"localhost/nowhere/{'/'.join(str(item.rep).split('/')[2:])}"))
        query = replace(collection.search.query(order=Order.OLDEST), after=place, size=_SAME_TICK, most=ENOUGH + 1)
        found = await self._searching.search(query)
        return any(each.rep == item.rep for each in found.items)

    def may_collect(self, who: Actor) -> bool:
        return may(who, ItemAct.COLLECT, Belonging("", None))

    def may_curate(self, who: Actor, collection: ItemCollection) -> bool:
        return may(who, ItemAct.CURATE, _belonging(collection))

    def create(self, who: Actor, name: str, said: CollectionDraft, items: Sequence[Label] = ()) -> ItemCollection:
        """Make a collection with these items. `UnknownItem`, and nothing is made, if one of them is not here."""
        require_right(who, ItemAct.COLLECT, Belonging(f"collection {name[:80]}", None))
        now = self._now
        made = ItemCollection(
            name=name,
            title=said.title,
            description=said.description,
            curator=said.curator,
            search=said.search,
            created=now,
            changed=now,
        )
        self.check_items(items)
        self._store.add(made)
        self._note(who, "create collection", name)
        if items:
            self.put(who, name, items)
        return made

    def change(self, who: Actor, name: str, said: CollectionDraft) -> ItemCollection:
        """Change a collection. Naming another curator takes the right to make a collection."""
        before = self.require(name)
        require_right(who, ItemAct.CURATE, _belonging(before))
        if said.curator != before.curator:
            require_right(who, ItemAct.COLLECT, _belonging(before))
        after = self._store.change(name, lambda now: said.applied_to(now, self._now))
        if after is None:
            raise UnknownCollection(name=name)
        self._note(who, "change collection", name)
        return after

    def remove(self, who: Actor, name: str) -> None:
        require_right(who, ItemAct.CURATE, _belonging(self.require(name)))
        self._store.remove(name)
        self._note(who, "remove collection", name)

    def put(self, who: Actor, name: str, items: Sequence[Label]) -> int:
        """Add items that are here to a collection, and return the number of new ones. `UnknownItem` for the first that
        is not here, and none is added."""
        self._require_chosen(who, name)
        added = self._store.put_members(name, [self._require_known(label) for label in items], MOST_MEMBERS)
        if added:
            self._note(who, "add to collection", name, _format_names(items))
        return added

    def take_out(self, who: Actor, name: str, items: Sequence[Label]) -> int:
        """Remove items from a collection, and return the number of those that were in it. Items that are gone can be
        removed."""
        self._require_chosen(who, name)
        gone = self._store.drop_members(name, [self._name_of(label) for label in items])
        if gone:
            self._note(who, "take from collection", name, _format_names(items))
        return gone

    def _require_chosen(self, who: Actor, name: str) -> None:
        collection = self.require(name)
        require_right(who, ItemAct.CURATE, _belonging(collection))
        if collection.search is not None:
            raise FoundBySearch(name=name)

    def check_items(self, items: Sequence[Label]) -> None:
        """Raise `UnknownItem` for the first item that is not here."""
        for label in items:
            self._require_known(label)

    def _require_known(self, label: Label) -> RepositoryName:
        item = self._catalog.find(label)
        if item is None or item.state is State.DELETED:
            raise UnknownItem(label=label)
        return item.rep

    def _name_of(self, label: Label) -> RepositoryName:
        item = self._catalog.find(label)
        if item is not None:
            return item.rep
        if isinstance(label, RepositoryName):
            return label
        raise UnknownItem(label=label)

    def _note(self, who: Actor, act: str, name: str, detail: str = "") -> None:
        if self._audit is not None:
            entry = AuditEntry(self._now, act, f"collection:{name}", who.account, who.token, who.address, detail)
            self._audit.append([entry])

    @property
    def _now(self) -> Instant:
        return Instant(self._clocks.seconds())


def _belonging(collection: ItemCollection) -> Belonging:
    return Belonging(f"collection {collection.name}", collection.curator)


def _format_names(items: Sequence[Label]) -> str:
    return " ".join(map(str, items[:20]))
