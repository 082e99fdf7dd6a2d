"""Makes the catalogue agree with the store: recovery after crashes, and a rebuild of the catalogue from the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from ibi.items.model.item import Item
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.archive_store import (
    ContentDamaged,
    ContentMissing,
    ContentStore,
    Journal,
    ReadAhead,
    ReadItem,
    StoreCatalog,
)
from ibi.items.service.item_repository import ItemRepository, put_together
from ibi.items.service.stored_item import ItemTransferred, StoredItem, name_of, named_by
from ibi.standard.errors import IbiError, InvalidLabel
from ibi.standard.label import RepositoryName
from ibi.standard.storage_errors import StoreIncomplete

STEPS: Final = ("items read in",)
"""Further steps at which tests try a crash. Each change has its own steps."""
_BATCH: Final = 200


def ignore_item() -> None:
    """Do nothing: by default items are not counted."""


def ignore_rebuild(expected: int | None) -> None:
    """Do nothing: by default a rebuild is not watched."""


@dataclass(frozen=True, slots=True)
class ListingResult:
    """The result of listing items of the store in the catalogue."""

    looked_at: int = 0
    """Items that were compared with the catalogue, or read. After a clean end, opening a store reads none."""
    removed: int = 0
    """Items that were removed from the catalogue because the store lacks them."""
    unreadable: tuple[tuple[str, IbiError], ...] = ()
    """Objects that cannot be listed, with the reason. `verify` reports more about them."""


def _unread(names: Iterable[str]) -> Iterator[Sequence[ReadItem]]:
    """Yield the names in batches, with nothing read ahead."""
    rest = iter(names)
    while batch := tuple(islice(rest, _BATCH)):
        yield [ReadItem(name) for name in batch]


class StoreListing:
    """Lists items of a store in its catalogue if the two do not agree."""

    def __init__(self, store: ItemRepository, objects: ContentStore, catalog: StoreCatalog, journal: Journal) -> None:
        self._store, self._objects, self._catalog, self._journal = store, objects, catalog, journal
        self.read_ahead: ReadAhead | None = None
        """Reads items ahead if all items are needed."""
        self.is_rebuilt = False
        """True if all items were read to make the catalogue agree with the store."""

    def sweep(
        self,
        on_item: Callable[[], None],
        on_rebuild: Callable[[int | None], None],
        forget_given_out: Callable[[], None],
        *,
        give_up_missing: bool,
    ) -> ListingResult:
        """Finish the changes of crashed processes: in the store, then in the catalogue, then between related items. If
        the catalogue lists another state of the store, make it agree with the store, item by item."""
        finished = self._store.content.sweep()
        with self._journal.take_abandoned() as left:
            is_whole = all(one.whole for one in left)
            if not is_whole or not (self._catalog.agrees() or self._adopt()):
                self._catalog.check_store()
                on_rebuild(self._catalog.expected_items())  # first: counting the items is slow as well
                if not give_up_missing:
                    self._refuse_incomplete()
                # The directory may have been restored from a backup, so labels may have been given out since then.
                forget_given_out()
                listed = self._agree(on_item, always=not is_whole, only_changed=not give_up_missing)
                if listed is not None:
                    return listed
            names = list(dict.fromkeys((*finished, *(name for one in left for name in one.names))))
            listed = self._list_all(names, on_item)
            self._finish_each(names)
            self._catalog.settle_standing()
        return listed

    def _finish_each(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(ContentDamaged, InvalidLabel):  # `unreadable` reports them
                self._store.finish(name)

    def _adopt(self) -> bool:
        """Return whether store and catalogue agree now. In earlier versions neither recorded its state: then mark them
        as agreeing if both have the same names."""
        if not self._catalog.is_unmarked():
            return False
        listed = sum(1 for _ in self._catalog.names()) + len(self._catalog.transfers())
        if listed != sum(1 for _ in self._store.content.iterate()) or any(self.unkept_names()):
            return False
        self._catalog.end_rebuild()
        return True

    def _agree(self, on_item: Callable[[], None], *, always: bool, only_changed: bool) -> ListingResult | None:
        """Make the catalogue agree with the store. Return None without `always` if another process has already done
        it."""
        # From here to the end the catalogue belongs to no store: after a crash, the next process to open it begins
        # again.
        if not self._catalog.begin_rebuild(always=always):
            return None
        removed = self._forget_missing()
        listed = self._list_all(self._store.content.iterate(), on_item, only_changed=only_changed)
        self._finish_each([name_of(item) for item in self._catalog.items() if any(named_by(item))])
        self._catalog.end_rebuild()
        self.is_rebuilt = True
        return replace(listed, removed=removed)

    def _refuse_incomplete(self) -> None:
        """Refuse a store with fewer items than expected: it is not mounted, or was restored from an older backup. The
        missing items must stay in the catalogue, or their labels would become unknown."""
        missing = list(self.unkept_names())
        expected, kept = self._catalog.expected_items(), sum(1 for _ in self._store.content.iterate())
        lacking = max(len(missing), 0 if expected is None else expected - kept)
        if lacking:
            example = missing[0] if missing else "those not listed any more"
            raise StoreIncomplete(path=self._objects.place, missing=lacking, items=kept + lacking, example=example)

    def unkept_names(self) -> Iterator[str]:
        """Yield the names of items in the catalogue that the store lacks."""
        return (name for name in map(str, self._catalog.names()) if not self._objects.holds(name))

    def rebuild(self, on_item: Callable[[], None] = ignore_item) -> ListingResult:
        """Rebuild the catalogue from the store, item by item, and begin a new epoch of its feed. Other processes may go
        on working."""
        self._catalog.check_search()
        removed = self._forget_missing()
        listed = self._list_all(self._store.content.iterate(), on_item)
        self._catalog.renew_feed()
        return replace(listed, removed=removed)

    def _list_all(
        self, names: Iterable[str], on_item: Callable[[], None], *, only_changed: bool = False
    ) -> ListingResult:
        """List items, several hundred in one commit. During a commit no other process lists the same items.

        With `only_changed`, items that the catalogue already has are not written again. Otherwise each start would
        write the search index of all items, and fill a full disk further.
        """
        looked_at, unreadable = 0, list[tuple[str, IbiError]]()
        read_ahead = _unread if self.read_ahead is None or only_changed else self.read_ahead
        for batch in read_ahead(names):
            with self._store.locks.hold(*(each.name for each in batch)):
                # An item that changed since it was read is read again: within the lock nothing changes any more.
                ready = {
                    each.name: each.prepared
                    for each in batch
                    if each.prepared is not None and self._objects.stamp(each.name) == each.stamp
                }
                unreadable += put_together(ready, self._catalog.put_prepared)
                others = [each.name for each in batch if each.name not in ready]
                unreadable += self._list_again(others, only_changed=only_changed)
            self._store.step("items read in")
            looked_at += len(batch)
            for _ in batch:
                on_item()
        return ListingResult(looked_at, unreadable=tuple(unreadable))

    def _list_again(self, names: Sequence[str], *, only_changed: bool) -> Iterator[tuple[str, IbiError]]:
        """Read items and list them together. Yield the names of items that cannot be listed, with their errors."""
        items = {}
        for name in names:
            try:
                stored = self._store.read(name)
                if not only_changed or not self._lists(stored.item):
                    items[name] = stored
            except ItemTransferred as gone:
                self._catalog.depart(gone.transfer, self._store.content.read(name).head.number)
            except ContentMissing:
                pass
            except (ContentDamaged, InvalidLabel) as error:
                yield name, error
        yield from put_together(items, self._put_stored)

    def _lists(self, item: Item) -> bool:
        return self._catalog.find(item.rep) == item

    def _put_stored(self, stored: Sequence[StoredItem]) -> None:
        self._catalog.put_all([each.item for each in stored], [each.revision for each in stored])

    def _forget_missing(self) -> int:
        """Remove items that the store lacks. A damaged item stays listed, because only the catalogue still has its
        record."""
        removed = 0
        for transfer in self._catalog.transfers():
            with self._store.locks.hold(name_of(transfer.rep)):
                if self._transfer_of(name_of(transfer.rep)) is None:
                    self._catalog.forget_transfer(transfer.rep)
        for name in self.unkept_names():
            with self._store.locks.hold(name):
                if not self._objects.holds(name):
                    removed += self._catalog.remove(RepositoryName.parse(name))
        return removed

    def _transfer_of(self, name: str) -> Transfer | None:
        """Return the transfer that the object of the item records. If the object cannot be read, the catalogue stays as
        it is."""
        try:
            self._store.read(name)
        except ItemTransferred as gone:
            return gone.transfer
        except ContentMissing:
            return None
        except ContentDamaged:
            return self._catalog.transfer(RepositoryName.parse(name))
        return None
