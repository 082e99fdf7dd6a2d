"""A catalogue in memory: what the port asks, in the plainest way, for tests of the rules above it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ibi.items.model.change import Revision
from ibi.items.model.content import HeldTotal
from ibi.items.model.description_values import Alternate
from ibi.items.model.item import Item
from ibi.items.model.metadata import ResourceType
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.catalog import Catalog, Link
from ibi.items.rules.errors import LabelTaken
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages import LabelForms
from ibi.standard.vocabulary import State

__all__ = ["PlainCatalog", "add_up", "add_up_by_type", "largest_of", "names_of_item"]


class PlainCatalog:
    prompt = True

    def __init__(self, *items: Item) -> None:
        self._items: dict[RepositoryName, Item] = {}
        self._by_label: dict[Label, RepositoryName] = {}
        self._transfers: dict[Label, Transfer] = {}
        self._version = 0
        for item in items:
            self.put(item)

    def find(self, label: Label) -> Item | None:
        rep = self._by_label.get(label)
        return None if rep is None else self._items[rep]

    def names_of(self, reps: Iterable[RepositoryName]) -> frozenset[Label | Alternate]:
        return frozenset().union(*(names_of_item(item) for rep in reps if (item := self.find(rep))))

    def put(self, item: Item, revision: Revision | None = None) -> None:
        for label in item.labels.labels:
            if self._by_label.get(label, item.rep) != item.rep:
                raise LabelTaken(label=str(label))
        self.remove(item.rep)
        self._items[item.rep] = item
        self._by_label.update(dict.fromkeys(item.labels.labels, item.rep))

    def put_each(self, items: Sequence[Item], revisions: Sequence[Revision] | None = None) -> list[IbiError | None]:
        refused: list[IbiError | None] = []
        for item in items:
            try:
                self.put(item)
            except LabelTaken as error:
                refused.append(error)
            else:
                refused.append(None)
        return refused

    def put_all(self, items: Iterable[Item], revisions: Iterable[Revision] | None = None) -> int:
        return len(self.put_each(list(items)))

    def remove(self, label: Label, at: Instant | None = None) -> bool:
        self._version += 1
        item = self.find(label)
        if item is None:
            return False
        del self._items[item.rep]
        for own in item.labels.labels:
            del self._by_label[own]
        return True

    def version(self) -> int:
        """Also another after some that changed nothing, which does no harm."""
        return self._version

    recent_version = version

    def check(self) -> None:
        """What is in memory stays what it was."""

    def depart(self, transfer: Transfer, head: int = 0) -> None:
        self.remove(transfer.rep)
        self._transfers.update(dict.fromkeys(transfer.labels.labels, transfer))

    def transfer(self, label: Label) -> Transfer | None:
        return self._transfers.get(label)

    def items(self, after: RepositoryName | None = None) -> Iterator[Item]:
        return (self._items[rep] for rep in sorted(self._items) if after is None or rep > after)

    def holdings_by_type(self) -> dict[ResourceType | None, HeldTotal]:
        return add_up_by_type(self._items.values())

    def largest(self, most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
        return largest_of(self._items.values(), most)

    def holdings(self) -> dict[State, HeldTotal]:
        return add_up(self.items())

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        return tuple(item for item in self.items() if alternate in item.alternates)

    def owned_by(self, owner: str, before: RepositoryName | None = None, most: int = 100) -> tuple[Item, ...]:
        owned = [item for item in self.items() if item.owner == owner and (before is None or item.rep < before)]
        return tuple(owned[::-1][:most])

    def claimants(self, after: RepositoryName | None = None) -> Iterator[Item]:
        return (item for item in self.items(after) if item.edition_of or item.translation_of or item.describes)

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        def names(item: Item) -> bool:
            forms: LabelForms | None = getattr(item, link.value)
            return forms is not None and label in forms.labels

        return tuple(item for item in self.items() if names(item))

    def close(self) -> None:
        """There is nothing to let go of."""


def names_of_item(item: Item) -> frozenset[Label | Alternate]:
    named = [forms for link in Link if (forms := getattr(item, link.value)) is not None]
    return frozenset((*item.alternates, *(label for forms in (item.labels, *named) for label in forms.labels)))


def add_up(items: Iterable[Item]) -> dict[State, HeldTotal]:
    """The totals of these items, by their states."""
    totals: dict[State, HeldTotal] = {}
    for item in items:
        before, size = totals.get(item.state, HeldTotal()), sum(file.size for file in item.files)
        totals[item.state] = HeldTotal(before.items + 1, before.files + len(item.files), before.size + size)
    return totals


def add_up_by_type(items: Iterable[Item]) -> dict[ResourceType | None, HeldTotal]:
    """The totals of these items, by their types."""
    totals: dict[ResourceType | None, HeldTotal] = {}
    for item in items:
        (one,), kind = add_up([item]).values(), item.metadata.resource_type
        before = totals.get(kind, HeldTotal())
        totals[kind] = HeldTotal(before.items + 1, before.files + one.files, before.size + one.size)
    return totals


def largest_of(items: Iterable[Item], most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
    """The items whose files take most."""
    totals = [(item.rep, next(iter(add_up([item]).values()))) for item in items]
    found = sorted(((rep, one) for rep, one in totals if one.size), key=lambda each: (-each[1].size, each[0]))
    return tuple(found[:most])


_: type[Catalog] = PlainCatalog
