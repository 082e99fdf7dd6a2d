"""The catalogue in SQLite: a cache of the content store, which is rebuilt from the store when necessary."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import count, islice, repeat
from pathlib import Path
from threading import Lock, RLock, get_ident, local
from time import monotonic, time
from typing import Final, TypeVar
from weakref import WeakSet

from ibi.items.model.change import Revision
from ibi.items.model.description_values import Alternate
from ibi.items.model.item import Item
from ibi.items.model.search import FacetCounts, SearchPage, SearchQuery
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.catalog import Link
from ibi.items.rules.errors import LabelTaken
from ibi.items.store.catalogue.changes import CatalogHoldings, SqliteChanges, renew_epoch
from ibi.items.store.catalogue.migrations import MIGRATIONS
from ibi.items.store.catalogue.parts_copy import take_in_parts
from ibi.items.store.catalogue.reader import CatalogReader
from ibi.items.store.catalogue.rows import (
    CLAIMANTS_AFTER,
    COUNT,
    COUNT_CHANGE,
    COUNT_VERSION,
    PAGE_AFTER,
    SET_STANDING,
    STANDING,
    Record,
    Row,
    decode_record,
    depart_row,
    forget_transfer,
    memory_of,
    put_row,
    remove_row,
    row_of,
)
from ibi.items.store.catalogue.search_rows import check_search
from ibi.items.store.generation_file import CatalogStanding, Expected, GenerationFile, first_standing
from ibi.standard.document_errors import InvalidDocument, NewerDocument
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.lru_cache import SharedLruCache
from ibi.standard.storage_errors import CatalogDamaged, StorageError
from ibi.storage.columns import label_key, repository_name
from ibi.storage.connection import CATALOGUE, Connection, DatabaseError, FileWatch, connect, storage_errors
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked
from ibi.storage.group_commit import GroupCommit
from ibi.storage.machine import make_directory, refusals

FILE_NAME: Final = CATALOGUE.file_name

_BATCH: Final = 500
_RECENT: Final = 0.002
_MOST_ITEMS: Final = 2_000
_MOST_BYTES: Final = 48 << 20

_DISAGREES: Final = "it does not list the present state of the store; another process, or a backup, changed one of both"

T = TypeVar("T")


def _accept(_: Label) -> None:
    """Accept that a label missing in the catalogue has no item."""


class SqliteCatalog(CatalogHoldings):
    """Implements the ports `Catalog` and `Search` on one file, for any thread and beside other processes.

    Each thread reads on a connection of its own and waits for no writer; changes are made in groups. Until an item
    changes, `find` returns the same object again.
    """

    prompt = True

    def __init__(
        self,
        path: Path,
        generation: GenerationFile | None = None,
        check_missing: Callable[[Label], None] = _accept,
    ) -> None:
        """Open or begin the catalogue at `path`. With the store's `generation`, each change is counted in both.

        `check_missing` is called with labels that the catalogue lacks. It raises an error if the absence proves
        nothing.
        """
        self._check_missing = check_missing
        self._path, self._generation = path, generation
        self._is_rebuilt = False
        """True during a rebuild from the store: then changes are not counted."""
        self._has_counted = False
        self._process = os.getpid()
        self._is_closed = False
        self._own = local()
        self._count = count(1)
        self._changes = 0
        """A number that differs after every change by this process; the order of the numbers does not matter."""
        self._opening = Lock()
        self._readers: WeakSet[CatalogReader] = WeakSet()
        self._decoded: SharedLruCache[Record, Item] = SharedLruCache(_MOST_ITEMS, _MOST_BYTES, RLock())
        with refusals(DiskRefused, path):
            make_directory(path.parent)
        with self._errors():
            connection = connect(path, MIGRATIONS, kind=CATALOGUE)
            take_in_parts(path)
            self._writer = GroupCommit(path, connection, self._count_change, CatalogDamaged)
        self._watch = FileWatch(path, CATALOGUE)

    def find(self, label: Label) -> Item | None:
        if not label.is_dated:
            return None
        found = self._ask_reader(lambda reader: reader.find(label))
        if found is None:
            self._check_missing(label)
        return found

    def names_of(self, reps: Iterable[RepositoryName]) -> frozenset[Label | Alternate]:
        return self._ask_reader(lambda reader: reader.names_of(reps))

    def version(self) -> tuple[int, int]:
        """Return the version, as the port defines it. Connections count separately, so values of different threads
        cannot be compared."""
        return get_ident(), self._ask_reader(CatalogReader.version)

    def recent_version(self) -> tuple[int, int]:
        """Return `version`, at most 2 ms old, but never older than this process's last change. To query the file costs
        more than the rest of a cached answer; other caches keep such answers for minutes (E32)."""
        changes, now = self._changes, monotonic()
        seen: tuple[int, float, tuple[int, int]] | None = getattr(self._own, "seen", None)
        if seen is None or seen[0] != changes or now >= seen[1]:
            self._own.seen = seen = changes, now + _RECENT, self.version()
        return seen[2]

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        return self._ask_reader(lambda reader: reader.find_linked(link, label))

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        return self._ask_reader(lambda reader: reader.find_alternate(alternate))

    def owned_by(self, owner: str, before: RepositoryName | None = None, most: int = 100) -> tuple[Item, ...]:
        return self._ask_reader(lambda reader: reader.owned_by(owner, before, most))

    def newest(self, prefixes: Iterable[str]) -> Instant | None:
        """Return the newest instant of a label with one of these prefixes, in the spelling of labels; None if there is
        none.

        This is instant if most labels have the prefix. Otherwise every label is read, a million in half a second.
        """
        found = [self._ask_reader(partial(CatalogReader.newest, prefix=prefix)) for prefix in prefixes]
        return max((instant for instant in found if instant is not None), default=None)

    def search(self, query: SearchQuery) -> SearchPage:
        return self._ask_reader(lambda reader: reader.search.search(query))

    def facets(self, query: SearchQuery) -> FacetCounts:
        return self._ask_reader(lambda reader: reader.search.facets(query))

    def suggest(self, query: SearchQuery) -> str | None:
        return self._ask_reader(lambda reader: reader.search.suggest(query))

    def items(self, after: RepositoryName | None = None, *, statement: str = PAGE_AFTER) -> Iterator[Item]:
        """Yield all items, read page by page, so that a slow reader does not block checkpoints."""
        key = b"" if after is None else label_key(after)
        while page := self._ask_reader(partial(CatalogReader.page, after=key, statement=statement)):
            yield from (item for _, item in page)
            key = page[-1][0]

    def claimants(self, after: RepositoryName | None = None) -> Iterator[Item]:
        return self.items(after, statement=CLAIMANTS_AFTER)

    def names(self) -> Iterator[RepositoryName]:
        """Yield the names of all items, faster than the items."""
        key = b""
        while page := self._ask_reader(partial(CatalogReader.names, after=key)):
            yield from map(repository_name, page)
            key = page[-1]

    def put(self, item: Item, revision: Revision | None = None) -> None:
        self._write(partial(_put, rows=(row_of(item, revision),), as_recorded=self._is_rebuilt))

    def put_each(self, items: Sequence[Item], revisions: Sequence[Revision] | None = None) -> list[IbiError | None]:
        return self._write(partial(_put_each, rows=tuple(_rows(items, revisions))))

    def put_all(self, items: Iterable[Item], revisions: Iterable[Revision] | None = None) -> int:
        """Put the items in batches; batches before a refusal stay. All rows are written anew, whatever the catalogue
        has."""
        return self.put_prepared(_rows(items, revisions))

    def put_prepared(self, rows: Iterable[Row]) -> int:
        """Put rows that `row_of` has made, in the same way."""
        number, rest = 0, iter(rows)
        while batch := tuple(islice(rest, _BATCH)):
            self._write(partial(_put, rows=batch, anew=True, as_recorded=self._is_rebuilt))
            number += len(batch)
        return number

    def check_search(self) -> None:
        """Read the whole word index; raise `CatalogDamaged` if it is damaged. Takes seconds for a million items."""
        self._write(check_search)

    def remove(self, label: Label, at: Instant | None = None) -> bool:
        return self._write(partial(remove_row, label=label, at=at or Instant(int(time()))))

    def depart(self, transfer: Transfer, head: int = 0) -> None:
        revision = Revision(head, transfer.when)
        self._write(partial(depart_row, transfer=transfer, revision=revision, as_recorded=self._is_rebuilt))

    def transfer(self, label: Label) -> Transfer | None:
        if not label.is_dated:
            return None
        return self._ask_reader(lambda reader: reader.transfer(label))

    def transfers(self) -> list[Transfer]:
        """Return all transferred items; they are few."""
        return self._ask_reader(CatalogReader.transfers)

    def forget_transfer(self, label: RepositoryName) -> None:
        """Delete a transfer that the store no longer records."""
        self._write(partial(forget_transfer, label=label))

    @cached_property
    def changes(self) -> SqliteChanges:
        """The feed of the catalogue's changes."""
        return SqliteChanges(self)

    def renew_feed(self) -> None:
        self._write(renew_epoch)

    def read(self, ask: Callable[[Connection], T]) -> T:
        """Run `ask` on the connection of this thread, for other tables in the file."""
        return self._ask_reader(lambda reader: ask(reader.connection))

    def write(self, change: Callable[[Connection], T]) -> T:
        """Run `change` in a write transaction, for other tables in the file."""
        return self._write(change)

    def standing(self) -> CatalogStanding:
        return self._write(_standing)

    def agrees(self) -> bool:
        return self._write(lambda connection: self._agrees(connection) and self._has_all_rows(connection))

    def is_unmarked(self) -> bool:
        return self._read_expected() is None and not self.standing().store

    def check_store(self) -> None:
        expected, standing = self._read_expected(), self.standing()
        if expected is not None and standing.store not in ("", expected.after.store):
            raise CatalogDamaged(path=self._path, reason="it is the catalogue of another store")

    def expected_items(self) -> int | None:
        expected = self._read_expected()
        return None if expected is None else expected.after.items

    def _read_expected(self) -> Expected | None:
        return None if self._generation is None else self._generation.read()

    def settle_standing(self) -> None:
        """Write the present state alone into the store's generation file.

        Between two changes that file also allows the previous state, for a process that dies inside the last change. An
        older copy of the catalogue may be in that state too.
        """
        if self._generation is not None:
            self._write(self._settle)

    def _settle(self, connection: Connection) -> None:
        assert self._generation is not None
        if self._agrees(connection):
            standing = _standing(connection)
            self._generation.write(standing, standing)

    def check(self) -> None:
        """Raise an error if the catalogue is damaged, or lists another state of the store."""
        if self._generation is not None:
            self._generation.check()
        self._watch.check()
        if self._generation is not None and not self._write(self._agrees):
            raise CatalogDamaged(path=self._path, reason=_DISAGREES)

    def begin_rebuild(self, *, always: bool) -> bool:
        """Mark the catalogue as that of no store until `end_rebuild`.

        Return false without a change if it agrees with its store and `always` is not set; another process may have
        rebuilt it meanwhile.
        """
        self._is_rebuilt = True
        begun = self._write(partial(self._disown, always=always))
        self._is_rebuilt = begun
        return begun

    def end_rebuild(self) -> None:
        """Mark the catalogue as that of the store, in a new generation."""
        self._is_rebuilt = True
        try:
            self._write(self._own_store)
        finally:
            self._is_rebuilt = False

    def _agrees(self, connection: Connection) -> bool:
        """Return whether the catalogue has the state that the store expects. Called in a write transaction, so that no
        other writer changes one of the two in between."""
        assert self._generation is not None
        expected = self._generation.read()
        return expected is not None and expected.allows(_standing(connection))

    def _has_all_rows(self, connection: Connection) -> bool:
        """Return whether no row was lost. Rows lost with a damaged page did not change the count."""
        return _standing(connection).items == _number(connection)

    def _disown(self, connection: Connection, *, always: bool) -> bool:
        if not always and self._agrees(connection) and self._has_all_rows(connection):
            return False
        before = _standing(connection)
        if before.generation:  # to write it again would take space at each attempt on a full disk
            _set_standing(connection, replace(before, generation=""))
        return True

    def _own_store(self, connection: Connection) -> None:
        assert self._generation is not None
        expected = self._generation.read()
        store = _standing(connection).store if expected is None else expected.after.store
        standing = first_standing(store, _number(connection))
        _set_standing(connection, standing)
        renew_epoch(connection)
        self._generation.write(standing, standing, durably=True)

    def _count_change(self, connection: Connection) -> None:
        """Count the change at the end of its transaction, and write the new state to the store before the commit."""
        if self._generation is None or self._is_rebuilt:
            connection.execute(COUNT_VERSION)
            return
        expected = self._generation.read()
        ((store, generation, changes, items),) = connection.execute(COUNT_CHANGE).fetchall()
        before = None if expected is None else expected.state_of(store, generation, changes - 1)
        if before is None:
            raise CatalogDamaged(path=self._path, reason=_DISAGREES)
        self._has_counted = True
        self._generation.write(before, CatalogStanding(store, generation, changes, items))

    def close(self) -> None:
        if self._process != os.getpid() or self._is_closed:
            return
        if self._has_counted:
            with suppress(StorageError):
                self.settle_standing()
        self._is_closed = True
        self._changes = next(self._count)
        with self._opening:
            for reader in tuple(self._readers):
                reader.close()
        self._writer.close()

    def _ask_reader(self, ask: Callable[[CatalogReader], T]) -> T:
        self._check_usable()
        try:
            reader: CatalogReader = self._own.reader
        except AttributeError:
            reader = self._open_reader()
        try:
            return ask(reader)
        except (DatabaseError, InvalidDocument):
            self._check_usable()  # closed by another thread
            with self._errors():
                raise

    def _open_reader(self) -> CatalogReader:
        with self._opening, self._errors():
            self._check_usable()
            reader = self._own.reader = CatalogReader(self._connect_reader(), self._item)
            self._readers.add(reader)
        return reader

    def _connect_reader(self) -> Connection:
        # The file must be complete: a second connection that began a new one would report every item as unknown.
        return connect(self._path, MIGRATIONS, kind=CATALOGUE, begin=False)

    def _item(self, record: Record) -> Item:
        item = self._decoded.find(record)
        if item is None:
            item = decode_record(record)
            self._decoded.keep(record, item, memory_of(record, item))
        return item

    def _write(self, change: Callable[[Connection], T]) -> T:
        self._check_usable()
        try:
            with self._errors():
                return self._writer.run(change)
        finally:
            self._changes = next(self._count)

    def _check_usable(self) -> None:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        if self._is_closed:
            raise StoreClosed(path=self._path)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with storage_errors(self._path, CatalogDamaged):
                yield
        except NewerDocument:
            raise
        except InvalidDocument as error:
            raise self._note_damage(CatalogDamaged(path=self._path, reason=str(error))) from error
        except CatalogDamaged as error:
            if isinstance(error.__cause__, DatabaseError):
                self._note_damage(error)
            raise

    def _note_damage(self, damage: CatalogDamaged) -> CatalogDamaged:
        """Remember the damage until the catalogue is opened again."""
        if hasattr(self, "_watch"):
            self._watch.damage = damage
        return damage


def _standing(connection: Connection) -> CatalogStanding:
    row = connection.execute(STANDING).fetchone()
    return CatalogStanding() if row is None else CatalogStanding(*row)


def _set_standing(connection: Connection, standing: CatalogStanding) -> None:
    connection.execute(SET_STANDING, (standing.store, standing.generation, standing.changes, standing.items))


def _number(connection: Connection) -> int:
    """Return the number of items, counted from an index: 25 ms for a million."""
    return int(connection.execute(COUNT).fetchone()[0])


def _rows(items: Iterable[Item], revisions: Iterable[Revision] | None) -> Iterator[Row]:
    return map(row_of, items, repeat(None) if revisions is None else revisions)


def _put(connection: Connection, rows: tuple[Row, ...], *, anew: bool = False, as_recorded: bool = False) -> None:
    for row in rows:
        if not put_row(connection, row, anew=anew, as_recorded=as_recorded):
            raise LabelTaken(label=row.second_label)


def _put_each(connection: Connection, rows: tuple[Row, ...]) -> list[IbiError | None]:
    return [None if put_row(connection, row) else LabelTaken(label=row.second_label) for row in rows]
