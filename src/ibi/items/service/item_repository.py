"""Items in the store: each is an object of content, and the catalogue has the data for look-ups.

The object is the truth. A change is written there first, then listed in the catalogue; between the two, the journal has
the item's name. `settle` repeats the second half, any number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from ibi.items.model.content import Bytes, Change, Keep, NewObject, Source
from ibi.items.model.item import Item
from ibi.items.model.item_json import encode_local
from ibi.items.model.transfer_record import Transfer, encode_transfer
from ibi.items.ports.archive_store import Batching, Content, ContentMissing, ItemLocks, Job, Journal, OnBytes, Result
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.errors import LabelTaken, UnknownItem
from ibi.items.rules.related_items import find_labelled, have_one_owner, is_declined
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.stored_item import (
    DOC,
    LOCAL,
    TRANSFERRED,
    ItemReader,
    ItemTransferred,
    LateItem,
    MakeItem,
    StoredItem,
    is_other,
    items_claimed,
    name_of,
    object_of,
    stored,
    unfinished,
    unfinished_if_refused,
    with_backlink,
)
from ibi.people.model.account import AuditEntry
from ibi.people.ports import AuditLog
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.storage_errors import StorageError

STEPS: Final = ("change noted", "content kept", "item listed", "claim answered", "change done")
REMOVAL_STEPS: Final = ("change noted", "item listed", "content removed", "change done")
"""The steps at which tests try a crash: of a change, and of a removal that leaves nothing."""


def ignore_step(step: str) -> None:
    """Do nothing: by default steps are not watched."""


def _allow_change(name: str) -> None:
    """Do nothing: by default every item may be changed."""


def _one_by_one(work: Callable[[Sequence[Job]], Sequence[Result | Exception]]) -> Callable[[Job], Result]:
    """Return a `Batching` for callers without concurrent threads."""
    return lambda job: _result(*work([job]))


def _result(outcome: Result | Exception) -> Result:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def put_together(items: Mapping[str, Job], put: Callable[[Sequence[Job]], object]) -> Iterator[tuple[str, IbiError]]:
    """Put items by their names, at once. Yield the items whose label belongs to another item, with the error."""
    try:
        put([*items.values()])
        return
    except LabelTaken:
        pass  # putting them one by one shows which of them failed
    for name, item in items.items():
        try:
            put([item])
        except LabelTaken as error:
            yield name, error


class PendingItem(NamedTuple):
    """An item, or another version of one, that is about to be stored under a name, with the sources of its files."""

    name: str
    make: MakeItem
    files: Mapping[str, Source]
    change: Change
    entry: AuditEntry | None = None
    """Its entry in the audit log."""
    record: bytes | None = None
    """Its `item.json`, if that is taken over unchanged from another Archive."""
    others: Mapping[str, Source] = MappingProxyType({})
    """Further files of its object, beside its files and records, such as its provenance."""
    dropped: frozenset[str] = frozenset()
    """Further files that its object is to lose."""


class ItemRepository(ItemReader):
    """Content and catalogue of one Archive, written in the order that survives a crash."""

    def __init__(
        self,
        content: Content,
        catalog: Catalog,
        *,
        locks: ItemLocks,
        journal: Journal | None = None,
        batching: Batching | None = None,
        on_step: Callable[[str], None] = ignore_step,
        integrity: Integrity | None = None,
        audit: AuditLog | None = None,
    ) -> None:
        """Without a journal there is no recovery after a crash, and without `batching` each item is added by itself:
        for stores in memory. `integrity` knows the damaged items, and records new damage."""
        super().__init__(content, integrity)
        self.catalog = catalog
        self.locks = locks
        self.step = on_step
        self._journal = journal
        self._unfinished: set[str] = set()
        self._audit = audit
        self._check_change: Callable[[str], None] = _allow_change
        self._add_together = (batching or _one_by_one)(self._add_lists)

    def find(self, label: Label) -> Item:
        """Return the item that the catalogue has under this label; `UnknownItem` if there is none."""
        item = find_labelled(self.catalog, label)
        if item is None:
            raise UnknownItem(label=str(label))
        return item

    def require_whole(self, name: str) -> None:
        """Raise `ContentDamaged` if the item is known to be damaged: it takes no change until it was restored."""
        if self.integrity is not None:
            self.integrity.require_whole(name)

    def guard_changes(self, check: Callable[[str], None], service: LabelForms | None = None) -> None:
        """Call `check` with the name of each item before a change. An error that it raises refuses the change. New
        items are not checked, nor are the writes of transfers and Copies, nor `service`, the Archive's own item, which
        is never given away."""
        own = None if service is None or service.rep is None else name_of(service.rep)
        self._check_change = lambda name: None if name == own else check(name)

    def require_changeable(self, name: str, *, even_damaged: bool = False) -> None:
        """Refuse a change that an item's owner asks for. Raises the error of the guard, or `ContentDamaged` as
        `require_whole` does."""
        self._check_change(name)
        if not even_damaged:
            self.require_whole(name)

    @contextmanager
    def changing(self, *names: str) -> Iterator[None]:
        """Note that these items change within the `with`. If that fails, catalogue and content are made to agree again:
        now or, if that fails too, when the store is opened next."""
        with self._journal_entry(names):
            yield
        self.step("change done")
        self._end(names)

    @contextmanager
    def _journal_entry(self, names: tuple[str, ...]) -> Iterator[None]:
        self._retry()
        if self._journal is not None:
            self._journal.begin(names)
        self.step("change noted")
        try:
            yield
        except Exception:
            self._finish_all(names)
            raise

    def _finish_all(self, names: Iterable[str]) -> None:
        for name in names:
            try:
                self.finish(name)
                self._end((name,))
            except (IbiError, OSError):
                self._unfinished.add(name)

    def _retry(self) -> None:
        """Repeat changes that could not be finished before, for example because the disk was full."""
        failed = set()
        while self._unfinished:
            with suppress(KeyError):  # others take from it too
                failed.add(self._unfinished.pop())
        self._finish_all(failed)

    def _end(self, names: tuple[str, ...]) -> None:
        if self._journal is not None:
            self._journal.end(names)

    def note(self, *entries: AuditEntry) -> None:
        """Write changes into the audit log."""
        if self._audit is not None:
            self._audit.append(entries)

    def add(self, new: PendingItem) -> Item:
        """Store and list a new item, together with those of other threads. Its files are so small that it keeps none of
        them waiting."""
        return _result(*self._add_together((new,)))

    def add_all(self, new: Sequence[PendingItem]) -> Sequence[Item | Exception]:
        """Store and list several new items. Return each item, or its error."""
        return self._add_together(new)

    def _add_lists(self, lists: Sequence[Sequence[PendingItem]]) -> list[Sequence[Item | Exception]]:
        made = iter(self._add_all([new for each in lists for new in each]))
        return [tuple(islice(made, len(each))) for each in lists]

    def _add_all(self, new: Sequence[PendingItem]) -> list[Item | Exception]:
        """Store and list the items. Return each item, or its error."""
        names = tuple(each.name for each in new)
        with self._journal_entry(names):
            stored = self._keep_all(new)
            self.step("content kept")
            kept = [each for each in stored if isinstance(each, StoredItem)]
            outcomes = _pair_outcomes(stored, self._list_together(kept))
            self.step("item listed")
        told = tuple(zip(names, outcomes, strict=True))
        done = zip(new, outcomes, strict=True)
        self.note(*(each.entry for each, made in done if isinstance(made, Item) and each.entry is not None))
        self._finish_all([name for name, outcome in told if isinstance(outcome, Exception)])
        self.step("change done")
        self._end(tuple(name for name, outcome in told if isinstance(outcome, Item)))
        return outcomes

    def _keep_all(self, new: Sequence[PendingItem]) -> list[StoredItem | Exception]:
        """Store the content of the items. Return each stored item, or its error."""
        items = [LateItem(each.make, each.record) for each in new]
        objects = [
            NewObject(each.name, {**each.others, **late.object_of(each.files)}, each.change)
            for each, late in zip(new, items, strict=True)
        ]
        outcomes = zip(items, self.content.create_all(objects), strict=True)
        return [made if isinstance(made, Exception) else stored(late.item, made) for late, made in outcomes]

    def _list_together(self, stored: Sequence[StoredItem]) -> Sequence[Exception | None]:
        """List the items. Return the error of each, or None."""
        if not stored:
            return ()
        try:
            return self.catalog.put_each([each.item for each in stored], [each.revision for each in stored])
        except StorageError as error:
            return [unfinished(each.item, error) for each in stored]
        except Exception as error:  # noqa: BLE001 - any error is returned to its caller
            if len(stored) == 1:
                return [error]
        return [outcome for each in stored for outcome in self._list_together([each])]

    def create(self, new: PendingItem, on_bytes: OnBytes | None = None) -> StoredItem:
        """Store the first version. The item is made when its files were taken in."""
        late = LateItem(new.make, new.record)
        files = {**new.others, **late.object_of(new.files)}
        kept = self.content.create(new.name, files, new.change, on_bytes=on_bytes)
        self.step("content kept")
        return stored(late.item, kept)

    def revise(self, new: PendingItem, head: int, on_bytes: OnBytes | None = None) -> StoredItem:
        """Store another version, as `create` does. `ContentChanged` if the item is no longer at the version `head`."""
        late = LateItem(new.make, new.record)
        others = {path: kept for path, kept in self._other_files(new.name).items() if path not in new.dropped}
        files = others | {**new.others, **late.object_of(new.files)}
        kept = self.content.update(new.name, files, new.change, head=head, on_bytes=on_bytes)
        self.step("content kept")
        return stored(late.item, kept)

    def annotate(self, item: Item, change: Change, head: int) -> StoredItem:
        """Store another version in which only the item's records are new. Its files stay."""
        files: dict[str, Source] = {file.path: Keep(DOC + file.path) for file in item.files}
        name = name_of(item)
        kept = self.content.update(name, self._other_files(name) | object_of(item, files), change, head=head)
        self.step("content kept")
        return stored(item, kept)

    def annotate_locally(self, item: Item, change: Change, head: int) -> StoredItem:
        """Store another version in which only the item's local record is new. Its files and its `item.json`, which are
        the same in every Archive, stay byte for byte."""
        name = name_of(item)
        files: dict[str, Source] = {path: Keep(path) for path in self.content.read(name).head.files if path != LOCAL}
        kept = self.content.update(name, {**files, LOCAL: Bytes(encode_local(item))}, change, head=head)
        self.step("content kept")
        return stored(item, kept)

    def forget(self, item: Item) -> None:
        """Remove a Copy, the only item that leaves nothing. For the holder of its lock.

        The catalogue goes first: after a crash the item is listed again, as it was.
        """
        name = name_of(item)
        with unfinished_if_refused(item):
            self.catalog.remove(item.rep)
        self.step("item listed")
        with suppress(ContentMissing):
            self.content.remove(name)
        if self.integrity is not None:
            with suppress(StorageError):  # the schedule of verifications finds out by itself
                self.integrity.ledger.forget(name)
        self.step("content removed")

    def _other_files(self, name: str) -> dict[str, Source]:
        """Return the further files of an object, beside the item's files and records. They stay in every version."""
        return {path: Keep(path) for path in self.content.read(name).head.files if is_other(path)}

    def purge_to(self, item: Item, change: Change, head: int) -> StoredItem:
        """Store the item's records, and nothing of earlier versions."""
        kept = self.content.purge_to(name_of(item), object_of(item, {}), change, head=head)
        self.step("content kept")
        return stored(item, kept)

    def depart(self, transfer: Transfer, change: Change, head: int) -> None:
        """Store another version that holds only the transfer of the item. Earlier versions stay in the object.

        For the holder of the item's lock.
        """
        record: dict[str, Source] = {TRANSFERRED: Bytes(encode_transfer(transfer))}
        kept = self.content.update(name_of(transfer.rep), record, change, head=head)
        self.step("content kept")
        with unfinished_if_refused(transfer.rep):
            self.catalog.depart(transfer, kept.head.number)
        self.step("item listed")

    def list(self, stored: StoredItem) -> None:
        """List the item in the catalogue as its object has it. For the holder of the item's lock."""
        with unfinished_if_refused(stored.item):
            self.catalog.put(stored.item, stored.revision)
        self.step("item listed")

    def rewrite(self, name: str, into: Callable[[Item], Item], change: Change) -> Item:
        """Change the item's relations with `into`, and return it. Nothing is written if it stays the same.

        For the holder of the item's lock.
        """
        before = self.read(name)
        item = into(before.item)
        if item != before.item:
            self.list(self.annotate(item, change, before.head))
        return item

    def answer_claims(self, item: Item, names: Collection[str], change: Change) -> None:
        """Add the back-links of the claims that `item` makes, to the items of these names. For the holder of the locks
        of all."""
        for held in (held for held in items_claimed(self.catalog, item) if name_of(held) in names):
            told = replace(change, message=f"Named by {item.rep}")
            with unfinished_if_refused(item):
                self.rewrite(name_of(held), lambda now: with_backlink(self.catalog, now, item), told)
            self.step("claim answered")

    def settle(self, name: str) -> Item | None:
        """Make the catalogue agree with the object of that name. Return the item, or None if there is no object, or the
        item was given away."""
        with self.locks.hold(name):
            try:
                kept = self.content.read(name)
            except ContentMissing:
                return None
            try:
                item = self._decoded(name, kept)
            except ItemTransferred as gone:
                with unfinished_if_refused(gone.transfer.rep):
                    self.catalog.depart(gone.transfer, kept.head.number)
                return None
            self.list(stored(item, kept))
            return item

    def finish(self, name: str) -> Item | None:
        """Finish a change of that item: list it, and answer its claims on items of the same owner. Claims on other
        items are left to their owners."""
        item = self.settle(name)
        if item is None:
            return None
        for held in tuple(held for held in items_claimed(self.catalog, item) if _is_answered_at_once(held, item)):
            change = self.content.read(name).versions[-1].change
            with self.locks.hold(name_of(held)):
                self.rewrite(name_of(held), lambda now: _add_backlink(self.catalog, now, item), change)
        return item


def _is_answered_at_once(held: Item, claimant: Item) -> bool:
    return have_one_owner(held, claimant) and not is_declined(held, claimant.labels)


def _add_backlink(catalog: Catalog, held: Item, claimant: Item) -> Item:
    """Return `held` with the back-link to `claimant`. Return it unchanged if another claimant was quicker: then the
    claim stays without a back-link."""
    try:
        return with_backlink(catalog, held, claimant)
    except StorageError:
        raise
    except IbiError:
        return held


def _pair_outcomes(
    stored: Sequence[StoredItem | Exception], refusals: Sequence[Exception | None]
) -> list[Item | Exception]:
    """Return each item, or its error. `refusals` has the error of listing, or None, for each item that is stored."""
    listed = iter(refusals)
    return [each if isinstance(each, Exception) else next(listed) or each.item for each in stored]
