"""Builds the store of a data directory: content, catalogue and their repair; also for a read-only directory.

`store/` holds the content and `catalogue.sqlite` the index for look-ups. `changes/` holds the journal of changes under
way, and `item-locks/` the locks of the items.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ibi.items.ports.archive_store import ReadAhead
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.item_repository import ignore_step
from ibi.items.service.store_listing import ListingResult
from ibi.items.store.catalogue.catalog import FILE_NAME, SqliteCatalog
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.items.store.catalogue.parts_copy import FORMER_VERIFICATIONS, rescue_parts
from ibi.items.store.change_journal import ChangeJournal
from ibi.items.store.generation_file import FILE_NAME as GENERATION
from ibi.items.store.generation_file import GenerationFile
from ibi.items.store.ocfl.layout import FILE_NAME as VERSION_FILE
from ibi.items.store.ocfl.store import OcflStore
from ibi.minting.store.tick_store import restart_given_out
from ibi.people.ports import AuditLog
from ibi.people.store.audit_log import FileAuditLog
from ibi.standard.storage_errors import CatalogDamaged
from ibi.storage.batching import batched
from ibi.storage.connection import set_aside
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import FileItemLocks
from ibi.storage.machine import MachineClocks, refusals
from ibi.storage.unchanged import copy_database, remove_database

STORE: Final = "store"
CATALOGUE: Final = FILE_NAME
JOURNAL: Final = "changes"
_LOCKS: Final = "item-locks"


def _ignore() -> None:
    """Ignore the count of items; the default."""


def _begin(expected: int | None) -> None:
    """Ignore the start of a rebuild; the default."""


def open_store(
    data: Path,
    *,
    on_step: Callable[[str], None] = ignore_step,
    on_item: Callable[[], None] = _ignore,
    on_rebuild: Callable[[int | None], None] = _begin,
    give_up_missing: bool = False,
    boot: str | None = None,
    read_ahead: ReadAhead | None = None,
    audit: AuditLog | None = None,
) -> ArchiveStore:
    """Open the store of a data directory, and create it if there is none. See `ArchiveStore.agree` for its recovery.

    `boot` identifies the start of this machine. Without an `audit` log, which its owner closes, the store opens one.
    Raise `CatalogDamaged` if the catalogue cannot be used.
    """
    with ExitStack() as opened:
        store = _assemble(data, opened, generation=data / STORE, on_step=on_step, boot=boot, audit=audit)
        store.agree(
            partial(_forget_given_out, data),
            on_item=on_item,
            on_rebuild=on_rebuild,
            give_up_missing=give_up_missing,
            read_ahead=read_ahead,
        )
        store.take_over(opened)
        return store


def _assemble(
    data: Path,
    opened: ExitStack,
    *,
    generation: Path,
    on_step: Callable[[str], None] = ignore_step,
    boot: str | None = None,
    audit: AuditLog | None = None,
) -> ArchiveStore:
    """Return the store in the directory `data`, before its recovery; only the `generation` file has a directory of its
    own. Whatever was opened for it is closed with `opened`."""
    ledger = SqliteIntegrity(data / CATALOGUE)
    opened.callback(ledger.close)
    integrity = Integrity(ledger)
    content = OcflStore(data / STORE, on_step, ledger)
    opened.callback(content.close)
    journal = ChangeJournal(data / JOURNAL, boot or MachineClocks().read().boot)
    opened.callback(journal.close)
    marks = GenerationFile(generation)
    opened.callback(marks.close)
    catalog = SqliteCatalog(data / CATALOGUE, marks, integrity.require_unknown)
    opened.callback(catalog.close)
    locks = FileItemLocks(data / _LOCKS)
    opened.callback(locks.close)
    if audit is None:
        audit = FileAuditLog(data)
        opened.callback(audit.close)
    return ArchiveStore(
        content,
        catalog,
        journal=journal,
        locks=locks,
        batching=batched,
        integrity=integrity,
        audit=audit,
        on_step=on_step,
    )


def _forget_given_out(data: Path) -> None:
    restart_given_out(data, MachineClocks().read().wall)


def open_repaired(
    data: Path,
    *,
    on_item: Callable[[], None] = _ignore,
    on_rebuild: Callable[[int | None], None] = _begin,
    on_aside: Callable[[CatalogDamaged, Path | None], None] = lambda _error, _aside: None,
    give_up_missing: bool = False,
    read_ahead: ReadAhead | None = None,
    audit: AuditLog | None = None,
) -> ArchiveStore:
    """Open the store, and rebuild a catalogue that is damaged or of another store. The old one is renamed, and
    `on_aside` is called with its new name."""

    def opened() -> ArchiveStore:
        return open_store(
            data,
            on_item=on_item,
            on_rebuild=on_rebuild,
            give_up_missing=give_up_missing,
            read_ahead=read_ahead,
            audit=audit,
        )

    try:
        return opened()
    except CatalogDamaged as error:
        on_aside(error, _set_catalogue_aside(data))
    return opened()


def _set_catalogue_aside(data: Path) -> Path | None:
    """Rename the catalogue. First save its texts, previews and verifications for the next one."""
    rescue_parts(data / CATALOGUE)
    return set_aside(data / CATALOGUE)


def rebuild_catalogue(
    data: Path, on_item: Callable[[], None] = _ignore, read_ahead: ReadAhead | None = None
) -> ListingResult:
    """Rebuild the catalogue from the store. A damaged one is set aside.

    Labels given out before count as uncertain from then on, because a rebuild often follows a restore from a backup.
    """
    _forget_given_out(data)
    try:
        return _rebuilt(data, on_item, read_ahead)
    except CatalogDamaged:  # noticed only while it was read
        _set_catalogue_aside(data)
    return _rebuilt(data, on_item, read_ahead)


def _rebuilt(data: Path, on_item: Callable[[], None], read_ahead: ReadAhead | None) -> ListingResult:
    with open_repaired(data, on_item=on_item, give_up_missing=True, read_ahead=read_ahead) as store:
        return store.swept if store.is_rebuilt else store.rebuild(on_item)


def is_read_only(data: Path) -> bool:
    """Return whether this process may not, or should not, write in a data directory. A file of another user would block
    the owner of the directory."""
    if data.exists() and data.stat().st_uid != os.geteuid():
        return True
    places = (data, data / STORE, data / CATALOGUE)
    return any(place.exists() and not os.access(place, os.W_OK) for place in places)


def open_read_only(data: Path, *, on_rebuild: Callable[[int | None], None]) -> ArchiveStore:
    """Open the store of a data directory without writing there, not even a lock or a log.

    Locks and a copy of the catalogue lie in a temporary directory. That copy is recovered after a crash, upgraded from
    an older format, and made to agree with the store. The objects are read in place; the disk refuses changes of items.
    """
    with ExitStack() as opened:
        beside = Path(opened.enter_context(TemporaryDirectory(prefix="ibi-read-only-")))
        _take_along(data, beside)
        try:
            return _open(beside, opened, on_rebuild)
        except CatalogDamaged:  # only the copy is damaged, and the store is authoritative
            rescue_parts(beside / CATALOGUE)
            remove_database(beside / CATALOGUE)
        return _open(beside, opened, on_rebuild)


def _open(beside: Path, opened: ExitStack, on_rebuild: Callable[[int | None], None]) -> ArchiveStore:
    with ExitStack() as parts:
        store = _assemble(beside, parts, generation=beside)
        store.agree(lambda: None, on_rebuild=on_rebuild)
        store.take_over(opened)
        store.take_over(parts)
        return store


def _take_along(data: Path, beside: Path) -> None:
    """Copy small and changing files, and link to the objects."""
    with refusals(DiskRefused, data):
        if not (data / STORE).is_dir():
            raise FileNotFoundError(2, f"there is no directory {STORE}")
        (beside / STORE).symlink_to((data / STORE).resolve(), target_is_directory=True)
        for source, name in ((data / VERSION_FILE, VERSION_FILE), (data / STORE / GENERATION, GENERATION)):
            with suppress(FileNotFoundError):
                shutil.copyfile(source, beside / name)
        copy_database(data / CATALOGUE, beside / CATALOGUE)
        _copy_journal(data / JOURNAL, beside / JOURNAL)
    with suppress(OSError):  # reading the items finds the damage that an earlier version recorded
        copy_database(data / FORMER_VERIFICATIONS, beside / FORMER_VERIFICATIONS)


def _copy_journal(source: Path, target: Path) -> None:
    """Copy the lists of changes that were under way: for these items the catalogue may be out of date. Other users may
    be unable to read the lists; then the catalogue is used as it is."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        names = [path.name for path in source.iterdir() if path.is_file()]
        target.mkdir()
        for name in names:
            with suppress(FileNotFoundError, PermissionError):
                shutil.copyfile(source / name, target / name)
