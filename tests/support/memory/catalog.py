"""The catalogue in memory."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock

from ibi.items.model.change import Revision
from ibi.items.model.content import HeldTotal
from ibi.items.model.description_values import Alternate
from ibi.items.model.item import Item
from ibi.items.model.metadata import ResourceType
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.catalog import Link
from ibi.items.rules.errors import LabelTaken
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State
from tests.support.archive_catalog import add_up, add_up_by_type, largest_of, names_of_item

__all__ = ["MemoryCatalog"]


class MemoryCatalog:
    """The port `Catalog` without a disk."""

    prompt = True

    def __init__(self) -> None:
        self._by_label: dict[Label, Item] = {}
        self._names: list[RepositoryName] = []
        self._links: defaultdict[tuple[Link, Label], dict[RepositoryName, None]] = defaultdict(dict)
        self._transfers: dict[Label, Transfer] = {}
        self._lock = Lock()
        self._version = 0

    def find(self, label: Label) -> Item | None:
        return self._by_label.get(label)

    def names_of(self, reps: Iterable[RepositoryName]) -> frozenset[Label | Alternate]:
        return frozenset().union(*(names_of_item(item) for rep in reps if (item := self.find(rep))))

    def put(self, item: Item, revision: Revision | None = None) -> None:
        with self._lock:
            for label in item.labels.labels:
                if label in self._by_label and self._by_label[label].rep != item.rep:
                    raise LabelTaken(label=str(label))
            self._forget(item.rep)
            insort(self._names, item.rep)
            self._by_label.update(dict.fromkeys(item.labels.labels, item))
            for link in _links(item):
                self._links[link][item.rep] = None
            self._version += 1

    def put_all(self, items: Iterable[Item], revisions: Iterable[Revision] | None = None) -> int:
        number = 0
        for item in items:
            self.put(item)
            number += 1
        return number

    def put_each(self, items: Sequence[Item], revisions: Sequence[Revision] | None = None) -> list[IbiError | None]:
        return [self._refusal(item) for item in items]

    def _refusal(self, item: Item) -> IbiError | None:
        try:
            self.put(item)
        except LabelTaken as refusal:
            return refusal
        return None

    def remove(self, label: Label, at: Instant | None = None) -> bool:
        with self._lock:
            return self._forget(label)

    def depart(self, transfer: Transfer, head: int = 0) -> None:
        with self._lock:
            self._forget(transfer.rep)
            self._transfers.update(dict.fromkeys(transfer.labels.labels, transfer))
            self._version += 1

    def transfer(self, label: Label) -> Transfer | None:
        return self._transfers.get(label)

    def items(self, after: RepositoryName | None = None) -> Iterator[Item]:
        """Those that are there when the first is asked for."""
        with self._lock:
            names = self._names[0 if after is None else bisect_right(self._names, after) :]
            kept = [self._by_label[name] for name in names]
        yield from kept

    def holdings(self) -> dict[State, HeldTotal]:
        return add_up(self.items())

    def owned_by(self, owner: str, before: RepositoryName | None = None, most: int = 100) -> tuple[Item, ...]:
        owned = [item for item in self.items() if item.owner == owner and (before is None or item.rep < before)]
        return tuple(owned[::-1][:most])

    def holdings_by_type(self) -> dict[ResourceType | None, HeldTotal]:
        return add_up_by_type(self.items())

    def largest(self, most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
        return largest_of(self.items(), most)

    def claimants(self, after: RepositoryName | None = None) -> Iterator[Item]:
        return (item for item in self.items(after) if item.edition_of or item.translation_of or item.describes)

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        with self._lock:
            return tuple(self._by_label[name] for name in sorted(self._links.get((link, label), ())))

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        wanted = alternate.scheme, alternate.key
        return tuple(item for item in self.items() if wanted in [(each.scheme, each.key) for each in item.alternates])

    def version(self) -> int:
        return self._version

    recent_version = version

    def check(self) -> None:
        """What is in memory stays what it was."""

    def close(self) -> None:
        """Nothing to let go of."""

    def _forget(self, label: Label) -> bool:
        item = self._by_label.get(label)
        if item is None:
            return False
        for own in item.labels.labels:
            del self._by_label[own]
        self._names.remove(item.rep)
        self._version += 1
        for link in _links(item):
            del self._links[link][item.rep]
        return True


def _links(item: Item) -> tuple[tuple[Link, Label], ...]:
    return tuple((link, label) for link in Link for label in _labels(getattr(item, link.value)))


def _labels(forms: LabelForms | None) -> tuple[Label, ...]:
    return () if forms is None else forms.labels
