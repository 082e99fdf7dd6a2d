"""The catalogue in SQLite: a cache of what the store of content holds, made anew from it if need be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path
from threading import Lock, get_ident, local
from time import monotonic
from typing import Final, TypeVar
from weakref import WeakSet

from ibi.archive.errors import LabelTaken
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.model.errors import InvalidDocument, NewerDocument
from ibi.model.item import Item
from ibi.model.search import FacetCounts, SearchPage, SearchQuery
from ibi.model.transfer import Transfer
from ibi.ports.catalog import Link
from ibi.storage.bounded_cache import BoundedCache
from ibi.storage.disk import make_directory, refusals
from ibi.storage.errors import DiskRefused, StoreClosed, StoreDamaged, StoreForked
from ibi.storage.sqlite.catalog_reader import CatalogReader
from ibi.storage.sqlite.catalog_rows import (
    MIGRATIONS,
    PAGE,
    Record,
    Row,
    decoded,
    depart_row,
    forget_transfer,
    memory_of,
    put_row,
    remove_row,
    row_of,
)
from ibi.storage.sqlite.connection import Connection, DatabaseError, connect, storage_errors
from ibi.storage.sqlite.group_commit import GroupCommit
from ibi.storage.sqlite.label_key import label_key
from ibi.storage.sqlite.search_rows import check_search

__all__ = ["FILE_NAME", "CatalogDamaged", "SqliteCatalog"]

FILE_NAME: Final = "catalogue.sqlite"

_BATCH: Final = 500
_RECENT: Final = 0.002
_MOST_ITEMS: Final = 2_000
_MOST_BYTES: Final = 48 << 20

T = TypeVar("T")


def _accept(_: Label) -> None:
    """What the catalogue does not have is not there."""


class CatalogDamaged(StoreDamaged):
    """{path} is damaged: {reason}. It holds nothing that the store does not: move it away, with its -wal and -shm
    files, and have it made anew with `ibi rebuild`."""


class SqliteCatalog:
    """The ports `Catalog` and `Search` on one file, from any thread and beside other processes.

    Reads are on a connection of each thread and wait for nobody; changes are made in groups. While nobody changes an
    item, `find` gives the same object again.
    """

    def __init__(self, path: Path, check_missing: Callable[[Label], None] = _accept) -> None:
        """Open or begin the catalogue in the file `path`. `check_missing` is told of labels that it does not have, and
        raises if that says nothing of whether there is such an item."""
        self._check_missing = check_missing
        self._path = path
        self._process = os.getpid()
        self._is_closed = False
        self._own = local()
        self._count = count(1)
        self._changes = 0
        """Another number after every change by this process; in which order they come does not matter."""
        self._opening = Lock()
        self._readers: WeakSet[CatalogReader] = WeakSet()
        self._decoded: BoundedCache[Record, Item] = BoundedCache(_MOST_ITEMS, _MOST_BYTES)
        with refusals(DiskRefused, path):
            make_directory(path.parent)
        with self._errors():
            self._writer = GroupCommit(path, connect(path, MIGRATIONS))

    def find(self, label: Label) -> Item | None:
        found = self._read(lambda reader: reader.find(label))
        if found is None:
            self._check_missing(label)
        return found

    def version(self) -> tuple[int, int]:
        """Another value after every change by anybody: what was made of the catalogue before may be kept until then.
        Connections count for themselves, so that one thread's value means nothing to another."""
        return get_ident(), self._read(CatalogReader.version)

    def recent_version(self) -> tuple[int, int]:
        """`version`, at most 2 ms old; but never older than a change that this process has made.

        To ask the file costs more than all the rest of an answer that is kept. Whoever changes an item through this
        process sees it at once. A change through another is seen 2 ms late at most: answers are kept elsewhere for
        minutes (E32), so that nobody can rely on more.
        """
        changes, now = self._changes, monotonic()
        seen: tuple[int, float, tuple[int, int]] | None = getattr(self._own, "seen", None)
        if seen is None or seen[0] != changes or now >= seen[1]:
            self._own.seen = seen = changes, now + _RECENT, self.version()
        return seen[2]

    def linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        return self._read(lambda reader: reader.linked(link, label))

    def newest(self, prefixes: Iterable[str]) -> Instant | None:
        """The newest instant of a label with one of these prefixes, spelled as labels have them; None without any.
        At once where most labels are of them; else every label is looked at, a million in half a second."""
        found = [self._read(partial(CatalogReader.newest, prefix=prefix)) for prefix in prefixes]
        return max((instant for instant in found if instant is not None), default=None)

    def search(self, query: SearchQuery) -> SearchPage:
        return self._read(lambda reader: reader.search.search(query))

    def facets(self, query: SearchQuery) -> FacetCounts:
        return self._read(lambda reader: reader.search.facets(query))

    def items(self, after: RepositoryName | None = None) -> Iterator[Item]:
        """Read page by page, so that nobody's reading keeps the log of changes from being folded in: a change made
        meanwhile is seen or not, as it comes."""
        key = b"" if after is None else label_key(after)
        while True:
            page = self._read(partial(CatalogReader.page, after=key))
            for _, item in page:
                yield item
            if len(page) < PAGE:
                return
            key = page[-1][0]

    def put(self, item: Item) -> None:
        row = row_of(item)
        self._write(partial(_put, rows=(row,)))

    def put_each(self, items: Sequence[Item]) -> list[IbiError | None]:
        rows = tuple(map(row_of, items))
        return self._write(partial(_put_each, rows=rows))

    def put_all(self, items: Iterable[Item]) -> int:
        """Put many, some hundred a commit; how many. What was put before a refusal stays. Nothing that the catalogue
        says of them already is relied on."""
        number, rows = 0, map(row_of, items)
        while batch := tuple(islice(rows, _BATCH)):
            self._write(partial(_put, rows=batch, anew=True))
            number += len(batch)
        return number

    def check_search(self) -> None:
        """Read the index of words; `CatalogDamaged` if it cannot be relied on. Takes seconds for a million items."""
        self._write(check_search)

    def remove(self, label: Label) -> bool:
        return self._write(partial(remove_row, label=label))

    def depart(self, transfer: Transfer) -> None:
        self._write(partial(depart_row, transfer=transfer))

    def transfer(self, label: Label) -> Transfer | None:
        return self._read(lambda reader: reader.transfer(label))

    def transfers(self) -> list[Transfer]:
        """All items that departed; they are few."""
        return self._read(CatalogReader.transfers)

    def forget_transfer(self, label: RepositoryName) -> None:
        """The store does not say so any more."""
        self._write(partial(forget_transfer, label=label))

    def close(self) -> None:
        if self._process != os.getpid():
            return
        self._is_closed = True
        self._changes = next(self._count)
        with self._opening:
            for reader in tuple(self._readers):
                reader.close()
        self._writer.close()

    # Reading.

    def _read(self, ask: Callable[[CatalogReader], T]) -> T:
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
            reader = self._own.reader = CatalogReader(connect(self._path, MIGRATIONS), self._item)
            self._readers.add(reader)
        return reader

    def _item(self, record: Record) -> Item:
        item = self._decoded.get(record)
        if item is None:
            item = decoded(record)
            self._decoded.keep(record, item, memory_of(record, item))
        return item

    # Writing.

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
            with storage_errors(self._path):
                yield
        except NewerDocument:
            raise
        except InvalidDocument as error:
            raise CatalogDamaged(path=self._path, reason=str(error)) from error
        except StoreDamaged as error:
            raise CatalogDamaged(**error.parameters) from error


def _put(connection: Connection, rows: tuple[Row, ...], *, anew: bool = False) -> None:
    for row in rows:
        if not put_row(connection, row, anew=anew):
            raise LabelTaken(label=row.second_label)


def _put_each(connection: Connection, rows: tuple[Row, ...]) -> list[IbiError | None]:
    return [None if put_row(connection, row) else LabelTaken(label=row.second_label) for row in rows]
