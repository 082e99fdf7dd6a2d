"""The store of one data directory: content, catalogue, and the care for both.

`store/` holds the content, `catalogue.sqlite` what is needed to look items up, `changes/` the journal of changes under
way, `item-locks/` the locks of the items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Final

from ibi.archive.errors import LabelTaken
from ibi.errors import IbiError, InvalidLabel
from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.model.content import Damage, Problem
from ibi.model.identity import Identity
from ibi.model.integrity import is_damage
from ibi.model.item import Item
from ibi.model.transfer import Transfer
from ibi.ports.content import ContentDamaged, ContentMissing
from ibi.ports.search import Search
from ibi.services.claims import named_by
from ibi.services.integrity import Integrity
from ibi.services.item_object import TRANSFERRED
from ibi.services.kept_items import DOC, ITEM, ItemTransferred, KeptItems, name_of
from ibi.storage.change_journal import EVERYTHING, ChangeJournal
from ibi.storage.disk import refusals, sync_directory
from ibi.storage.errors import DiskRefused, StorageError, StoreDamaged
from ibi.storage.item_locks import ItemLocks
from ibi.storage.machine import MachineClocks
from ibi.storage.ocfl.store import OcflStore
from ibi.storage.sqlite.catalog import SqliteCatalog
from ibi.storage.sqlite.given_out import restart_given_out
from ibi.storage.sqlite.integrity import FILE_NAME as INTEGRITY
from ibi.storage.sqlite.integrity import SqliteIntegrity

__all__ = ["CATALOGUE", "STEPS", "STORE", "ArchiveStore", "Listed", "Verified", "newest_kept", "rebuild_catalogue"]

STORE: Final = "store"
CATALOGUE: Final = "catalogue.sqlite"
_JOURNAL: Final = "changes"
_LOCKS: Final = "item-locks"

STEPS: Final = ("items read in",)
"""Where a crash is tried, beside the steps of each change."""
_BATCH: Final = 200
_OTHERWISE: Final = "the catalogue says otherwise: run `ibi rebuild`"


def _pass(step: str) -> None:
    """Nobody watches."""


def _ignore() -> None:
    """Nobody counts."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What became of items that were read in from the store."""

    looked_at: int = 0
    """How many items were compared with the catalogue, or read: none when a store is opened after a clean end."""
    removed: int = 0
    """Items that the catalogue had and the store has not."""
    unreadable: tuple[tuple[str, IbiError], ...] = ()
    """Objects that cannot be listed, and why: `verify` says more of them."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found wrong with one item; nothing, if there are no problems."""

    name: str | None
    """That of the item; None for what lies in the store and belongs to none."""
    problems: tuple[Problem, ...]


class ArchiveStore(KeptItems):
    """The items of a data directory, open. Each process opens its own; many may at a time."""

    def __init__(
        self,
        data: Path,
        *,
        on_step: Callable[[str], None] = _pass,
        on_item: Callable[[], None] = _ignore,
        boot: str | None = None,
    ) -> None:
        """Opens, and finishes what crashed processes have left; a catalogue that is not there is read from the store.

        `on_item` is told of each item that this has to look at. `boot` names the start of this machine.
        """
        with ExitStack() as opened:
            ledger = SqliteIntegrity(data / INTEGRITY)
            opened.callback(ledger.close)
            integrity = Integrity(ledger)
            self._objects = content = OcflStore(data / STORE, on_step, ledger)
            opened.callback(content.close)
            self._changes = ChangeJournal(data / _JOURNAL, boot or MachineClocks().read().boot)
            opened.callback(self._changes.close)
            self.is_anew = not (data / CATALOGUE).exists()
            if self.is_anew:
                # Before there is a file: half a catalogue is never taken for a whole one.
                self._changes.begin([EVERYTHING])
                # It may be that the directory was put back from a backup without it.
                restart_given_out(data, MachineClocks().read().wall)
            self._sqlite = SqliteCatalog(data / CATALOGUE, integrity.require_unknown)
            opened.callback(self._sqlite.close)
            locks = ItemLocks(data / _LOCKS)
            opened.callback(locks.close)
            super().__init__(
                content, self._sqlite, journal=self._changes, locks=locks, on_step=on_step, integrity=integrity
            )
            self.swept = self._sweep(on_item)
            if self.is_anew:
                self._changes.end([EVERYTHING])
            self._opened = opened.pop_all()

    @property
    def search(self) -> Search:
        """Where its items are searched."""
        return self._sqlite

    def newest(self, identity: Identity) -> Instant | None:
        """The newest date of a label that is kept under the prefixes of an identity."""
        return self._sqlite.newest(identity.prefixes)

    def catalogue_version(self) -> tuple[int, int]:
        """Another value after every change of the catalogue: at once after one by this process, within 2 ms after one
        by another. For one thread to compare."""
        return self._sqlite.recent_version()

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> ArchiveStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sweep(self, on_item: Callable[[], None]) -> Listed:
        """Finish what dead processes have begun: in the store, then in the catalogue, then of the pairs of items."""
        finished = self.content.sweep()
        with self._changes.abandoned() as left:
            if self.is_anew or not all(one.whole for one in left):
                listed = self._list_all(self.content.iterate(), on_item)
                names = [name_of(item) for item in self.catalog.items() if any(named_by(item))]
            else:
                names = list(dict.fromkeys((*finished, *(name for one in left for name in one.names))))
                listed = self._list_all(names, on_item)
            for name in names:
                with suppress(ContentDamaged, InvalidLabel):  # told by `unreadable`
                    self.finish(name)
        return listed

    def rebuild(self, on_item: Callable[[], None] = _ignore) -> Listed:
        """Make the catalogue say what the store says, item by item, and nothing else. Others may go on working."""
        self._sqlite.check_search()
        removed = self._forget_missing()
        return replace(self._list_all(self.content.iterate(), on_item), removed=removed)

    def _list_all(self, names: Iterable[str], on_item: Callable[[], None]) -> Listed:
        """Some hundred in a commit, during which nobody else lists them."""
        rest, looked_at = iter(names), 0
        unreadable: list[tuple[str, IbiError]] = []
        while batch := tuple(islice(rest, _BATCH)):
            with self.locks.held(*batch):
                items = []
                for name in batch:
                    try:
                        items.append(self.read(name).item)
                    except ItemTransferred as gone:
                        self.catalog.depart(gone.transfer)
                    except ContentMissing:
                        pass
                    except (ContentDamaged, InvalidLabel) as error:
                        unreadable.append((name, error))
                    on_item()
                unreadable += self._put_all(items)
            self.step("items read in")
            looked_at += len(batch)
        return Listed(looked_at, unreadable=tuple(unreadable))

    def _put_all(self, items: list[Item]) -> Iterator[tuple[str, IbiError]]:
        try:
            self._sqlite.put_all(items)
            return
        except LabelTaken:
            pass  # by which of them, is told one by one
        for item in items:
            try:
                self.catalog.put(item)
            except LabelTaken as error:
                yield name_of(item), error

    def _forget_missing(self) -> int:
        removed = 0
        for transfer in self._sqlite.transfers():
            with self.locks.held(name_of(transfer.rep)):
                if self._transfer_of(name_of(transfer.rep)) is None:
                    self._sqlite.forget_transfer(transfer.rep)
        for item in self.catalog.items():
            with self.locks.held(name_of(item)):
                try:
                    self.content.read(name_of(item))
                except ContentMissing:
                    removed += self.catalog.remove(item.rep)
                except ContentDamaged:
                    continue  # there is something; what it was, the catalogue alone knows
        return removed

    def _transfer_of(self, name: str) -> Transfer | None:
        """Where the item went, by its object; what cannot be read is left as the catalogue has it."""
        try:
            self.read(name)
        except ItemTransferred as gone:
            return gone.transfer
        except ContentMissing:
            return None
        except ContentDamaged:
            return self.catalog.transfer(RepositoryName.parse(name))
        return None

    def verify(self, labels: Iterable[Label] = (), on_bytes: Callable[[int], None] | None = None) -> Iterator[Verified]:
        """Read again all that is kept of these items, or of all. `UnknownItem` for a label that nobody bears here."""
        names = [self._name_of_label(label) for label in labels]
        for name in names or self.content.iterate():
            yield self.verify_item(name, on_bytes)
        if names:
            return
        for item in self.catalog.items():
            yield from self._missing(name_of(item))
        for stray in self._objects.strays():
            yield Verified(None, (stray,))

    def verify_item(self, name: str, on_bytes: Callable[[int], None] | None = None) -> Verified:
        """Read again all that is kept of one item, remember what was found, and list it if it can be read again."""
        problems = tuple(self._problems(name, on_bytes))
        if self.integrity is not None:
            was_damaged = self.integrity.is_damaged(name)
            self._remember(self.integrity, name, problems)
            if was_damaged and not problems:
                self.settle(name)
        return Verified(name, problems or tuple(self._catalogue_problems(name)))

    def _remember(self, integrity: Integrity, name: str, problems: tuple[Problem, ...]) -> None:
        """A full disk keeps nothing from being verified; what is damaged is known at least in this process."""
        try:
            integrity.record(name, problems)
        except StorageError:
            for problem in filter(is_damage, problems):
                integrity.note(name, problem)

    def is_listed(self, name: str) -> bool:
        """Whether the catalogue has an item of that name."""
        try:
            return self.catalog.find(RepositoryName.parse(name)) is not None
        except (ContentDamaged, InvalidLabel):
            return False

    def _name_of_label(self, label: Label) -> str:
        try:
            return name_of(self.find(label))
        except ContentDamaged as error:  # known, and so damaged that the catalogue has not got it
            return str(error.parameters["name"])

    def _problems(self, name: str, on_bytes: Callable[[int], None] | None) -> Iterator[Problem]:
        try:
            yield from self.content.verify(name, on_bytes)
        except ContentMissing:
            yield Problem(Damage.MISSING, "missing", name, "the catalogue has it, the store has not")
            return
        except ContentDamaged as error:
            yield Problem(Damage.UNREADABLE, str(error.parameters["problem"]), name, str(error.parameters["reason"]))
            return
        try:
            item = self.read(name).item
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
        with self.locks.held(name):
            item = self.read(name).item
            if self.catalog.find(item.rep) != item:
                yield Problem(Damage.STRUCTURE, "catalogue", ITEM, _OTHERWISE)

    def _missing(self, name: str) -> Iterator[Verified]:
        try:
            self.content.read(name)
        except ContentMissing:
            yield Verified(name, tuple(self._problems(name, None)))
        except ContentDamaged:
            pass  # told above


def newest_kept(data: Path, identity: Identity) -> Instant | None:
    """The newest date of a label that is kept in a data directory under the prefixes of an identity. A directory
    without a store has none, and gets none by this question."""
    if not (data / STORE).is_dir():
        return None
    with ArchiveStore(data) as store:
        return store.newest(identity)


def rebuild_catalogue(data: Path, on_item: Callable[[], None] = _ignore) -> Listed:
    """Make the catalogue anew from the store alone. One that is damaged is set aside, under another name.

    What was given out before is uncertain from then on: who does this has often put something back from a backup.
    """
    restart_given_out(data, MachineClocks().read().wall)
    try:
        with ArchiveStore(data, on_item=on_item) as store:
            return store.swept if store.is_anew else store.rebuild(on_item)
    except StoreDamaged as error:
        if Path(str(error.parameters["path"])) != data / CATALOGUE:
            raise
    _set_aside(data)
    with ArchiveStore(data, on_item=on_item) as store:
        return store.swept


def _set_aside(data: Path) -> None:
    number = next(number for number in count(1) if not (data / f"{CATALOGUE}.damaged-{number}").exists())
    with refusals(DiskRefused, data / CATALOGUE):
        for end in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                (data / f"{CATALOGUE}{end}").rename(data / f"{CATALOGUE}.damaged-{number}{end}")
        sync_directory(data)
