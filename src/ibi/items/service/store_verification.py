"""The verification of the items of a store: their bytes, their records, and the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from ibi.items.model.content import Damage, Problem, is_damage
from ibi.items.model.item import Item
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.archive_store import ContentDamaged, ContentMissing, ContentStore
from ibi.items.ports.catalog import Catalog
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import DOC, ITEM, TRANSFERRED, ItemTransferred, name_of
from ibi.standard.errors import InvalidLabel
from ibi.standard.label import Label, RepositoryName
from ibi.standard.storage_errors import StorageError

_OTHERWISE: Final = "the catalogue says otherwise: run `ibi rebuild`"


@dataclass(frozen=True, slots=True)
class Verified:
    """The problems found in one item; none if it is whole."""

    name: str | None
    """The name of the item. None for stray files in the store."""
    problems: tuple[Problem, ...]


VerifyAll = Callable[[Iterable[str], Callable[[int], None] | None], Iterator[Verified]]
"""Verifies the items of these names, in their order."""


@dataclass(slots=True)
class _Found:
    """The facts that a verification learns about an item."""

    crcs: dict[str, str] = field(default_factory=dict)
    item: Item | None = None


class StoreVerification:
    """Verifies items of a store, and records the results."""

    def __init__(self, store: ItemRepository, objects: ContentStore, unkept_names: Callable[[], Iterator[str]]) -> None:
        """`unkept_names` yields the names in the catalogue that the store lacks."""
        self._store, self._objects, self._unkept_names = store, objects, unkept_names

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
            assert self._store.integrity is not None  # a store on a disk has one
            self._store.integrity.ledger.expect(self._store.content.iterate())
            names = self._store.integrity.ledger.due(before)
        except StorageError:
            yield from self._store.content.iterate()
            return
        for name in names:
            if self._objects.holds(name):
                yield name
            elif not lists_name(self._store.catalog, name):
                self._store.integrity.ledger.forget(name)  # it was removed since

    def verify_item(self, name: str, on_bytes: Callable[[int], None] | None = None) -> Verified:
        """Verify one item, record the result, and list the item if it can be read again."""
        (verified,) = self.verify_items((name,), on_bytes)
        return verified

    def verify_items(self, names: Sequence[str], on_bytes: Callable[[int], None] | None = None) -> list[Verified]:
        """Verify several items, and record all results at once."""
        found = [_Found() for _ in names]
        results = [(name, tuple(self._problems(name, on_bytes, each))) for name, each in zip(names, found, strict=True)]
        damaged = {
            name for name in names if self._store.integrity is not None and self._store.integrity.is_damaged(name)
        }
        if self._store.integrity is not None:
            self._remember(self._store.integrity, results)
        for name, problems in results:
            if name in damaged and not problems:
                self._store.settle(name)
        return [self._judge(name, problems, each) for (name, problems), each in zip(results, found, strict=True)]

    def _judge(self, name: str, problems: tuple[Problem, ...], found: _Found) -> Verified:
        told = problems
        if not problems and (found.item is None or self._store.catalog.find(found.item.rep) != found.item):
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

    def _name_of_label(self, label: Label) -> str:
        try:
            return name_of(self._store.find(label))
        except ContentDamaged as error:  # known, but too damaged for the catalogue
            return str(error.parameters["name"])

    def _complete_crcs(self, name: str, crcs: Mapping[str, str]) -> None:
        """List the CRC-32 of files taken in by versions that did not compute it. Records stay as they are: only the
        catalogue has it, until the item is changed or read in anew."""
        with suppress(StorageError, ContentMissing, ContentDamaged, InvalidLabel):
            listed = self._store.catalog.find(RepositoryName.parse(name))
            if listed is not None and not all(file.crc32 for file in listed.files):
                self._list_with_crcs(name, crcs)

    def _list_with_crcs(self, name: str, crcs: Mapping[str, str]) -> None:
        with self._store.locks.hold(name):
            stored = self._store.read(name)
            files = tuple(
                file if file.crc32 is not None else replace(file, crc32=crcs.get(file.sha512))
                for file in stored.item.files
            )
            self._store.list(replace(stored, item=replace(stored.item, files=files)))

    def _problems(self, name: str, on_bytes: Callable[[int], None] | None, found: _Found) -> Iterator[Problem]:
        try:
            yield from self._store.content.verify(name, on_bytes, found.crcs.__setitem__)
        except ContentMissing:
            yield Problem(Damage.MISSING, "missing", name, "the catalogue has it, the store has not")
            return
        except ContentDamaged as error:
            yield Problem(Damage.UNREADABLE, str(error.parameters["problem"]), name, str(error.parameters["reason"]))
            return
        try:
            found.item = item = self._store.read(name).item
        except ItemTransferred as gone:
            yield from self._transfer_problems(gone.transfer)
            return
        except ContentDamaged as error:
            yield Problem(Damage.UNREADABLE, "record", ITEM, str(error))
            return
        recorded = {DOC + file.path: file.sha512 for file in item.files}
        files = self._store.content.read(name).head.files
        kept = {path: digest for path, digest in files.items() if path.startswith(DOC)}
        # Each file of which one knows the path or digest and the other does not.
        for path in sorted({path for path, _ in recorded.items() ^ kept.items()}):
            yield Problem(Damage.STRUCTURE, "record", path, "the item's record and its files do not agree")

    def _transfer_problems(self, transfer: Transfer) -> Iterator[Problem]:
        catalog = self._store.catalog
        if catalog.find(transfer.rep) is not None or catalog.transfer(transfer.rep) is None:
            yield Problem(Damage.STRUCTURE, "catalogue", TRANSFERRED, _OTHERWISE)

    def _catalogue_problems(self, name: str) -> Iterator[Problem]:
        with self._store.locks.hold(name), suppress(ItemTransferred):  # a transfer is reported with the other problems
            item = self._store.read(name).item
            if self._store.catalog.find(item.rep) != item:
                yield Problem(Damage.STRUCTURE, "catalogue", ITEM, _OTHERWISE)


def lists_name(catalog: Catalog, name: str) -> bool:
    """Return whether the catalogue has an item of that name."""
    try:
        return catalog.find(RepositoryName.parse(name)) is not None
    except (ContentDamaged, InvalidLabel):
        return False
