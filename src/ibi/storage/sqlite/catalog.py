"""The catalogue in SQLite: a cache of what the store of content holds, made anew from it if need be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock, get_ident, local
from typing import Final, TypeVar
from weakref import WeakSet

from ibi.archive.errors import LabelTaken
from ibi.label import Label, RepositoryName
from ibi.model.errors import InvalidDocument, NewerDocument
from ibi.model.item import Item
from ibi.ports.catalog import Link
from ibi.storage.bounded_cache import BoundedCache
from ibi.storage.disk import make_directory, refusals
from ibi.storage.errors import DiskRefused, StoreClosed, StoreDamaged, StoreForked
from ibi.storage.sqlite.catalog_reader import CatalogReader
from ibi.storage.sqlite.catalog_rows import MIGRATIONS, PAGE, Record, Row, decoded, put_row, remove_row, row_of
from ibi.storage.sqlite.connection import Connection, DatabaseError, connect, storage_errors
from ibi.storage.sqlite.group_commit import GroupCommit
from ibi.storage.sqlite.label_key import label_key

__all__ = ["FILE_NAME", "CatalogDamaged", "SqliteCatalog"]

FILE_NAME: Final = "catalogue.sqlite"

_BATCH: Final = 500
_MOST_ITEMS: Final = 2_000
_MOST_BYTES: Final = 16 << 20

T = TypeVar("T")


class CatalogDamaged(StoreDamaged):
    """{path} is damaged: {reason}. It holds nothing that the store does not: move it away, with its -wal and -shm
    files, and have it made anew with `ibi rebuild`."""


class SqliteCatalog:
    """The port `Catalog` on one file, from any thread and beside other processes.

    Reads are on a connection of each thread and wait for nobody; changes are made in groups. While nobody changes an
    item, `find` gives the same object again.
    """

    def __init__(self, path: Path) -> None:
        """Open or begin the catalogue in the file `path`."""
        self._path = path
        self._process = os.getpid()
        self._is_closed = False
        self._own = local()
        self._opening = Lock()
        self._readers: WeakSet[CatalogReader] = WeakSet()
        self._decoded: BoundedCache[Record, Item] = BoundedCache(_MOST_ITEMS, _MOST_BYTES)
        with refusals(DiskRefused, path):
            make_directory(path.parent)
        with self._errors():
            self._writer = GroupCommit(path, connect(path, MIGRATIONS))

    def find(self, label: Label) -> Item | None:
        return self._read(lambda reader: reader.find(label))

    def version(self) -> tuple[int, int]:
        """Another value after every change by anybody: what was made of the catalogue before may be kept until then.
        Connections count for themselves, so that one thread's value means nothing to another."""
        return get_ident(), self._read(CatalogReader.version)

    def linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        return self._read(lambda reader: reader.linked(link, label))

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

    def put_all(self, items: Iterable[Item]) -> int:
        """Put many, some hundred a commit; how many. What was put before a refusal stays."""
        number, rows = 0, map(row_of, items)
        while batch := tuple(islice(rows, _BATCH)):
            self._write(partial(_put, rows=batch))
            number += len(batch)
        return number

    def remove(self, label: Label) -> bool:
        return self._write(partial(remove_row, label=label))

    def close(self) -> None:
        if self._process != os.getpid():
            return
        self._is_closed = True
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
            self._decoded.keep(record, item, sum(map(len, record)))
        return item

    # Writing.

    def _write(self, change: Callable[[Connection], T]) -> T:
        self._check_usable()
        with self._errors():
            return self._writer.run(change)

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


def _put(connection: Connection, rows: tuple[Row, ...]) -> None:
    for row in rows:
        if not put_row(connection, row):
            raise LabelTaken(label=row.second_label)
