"""The port of collections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ibi.collections.model import ItemCollection
from ibi.standard.label import RepositoryName


class CollectionStore(Protocol):
    """The collections of one Archive. Calls block, from any thread and process.

    Changes by one process are visible to every other with its next call. Items are named by their repository names,
    even if they no longer exist: readers must handle that.
    """

    def list(self) -> tuple[ItemCollection, ...]:
        """Return all collections, in the order of their titles."""

    def find(self, name: str) -> ItemCollection | None: ...

    def add(self, collection: ItemCollection) -> None:
        """Add a new collection durably.

        Raise `ibi.collections.model.CollectionExists` if its name is taken, `CollectionFull` if there are
        `MOST_COLLECTIONS`.
        """

    def change(self, name: str, into: Callable[[ItemCollection], ItemCollection]) -> ItemCollection | None:
        """Replace a collection durably by the result of `into`, under the same name. Return it, or None without one."""

    def remove(self, name: str) -> bool:
        """Delete a collection and its membership list durably. Return whether it existed."""

    def count(self, name: str) -> int:
        """Return how many items were chosen by hand."""

    def members(self, name: str, offset: int, most: int) -> tuple[RepositoryName, ...]:
        """Return the items chosen by hand, the latest first."""

    def put_members(self, name: str, items: Sequence[RepositoryName], most: int) -> int:
        """Add items durably. Return how many are new.

        Raise `CollectionFull`, and add none, if there would be more than `most`. If the collection is gone, add none.
        """

    def drop_members(self, name: str, items: Sequence[RepositoryName]) -> int:
        """Remove items durably. Return how many were members."""

    def holding(self, item: RepositoryName) -> tuple[ItemCollection, ...]:
        """Return the collections to which the item was added by hand, in the order of their titles."""

    def close(self) -> None: ...
