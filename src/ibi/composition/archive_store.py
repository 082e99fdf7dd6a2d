"""Builds the store of a data directory: content, catalogue, and their repair.

`store/` holds the content, `catalogue.sqlite` what is needed to look items up, `changes/` the journal of changes under
way, `item-locks/` the locks of the items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from ibi.errors import InvalidLabel
from ibi.instant import Instant
from ibi.label import RepositoryName
from ibi.model.minting import Identity
from ibi.ports.errors import CatalogDamaged, StorageError
from ibi.services.integrity.integrity import Integrity
from ibi.services.items.archive_store import ArchiveStore, ListingResult
from ibi.storage.audit_log import FileAuditLog
from ibi.storage.batching import batched
from ibi.storage.change_journal import ChangeJournal
from ibi.storage.locks import FileItemLocks
from ibi.storage.machine import MachineClocks
from ibi.storage.ocfl.store import OcflStore
from ibi.storage.sqlite.catalog import FILE_NAME, SqliteCatalog
from ibi.storage.sqlite.connection import set_aside
from ibi.storage.sqlite.integrity import FILE_NAME as INTEGRITY
from ibi.storage.sqlite.integrity import SqliteIntegrity
from ibi.storage.sqlite.tick_store import restart_given_out
from ibi.storage.store_generation import GenerationFile

STORE: Final = "store"
CATALOGUE: Final = FILE_NAME
JOURNAL: Final = "changes"
_LOCKS: Final = "item-locks"


def _pass(step: str) -> None:
    """Default: steps are not watched."""


def _ignore() -> None:
    """Default: items are not counted."""


def _begin(expected: int | None) -> None:
    """Default: a rebuild is not watched."""


def open_store(
    data: Path,
    *,
    on_step: Callable[[str], None] = _pass,
    on_item: Callable[[], None] = _ignore,
    on_rebuild: Callable[[int | None], None] = _begin,
    give_up_missing: bool = False,
    boot: str | None = None,
) -> ArchiveStore:
    """Open the store of a data directory, which is made if there is none; see `ArchiveStore` for what opening does.

    `boot` names the start of this machine. `CatalogDamaged` if the catalogue cannot be used.
    """
    return open_in_place(
        data,
        generation=data / STORE,
        forget_given_out=partial(_forget_given_out, data),
        on_step=on_step,
        on_item=on_item,
        on_rebuild=on_rebuild,
        give_up_missing=give_up_missing,
        boot=boot,
    )


def open_in_place(
    data: Path,
    *,
    generation: Path,
    forget_given_out: Callable[[], None],
    on_step: Callable[[str], None] = _pass,
    on_item: Callable[[], None] = _ignore,
    on_rebuild: Callable[[int | None], None] = _begin,
    give_up_missing: bool = False,
    boot: str | None = None,
    finally_close: ExitStack | None = None,
) -> ArchiveStore:
    """Open a store of which all lies in the directory `data`, but for the file of the `generation`, which has a
    directory of its own. `finally_close` is closed with the store, after it."""
    with ExitStack() as opened:
        ledger = SqliteIntegrity(data / INTEGRITY)
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
        audit = FileAuditLog(data)
        opened.callback(audit.close)
        to_close = ExitStack()
        store = ArchiveStore(
            content,
            catalog,
            journal=journal,
            locks=locks,
            batching=batched,
            integrity=integrity,
            audit=audit,
            forget_given_out=forget_given_out,
            close=to_close.close,
            on_step=on_step,
            on_item=on_item,
            on_rebuild=on_rebuild,
            give_up_missing=give_up_missing,
        )
        if finally_close is not None:
            to_close.push(finally_close.pop_all())
        to_close.push(opened.pop_all())
        return store


def _forget_given_out(data: Path) -> None:
    restart_given_out(data, MachineClocks().read().wall)


def newest_kept(data: Path, identity: Identity) -> Instant | None:
    """The newest date of a label in a data directory under the prefixes of an identity. A directory without a store has
    none, and no store is made. If the catalogue does not agree with the store, the names in the store are read."""
    if not (data / STORE).is_dir():
        return None
    if (data / CATALOGUE).exists():
        with suppress(StorageError), ExitStack() as opened:
            generation = opened.enter_context(closing(GenerationFile(data / STORE)))
            catalog = opened.enter_context(closing(SqliteCatalog(data / CATALOGUE, generation)))
            if catalog.agrees():
                return catalog.newest(identity.prefixes)
    with closing(OcflStore(data / STORE)) as store:
        return max(_dates(store.iterate(), identity), default=None)


def _dates(names: Iterable[str], identity: Identity) -> Iterator[Instant]:
    for name in names:
        with suppress(InvalidLabel):
            label = RepositoryName.parse(name)
            if label.prefix in identity.prefixes:
                yield label.instant


def open_repaired(
    data: Path,
    *,
    on_item: Callable[[], None] = _ignore,
    on_rebuild: Callable[[int | None], None] = _begin,
    on_aside: Callable[[CatalogDamaged, Path | None], None] = lambda _error, _aside: None,
    give_up_missing: bool = False,
) -> ArchiveStore:
    """Open the store, and rebuild a catalogue that is damaged or of another store. The old one is renamed, and
    `on_aside` called with its new name."""

    def opened() -> ArchiveStore:
        return open_store(data, on_item=on_item, on_rebuild=on_rebuild, give_up_missing=give_up_missing)

    try:
        return opened()
    except CatalogDamaged as error:
        on_aside(error, set_aside(data / CATALOGUE))
    return opened()


def rebuild_catalogue(data: Path, on_item: Callable[[], None] = _ignore) -> ListingResult:
    """Rebuild the catalogue from the store. A damaged one is set aside.

    Labels given out before count as uncertain from then on: a rebuild often follows the restoring of a backup.
    """
    _forget_given_out(data)
    try:
        return _rebuilt(data, on_item)
    except CatalogDamaged:  # noticed only when it was read
        set_aside(data / CATALOGUE)
    return _rebuilt(data, on_item)


def _rebuilt(data: Path, on_item: Callable[[], None]) -> ListingResult:
    with open_repaired(data, on_item=on_item, give_up_missing=True) as store:
        return store.swept if store.is_rebuilt else store.rebuild(on_item)
