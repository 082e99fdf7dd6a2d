"""Connections to SQLite files, set up in the same way for every store.

The header of each file has an `application_id` per kind, so that a swapped database is noticed on opening. Files of
earlier versions have none: they are recognised by their tables, and marked.

A database that cannot be derived from other data is recorded in `directory.json` when it is begun. If its file is later
gone or empty, it was lost. Then it is refused, and not silently begun again.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ibi.standard.storage_errors import CatalogDamaged, StorageError, StoreDamaged
from ibi.storage.directory_record import was_begun
from ibi.storage.errors import (
    DiskRefused,
    StateDamaged,
    StoreNewer,
    TicksDamaged,
    TooManyOpenFiles,
    UsageDamaged,
)
from ibi.storage.machine import are_exhausted, refusals, sync_directory

_HEADER: Final = 108
_MAGIC: Final = b"SQLite format 3\0"
_ROOT_PAGE: Final = slice(100, 105)
"""Offset of the root page of a database, which lists its tables."""
_EMPTY_PAGE: Final = re.compile(rb"\x0d..\0\0", re.DOTALL)
"""A leaf page without cells."""
_PARTS: Final = ("-wal", "-shm", "-journal", "")
"""The file itself comes last. Until it is renamed, a process that opens it finds it damaged."""


def refuse_lost(path: Path, kind: DatabaseKind) -> None:
    """Raise the `damaged` error of the kind if the database was begun once, and now is missing or empty."""
    if not was_begun(path):
        return
    if not path.exists():
        raise kind.damaged(path=path, reason="it is gone, and this data directory had one")
    if is_blank(path):
        raise kind.damaged(path=path, reason="it is empty, and was not before")


def is_blank(path: Path) -> bool:
    """Return whether the file is empty, or a database without any table. SQLite's log counts, because it may hold all
    that a process wrote before it was killed."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if not header:
        return True
    has_no_table = header.startswith(_MAGIC) and _EMPTY_PAGE.fullmatch(header[_ROOT_PAGE]) is not None
    return has_no_table and not any(_has_bytes(Path(f"{path}{end}")) for end in ("-wal", "-journal"))


def _has_bytes(path: Path) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_size > 0
    return False


def set_aside(path: Path) -> Path | None:
    """Rename the file and SQLite's side files to a name with the date. Return the new name; None if there was no
    file."""
    day = _now("%Y-%m-%d")
    names = (path.with_name(f"{path.name}.damaged-{day}-{number}") for number in count(1))
    aside = next(name for name in names if not name.exists())
    moved = None
    with refusals(DiskRefused, path):
        for end in _PARTS:
            with suppress(FileNotFoundError):
                Path(f"{path}{end}").rename(f"{aside}{end}")
                moved = aside
        sync_directory(path.parent)
    return moved


def _now(form: str) -> str:
    return datetime.now(UTC).strftime(form)


class FileWatch:
    """Notices that the file of an open database was replaced or damaged. Safe in any thread."""

    def __init__(self, path: Path, kind: DatabaseKind, most: int | None = None) -> None:
        """Create the watch right after the database was opened and inspected. After a change by another process, all
        pages of a file up to `most` bytes are read."""
        self._path, self._kind, self._most = path, kind, most
        self.damage: StoreDamaged | None = None
        """The damage that was found. It stays, because open connections may have cached pages of either file."""
        status = path.stat()
        self._opened = status.st_dev, status.st_ino
        self._sound = status.st_mtime_ns, status.st_size

    def check(self) -> None:
        """Raise the `damaged` error of the kind if the file is gone, emptied, replaced or damaged.

        The pages are only read if the file's size or date has changed.
        """
        if self.damage is not None:
            raise self.damage
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise self._damage("it is gone") from None
        if not status.st_size:
            raise self._damage("it is empty")
        if (status.st_dev, status.st_ino) != self._opened:
            raise self._damage("it was replaced while it was open; start the server again to use the new one")
        seen = status.st_mtime_ns, status.st_size
        if seen != self._sound:
            self._look()
            self._sound = seen

    def note_own_change(self) -> None:
        """Remember this process's latest write, which needs no inspection."""
        with suppress(OSError):
            status = self._path.stat()
            self._sound = status.st_mtime_ns, status.st_size

    def _look(self) -> None:
        try:
            inspect(self._path, self._kind, most=self._most)
        except StoreDamaged as damage:
            self.damage = damage
            raise
        except DiskRefused:
            pass  # busy, or out of descriptors: says nothing about the file

    def _damage(self, reason: str) -> StoreDamaged:
        return self._kind.damaged(path=self._path, reason=reason)


_IBI: Final = int.from_bytes(b"IBI\0", "big")


@dataclass(frozen=True, slots=True)
class DatabaseKind:
    """The properties that tell one database from the others, and the error for its damage."""

    file_name: str
    number: int
    tables: frozenset[str]
    """Tables of its first format. A file without them is another database."""
    damaged: type[StoreDamaged]
    has_tokens: bool = False
    """True if it temporarily holds tokens. Then deleted data are overwritten."""

    @property
    def application_id(self) -> int:
        return _IBI + self.number


CATALOGUE: Final = DatabaseKind("catalogue.sqlite", 1, frozenset({"items", "links"}), CatalogDamaged)
USAGE: Final = DatabaseKind("usage.sqlite", 5, frozenset({"usage"}), UsageDamaged)
TICKS: Final = DatabaseKind("ticks.sqlite", 6, frozenset({"store", "clock", "served"}), TicksDamaged)
STATE: Final = DatabaseKind("state.sqlite", 30, frozenset({"parts", "change_numbers"}), StateDamaged, has_tokens=True)
KINDS: Final = {kind.application_id: kind for kind in (STATE, CATALOGUE, USAGE, TICKS)}


# The wheel bundles a recent SQLite. The interpreter's own may have a bug: its write-ahead log can lose a commit when
# two connections restart it at once. That SQLite is used with a rollback journal, which is slower.
if TYPE_CHECKING:
    import sqlite3 as driver

    _JOURNAL = "wal"
else:
    try:
        from pysqlite3 import dbapi2 as driver

        _JOURNAL = "wal"
    except ImportError:
        import sqlite3 as driver

        _JOURNAL = "delete"


Connection = driver.Connection
DatabaseError = driver.DatabaseError
Migration = str | Callable[[Connection], None]
"""SQL statements or a Python function; neither begins a transaction of its own."""

_PATIENCE = 10.0
"""Seconds to wait for the transaction of another connection."""

_SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA mmap_size = 0",  # memory mapping was seen to stall readers beside a writer
    "PRAGMA cache_size = -2048",
    "PRAGMA trusted_schema = OFF",
)
_STATEMENTS: Final = 512
"""Statements in the cache of a connection: more than migrations have, since a full cache takes no new ones for long."""
_DAMAGE = {driver.SQLITE_CORRUPT, driver.SQLITE_NOTADB}
_CANNOT_OPEN = 14
_SHORT_READ = driver.SQLITE_IOERR | 2 << 8
"""SQLITE_IOERR_SHORT_READ, which the module does not name: the file ends before a page that belongs to it."""
_INSPECTED = 4 << 20
"""Size in bytes up to which all pages of a file are read on opening, which takes 25 ms at most. In a larger file,
damage is noticed when the damaged page is read."""
_FAULTS_OF_OURS = (driver.ProgrammingError, driver.IntegrityError, driver.DataError, driver.NotSupportedError)


def connect(
    path: Path,
    migrations: Sequence[Migration],
    *,
    patience: float = _PATIENCE,
    kind: DatabaseKind | None = None,
    begin: bool = True,
) -> Connection:
    """Open or create the store at `path`. Its format is the number of `migrations` that it has been through.

    The connection is usable from any thread, one at a time. The caller begins and ends transactions, best with
    `transaction`. With a `kind`, a file of another kind is refused before anything is written to it, and a small file
    is read to its end. Without `begin`, the file has to exist completely, as for a second connection to an open store.
    """
    with storage_errors(path, StoreDamaged if kind is None else kind.damaged):
        connection = _open(path, patience, kind, begin=begin)
        try:
            if kind is not None:
                _identify(connection, path, kind)
                if begin:
                    _read_small(connection, path, kind)
            _set_up(connection, patience)
            if kind is not None and kind.has_tokens:
                connection.execute("PRAGMA secure_delete = ON")
            _migrate(connection, path, migrations, kind, begin=begin)
        except BaseException:
            connection.close()
            raise
    return connection


def inspect(path: Path, kind: DatabaseKind, how: str = "mode=ro", most: int | None = None) -> None:
    """Inspect the file on a connection of its own. Raise the `damaged` error of the kind if it is not sound. A file of
    up to `most` bytes is read to its end.

    A new connection is needed because the others in this process would use their cached pages.
    """
    uri = f"{path.absolute().as_uri()}?{how}"
    with storage_errors(path, kind.damaged):
        connection = connect_by_uri(uri)
        try:
            _identify(connection, path, kind)
            _read_small(connection, path, kind, most)
        finally:
            connection.close()


def connect_by_uri(uri: str) -> Connection:
    return driver.connect(uri, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, uri=True)


def _read_small(connection: Connection, path: Path, kind: DatabaseKind, most: int | None = None) -> None:
    """Read every page of a small database. SQLite raises an error for some damage, and returns a text for the rest."""
    if path.stat().st_size > (_INSPECTED if most is None else most):
        return
    ((found,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise kind.damaged(path=path, reason=" ".join(str(found).split()))


class storage_errors:  # lower case, as a function; a generator would make every commit three times as expensive
    """Context manager that translates SQLite's errors into storage errors. Damage is raised as the given error."""

    __slots__ = ("_damaged", "_path")

    def __init__(self, path: Path, damaged: type[StoreDamaged] = StoreDamaged) -> None:
        self._path, self._damaged = path, damaged

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, DatabaseError) and not isinstance(error, _FAULTS_OF_OURS):
            raise _storage_error(self._path, error, self._damaged) from error


def _storage_error(path: Path, error: DatabaseError, damaged: type[StoreDamaged]) -> StorageError:
    code = getattr(error, "sqlite_errorcode", 0)  # extended, the plain one in its low byte; a backup gives none
    if code & 0xFF in _DAMAGE or code == _SHORT_READ:
        return damaged(path=path, reason=str(error))
    if code & 0xFF == _CANNOT_OPEN and are_exhausted():
        return TooManyOpenFiles()
    return DiskRefused(path=path, reason=str(error))


def checkpoint(connection: Connection) -> None:
    """Copy committed changes from the log into the database, as far as no reader is in the way."""
    with suppress(DatabaseError):  # durable in the log in any case
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Run the body as one write transaction, which commits completely or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: Connection) -> Iterator[None]:
    """Open a read transaction, so that all reads see one state of the file."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _open(path: Path, patience: float, kind: DatabaseKind | None, *, begin: bool) -> Connection:
    name = str(path)
    if not begin:
        # SQLite would take an emptied file for a new one, and wait until all others release the old log.
        if kind is not None and (not path.exists() or not path.stat().st_size):
            raise kind.damaged(path=path, reason="it was emptied or deleted while it was open")
        name = f"{path.absolute().as_uri()}?mode=rw"
    return driver.connect(
        name,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
        uri=not begin,
        cached_statements=_STATEMENTS,
    )


def _identify(connection: Connection, path: Path, kind: DatabaseKind) -> None:
    """Refuse a file that is not a database of that kind. Nothing is written."""
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    if found not in (0, kind.application_id):
        other = KINDS.get(found)
        name = "a database of another program" if other is None else f"{other.file_name} under another name"
        raise kind.damaged(path=path, reason=f"it is {name}")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    # A completely empty database is one that is just being created.
    if (found or tables or _version(connection)) and not kind.tables <= tables:
        missing = ", ".join(sorted(kind.tables - tables))
        raise kind.damaged(path=path, reason=f"it is another database, or lost its tables ({missing})")


def _set_up(connection: Connection, patience: float) -> None:
    _set_journal(connection, patience)
    for setting in _SETTINGS:
        connection.execute(setting)


def _set_journal(connection: Connection, patience: float) -> None:
    """Set the journal mode, with retries. A change of mode needs the file alone for a moment, and SQLite does not wait
    for that."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {_JOURNAL}")
        except driver.OperationalError as error:
            if error.sqlite_errorcode != driver.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _version(connection: Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrate(
    connection: Connection, path: Path, migrations: Sequence[Migration], kind: DatabaseKind | None, *, begin: bool
) -> None:
    known, found = len(migrations), _version(connection)
    if found > known:
        raise StoreNewer(path=path, found=found, known=known)
    if found == known and (kind is None or _is_marked(connection, kind)):
        return
    if not begin:
        damaged = StoreDamaged if kind is None else kind.damaged
        raise damaged(path=path, reason="it was emptied or replaced while it was open")
    if 0 < found < known:
        _back_up(connection, path, found)
    with transaction(connection):
        # Another process may have migrated meanwhile.
        for number in range(_version(connection), known):
            _run(connection, migrations[number])
            connection.execute(f"PRAGMA user_version = {number + 1}")
        if kind is not None:
            connection.execute(f"PRAGMA application_id = {kind.application_id}")


def _is_marked(connection: Connection, kind: DatabaseKind) -> bool:
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    return bool(found == kind.application_id)


def _back_up(connection: Connection, path: Path, version: int) -> None:
    """Copy the database before a migration. The copy lies beside it with the same mode, because it may hold secrets."""
    backup = path.with_name(f"{path.name}.format-{version}")
    if not backup.exists() or not backup.stat().st_size:
        os.close(os.open(backup, os.O_CREAT | os.O_RDWR, stat.S_IMODE(path.stat().st_mode)))
        connection.execute("VACUUM INTO ?", (str(backup),))


def _run(connection: Connection, script: Migration) -> None:
    """Run one migration. `executescript` would commit the surrounding transaction."""
    if not isinstance(script, str):
        script(connection)
        return
    for statement in script.split(";\n"):
        if statement.strip():
            connection.execute(statement)
