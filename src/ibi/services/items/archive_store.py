"""The items of an Archive and their maintenance: recovery after crashes, agreement of catalogue and content, and
verification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from ibi.errors import IbiError, InvalidLabel
from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.model.content import Damage, Problem, is_damage
from ibi.model.item import Item
from ibi.model.minting import Identity
from ibi.model.transfer import Transfer
from ibi.ports.accounts import AuditLog
from ibi.ports.archive_store import (
    Batching,
    ContentDamaged,
    ContentMissing,
    ContentStore,
    ItemLocks,
    Journal,
    ReadAhead,
    ReadItem,
    StoreCatalog,
)
from ibi.ports.catalog import ChangeFeed, Search
from ibi.ports.errors import StorageError, StoreIncomplete
from ibi.services.integrity.integrity import Integrity
from ibi.services.items.item_repository import ItemRepository, put_together
from ibi.services.items.stored_item import DOC, ITEM, TRANSFERRED, ItemTransferred, StoredItem, name_of, named_by

STEPS: Final = ("items read in",)
"""The steps at which tests try a crash, beside the steps of each change."""
_BATCH: Final = 200
_OTHERWISE: Final = "the catalogue says otherwise: run `ibi rebuild`"


def _pass(step: str) -> None:
    """Do nothing: by default steps are not watched."""


def _ignore() -> None:
    """Do nothing: by default items are not counted."""


def _begin(expected: int | None) -> None:
    """Do nothing: by default a rebuild is not watched."""


@dataclass(frozen=True, slots=True)
class ListingResult:
    """The result of listing items of the store in the catalogue."""

    looked_at: int = 0
    """Items that were compared with the catalogue, or read: none when a store is opened after a clean end."""
    removed: int = 0
    """Items that were removed from the catalogue because the store lacks them."""
    unreadable: tuple[tuple[str, IbiError], ...] = ()
    """Objects that cannot be listed, with the reason. `verify` reports more about them."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The problems found in one item; none if it is whole."""

    name: str | None
    """The name of the item. None for stray files in the store."""
    problems: tuple[Problem, ...]


VerifyAll = Callable[[Iterable[str], Callable[[int], None] | None], Iterator[Verified]]
"""Verifies the items of these names, in their order."""


def _unread(names: Iterable[str]) -> Iterator[Sequence[ReadItem]]:
    """Yield the names in batches, with nothing read ahead."""
    rest = iter(names)
    while batch := tuple(islice(rest, _BATCH)):
        yield [ReadItem(name) for name in batch]


@dataclass(slots=True)
class _Found:
    """The facts that a verification learns about an item."""

    crcs: dict[str, str] = field(default_factory=dict)
    item: Item | None = None


class ArchiveStore(ItemRepository):
    """The open items of one Archive. Each process opens its own; many may at a time."""

    def __init__(
        self,
        content: ContentStore,
        catalog: StoreCatalog,
        *,
        journal: Journal,
        locks: ItemLocks,
        batching: Batching,
        integrity: Integrity,
        audit: AuditLog | None = None,
        forget_given_out: Callable[[], None],
        close: Callable[[], None],
        on_step: Callable[[str], None] = _pass,
        on_item: Callable[[], None] = _ignore,
        on_rebuild: Callable[[int | None], None] = _begin,
        give_up_missing: bool = False,
        read_ahead: ReadAhead | None = None,
    ) -> None:
        """Finishes the changes of crashed processes. A catalogue that lists another state of the store is made to agree
        with the store, item by item.

        `on_item` is called for each item that this has to read. `on_rebuild` is called before all items have to be
        read, with their number as far as it is known. `forget_given_out` records that the knowledge of labels given out
        may be incomplete. `close` closes all of these. `read_ahead` reads items ahead when all of them are needed.

        `CatalogDamaged` if the catalogue is that of another store. `StoreIncomplete` if items are missing from the
        store, unless `give_up_missing`.
        """
        super().__init__(
            content,
            catalog,
            journal=journal,
            locks=locks,
            batching=batching,
            on_step=on_step,
            integrity=integrity,
            audit=audit,
        )
        self._objects, self._listing, self._under_way = content, catalog, journal
        self._forget_given_out, self._close = forget_given_out, close
        self._gives_up_missing, self._on_rebuild, self._read_ahead = give_up_missing, on_rebuild, read_ahead
        self.is_rebuilt = False
        """True if all items were read to make the catalogue agree with the store."""
        self.swept = self._sweep(on_item)

    @property
    def changes(self) -> ChangeFeed:
        """The feed of changes."""
        return self._listing.changes

    @property
    def search(self) -> Search:
        """The search over the items."""
        return self._listing

    def newest(self, identity: Identity) -> Instant | None:
        """Return the newest date of a stored label under the prefixes of an identity."""
        return self._listing.newest(identity.prefixes)

    def holds(self, name: RepositoryName) -> bool:
        """Return whether the store has an item of that name, whole or damaged."""
        return self._objects.holds(name_of(name))

    def check(self) -> None:
        """Raise an error if the store or the catalogue was exchanged since it was opened. For the check of
        readiness."""
        self._objects.check()
        self._listing.check()

    def close(self) -> None:
        self._close()

    def __enter__(self) -> ArchiveStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sweep(self, on_item: Callable[[], None]) -> ListingResult:
        """Finish the changes of crashed processes: in the store, then in the catalogue, then between related items."""
        finished = self.content.sweep()
        with self._under_way.take_abandoned() as left:
            is_whole = all(one.whole for one in left)
            if not is_whole or not (self._listing.agrees() or self._adopt()):
                listed = self._agree(on_item, always=not is_whole)
                if listed is not None:
                    return listed
            names = list(dict.fromkeys((*finished, *(name for one in left for name in one.names))))
            listed = self._list_all(names, on_item)
            self._finish_each(names)
            self._listing.settle_standing()
        return listed

    def _finish_each(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(ContentDamaged, InvalidLabel):  # `unreadable` reports them
                self.finish(name)

    def _adopt(self) -> bool:
        """Mark store and catalogue as agreeing if neither records its state, as in earlier versions, and both have the
        same names. Return whether they agree now."""
        if not self._listing.is_unmarked():
            return False
        listed = sum(1 for _ in self._listing.names()) + len(self._listing.transfers())
        if listed != sum(1 for _ in self.content.iterate()) or any(self._unkept_names()):
            return False
        self._listing.end_rebuild()
        return True

    def _agree(self, on_item: Callable[[], None], *, always: bool) -> ListingResult | None:
        """Make the catalogue agree with the store. Return None if another process did so already, unless `always`."""
        self._listing.check_store()
        self._on_rebuild(self._listing.expected_items())  # first: counting the items takes long as well
        if not self._gives_up_missing:
            self._refuse_incomplete()
        # The directory may have been restored from a backup, so labels may have been given out since then.
        self._forget_given_out()
        # From here to the end the catalogue belongs to no store: after a crash, the next process to open it begins
        # again.
        if not self._listing.begin_rebuild(always=always):
            return None
        removed = self._forget_missing()
        listed = self._list_all(self.content.iterate(), on_item, only_changed=not self._gives_up_missing)
        self._finish_each([name_of(item) for item in self.catalog.items() if any(named_by(item))])
        self._listing.end_rebuild()
        self.is_rebuilt = True
        return replace(listed, removed=removed)

    def _refuse_incomplete(self) -> None:
        """Refuse a store with fewer items than expected. It is not mounted, or was restored from an older backup:
        removing the missing items from the catalogue would make them unknown."""
        missing = list(self._unkept_names())
        expected, kept = self._listing.expected_items(), sum(1 for _ in self.content.iterate())
        lacking = max(len(missing), 0 if expected is None else expected - kept)
        if lacking:
            example = missing[0] if missing else "those not listed any more"
            raise StoreIncomplete(path=self._objects.place, missing=lacking, items=kept + lacking, example=example)

    def _unkept_names(self) -> Iterator[str]:
        """Yield the names of items in the catalogue that the store lacks."""
        return (name for name in map(str, self._listing.names()) if not self._objects.holds(name))

    def rebuild(self, on_item: Callable[[], None] = _ignore) -> ListingResult:
        """Rebuild the catalogue from the store, item by item, and begin another epoch of its feed. Other processes may
        go on working."""
        self._listing.check_search()
        removed = self._forget_missing()
        listed = self._list_all(self.content.iterate(), on_item)
        self._listing.renew_feed()
        return replace(listed, removed=removed)

    def _list_all(
        self, names: Iterable[str], on_item: Callable[[], None], *, only_changed: bool = False
    ) -> ListingResult:
        """List items, some hundred in a commit. During a commit no other process lists them.

        With `only_changed`, items that the catalogue already has are not written again. Otherwise their search index
        would be written too, and repeated starts on a full disk would fill it further.
        """
        looked_at = 0
        unreadable: list[tuple[str, IbiError]] = []
        read_ahead = _unread if self._read_ahead is None or only_changed else self._read_ahead
        for batch in read_ahead(names):
            with self.locks.hold(*(each.name for each in batch)):
                # An item that changed since it was read is read again: within the lock nothing changes any more.
                ready = {
                    each.name: each.prepared
                    for each in batch
                    if each.prepared is not None and self._objects.stamp(each.name) == each.stamp
                }
                unreadable += put_together(ready, self._listing.put_prepared)
                items = {}
                for name in (each.name for each in batch if each.name not in ready):
                    try:
                        stored = self.read(name)
                        if not only_changed or not self._lists(stored.item):
                            items[name] = stored
                    except ItemTransferred as gone:
                        self.catalog.depart(gone.transfer, self.content.read(name).head.number)
                    except ContentMissing:
                        pass
                    except (ContentDamaged, InvalidLabel) as error:
                        unreadable.append((name, error))
                unreadable += put_together(items, self._put_stored)
            self.step("items read in")
            looked_at += len(batch)
            for _ in batch:
                on_item()
        return ListingResult(looked_at, unreadable=tuple(unreadable))

    def _lists(self, item: Item) -> bool:
        return self.catalog.find(item.rep) == item

    def _put_stored(self, stored: Sequence[StoredItem]) -> None:
        self._listing.put_all([each.item for each in stored], [each.revision for each in stored])

    def _forget_missing(self) -> int:
        """Remove items that the store lacks. A damaged item stays listed: only the catalogue knows what it was."""
        removed = 0
        for transfer in self._listing.transfers():
            with self.locks.hold(name_of(transfer.rep)):
                if self._transfer_of(name_of(transfer.rep)) is None:
                    self._listing.forget_transfer(transfer.rep)
        for name in self._unkept_names():
            with self.locks.hold(name):
                if not self._objects.holds(name):
                    removed += self.catalog.remove(RepositoryName.parse(name))
        return removed

    def _transfer_of(self, name: str) -> Transfer | None:
        """Return the transfer of the item, by its object. If that cannot be read, the catalogue stays as it is."""
        try:
            self.read(name)
        except ItemTransferred as gone:
            return gone.transfer
        except ContentMissing:
            return None
        except ContentDamaged:
            return self.catalog.transfer(RepositoryName.parse(name))
        return None

    def verify(
        self,
        labels: Iterable[Label] = (),
        on_bytes: Callable[[int], None] | None = None,
        *,
        before: int | None = None,
        verify_all: VerifyAll | None = None,
    ) -> Iterator[Verified]:
        """Verify these items, or all, the least recently verified first. With `before`, skip items that were found
        whole at that second or since. `verify_all` verifies many, in other processes perhaps. `UnknownItem` for a label
        that no item here has."""
        if names := [self._name_of_label(label) for label in labels]:
            for name in names:
                yield self.verify_item(name, on_bytes)
            return
        if verify_all is None:
            yield from (self.verify_item(name, on_bytes) for name in self._names_by_age(before))
        else:
            yield from verify_all(self._names_by_age(before), on_bytes)
        for name in self._unkept_names():
            if problems := tuple(self._problems(name, None, _Found())):
                yield Verified(name, problems)
        for stray in self._objects.strays():
            yield Verified(None, (stray,))

    def _names_by_age(self, before: int | None) -> Iterator[str]:
        """Yield the names of all objects, the least recently verified first. If the times of verification cannot be
        recorded, yield them in the order of the store."""
        try:
            assert self.integrity is not None  # a store on a disk has one
            self.integrity.ledger.expect(self.content.iterate())
            names = self.integrity.ledger.due(before)
        except StorageError:
            yield from self.content.iterate()
            return
        for name in names:
            if self._objects.holds(name):
                yield name
            elif not self.is_listed(name):
                self.integrity.ledger.forget(name)  # it was removed since

    def verify_item(self, name: str, on_bytes: Callable[[int], None] | None = None) -> Verified:
        """Verify one item, record the result, and list the item if it can be read again."""
        (verified,) = self.verify_items((name,), on_bytes)
        return verified

    def verify_items(self, names: Sequence[str], on_bytes: Callable[[int], None] | None = None) -> list[Verified]:
        """Verify several items, and record all results at once."""
        found = [_Found() for _ in names]
        results = [(name, tuple(self._problems(name, on_bytes, each))) for name, each in zip(names, found, strict=True)]
        damaged = {name for name in names if self.integrity is not None and self.integrity.is_damaged(name)}
        if self.integrity is not None:
            self._remember(self.integrity, results)
        for name, problems in results:
            if name in damaged and not problems:
                self.settle(name)
        return [self._judge(name, problems, each) for (name, problems), each in zip(results, found, strict=True)]

    def _judge(self, name: str, problems: tuple[Problem, ...], found: _Found) -> Verified:
        told = problems
        if not problems and (found.item is None or self.catalog.find(found.item.rep) != found.item):
            told = tuple(self._catalogue_problems(name))
        if not told:
            self._complete_crcs(name, found.crcs)
        return Verified(name, told)

    def _remember(self, integrity: Integrity, results: Sequence[tuple[str, tuple[Problem, ...]]]) -> None:
        """Record the results. On a full disk this process remembers them, and verification goes on."""
        try:
            integrity.record_all(results)
        except StorageError:
            for name, problems in results:
                for problem in filter(is_damage, problems):
                    integrity.note(name, problem)

    def is_listed(self, name: str) -> bool:
        """Return whether the catalogue has an item of that name."""
        try:
            return self.catalog.find(RepositoryName.parse(name)) is not None
        except (ContentDamaged, InvalidLabel):
            return False

    def _name_of_label(self, label: Label) -> str:
        try:
            return name_of(self.find(label))
        except ContentDamaged as error:  # known, but too damaged for the catalogue
            return str(error.parameters["name"])

    def _complete_crcs(self, name: str, crcs: Mapping[str, str]) -> None:
        """List the CRC-32 of files taken in by versions that did not compute it. Records stay as they are: only the
        catalogue has it, until the item is changed or read in anew."""
        with suppress(StorageError, ContentMissing, ContentDamaged, InvalidLabel):
            listed = self.catalog.find(RepositoryName.parse(name))
            if listed is not None and not all(file.crc32 for file in listed.files):
                self._list_with_crcs(name, crcs)

    def _list_with_crcs(self, name: str, crcs: Mapping[str, str]) -> None:
        with self.locks.hold(name):
            stored = self.read(name)
            files = tuple(
                file if file.crc32 is not None else replace(file, crc32=crcs.get(file.sha512))
                for file in stored.item.files
            )
            self.list(replace(stored, item=replace(stored.item, files=files)))

    def _problems(self, name: str, on_bytes: Callable[[int], None] | None, found: _Found) -> Iterator[Problem]:
        try:
            yield from self.content.verify(name, on_bytes, found.crcs.__setitem__)
        except ContentMissing:
            yield Problem(Damage.MISSING, "missing", name, "the catalogue has it, the store has not")
            return
        except ContentDamaged as error:
            yield Problem(Damage.UNREADABLE, str(error.parameters["problem"]), name, str(error.parameters["reason"]))
            return
        try:
            found.item = item = self.read(name).item
        except ItemTransferred as gone:
            if self.catalog.find(gone.transfer.rep) is not None or self.catalog.transfer(gone.transfer.rep) is None:
                yield Problem(Damage.STRUCTURE, "catalogue", TRANSFERRED, _OTHERWISE)
            return
        except ContentDamaged as error:
            yield Problem(Damage.UNREADABLE, "record", ITEM, str(error))
            return
        recorded = {DOC + file.path: file.sha512 for file in item.files}
        kept = {path: digest for path, digest in self.content.read(name).head.files.items() if path.startswith(DOC)}
        for path in sorted(path for path in recorded.keys() | kept.keys() if recorded.get(path) != kept.get(path)):
            yield Problem(Damage.STRUCTURE, "record", path, "the item's record and its files do not agree")

    def _catalogue_problems(self, name: str) -> Iterator[Problem]:
        with self.locks.hold(name), suppress(ItemTransferred):  # a transfer is reported with the other problems
            item = self.read(name).item
            if self.catalog.find(item.rep) != item:
                yield Problem(Damage.STRUCTURE, "catalogue", ITEM, _OTHERWISE)
