"""Where the collections of an Archive are kept: named sets of its items. Short: one protocol of a few calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ibi.label import RepositoryName
from ibi.model.collection import ItemCollection


class CollectionStore(Protocol):
    """The collections of one Archive. Calls block, from any thread and process; what one process has changed, every
    other sees with its next call.

    Items are named by their repository names, also those that are no longer here: that is for readers to notice.
    """

    def list(self) -> tuple[ItemCollection, ...]:
        """All of them, in the order of their titles."""

    def find(self, name: str) -> ItemCollection | None: ...

    def add(self, collection: ItemCollection) -> None:
        """Keep a new one, durably. `ibi.model.collection.CollectionExists` if its name is taken,
        `CollectionFull` if there are `MOST_COLLECTIONS`."""

    def change(self, name: str, into: Callable[[ItemCollection], ItemCollection]) -> ItemCollection | None:
        """Keep another one in its place, durably, under the same name: the one that is kept then, None if there was
        none."""

    def remove(self, name: str) -> bool:
        """Forget it and which items are in it, durably; whether it was there."""

    def count(self, name: str) -> int:
        """How many items were chosen by hand."""

    def members(self, name: str, offset: int, most: int) -> tuple[RepositoryName, ...]:
        """The items chosen by hand, the latest first."""

    def put_members(self, name: str, items: Sequence[RepositoryName], most: int) -> int:
        """Add items, durably: how many were not in it before. `CollectionFull`, and none is added, if there would
        be more than `most`; none is added either to a collection that is gone."""

    def drop_members(self, name: str, items: Sequence[RepositoryName]) -> int:
        """Take items out, durably: how many were in it."""

    def holding(self, item: RepositoryName) -> tuple[ItemCollection, ...]:
        """The collections that the item was put into by hand, in the order of their titles."""

    def close(self) -> None: ...
