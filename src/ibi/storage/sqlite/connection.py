"""A connection to an SQLite file, set up the one way that every store here relies on."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ibi.storage.descriptors import are_exhausted
from ibi.storage.errors import DiskRefused, StorageError, StoreDamaged, StoreNewer, TooManyOpenFiles

# The wheel bundles a recent SQLite. The interpreter's own may be one whose write-ahead log can lose a commit when two
# connections restart it at once: it serves as well, slower, with a rollback journal.
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

__all__ = ["Connection", "DatabaseError", "Migration", "connect", "storage_errors", "transaction"]

Connection = driver.Connection
DatabaseError = driver.DatabaseError
Migration = str | Callable[[Connection], None]
"""Statements of SQL, or what has to be done in Python; in either case without a transaction of its own."""

_PATIENCE = 10.0
"""Seconds to wait for somebody else's transaction."""

_SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA mmap_size = 0",  # memory mapping was seen to stall readers beside a writer
    "PRAGMA cache_size = -2048",
    "PRAGMA trusted_schema = OFF",
)
_DAMAGE = {driver.SQLITE_CORRUPT, driver.SQLITE_NOTADB}
_CANNOT_OPEN = 14
_FAULTS_OF_OURS = (driver.ProgrammingError, driver.IntegrityError, driver.DataError, driver.NotSupportedError)


def connect(path: Path, migrations: Sequence[Migration], *, patience: float = _PATIENCE) -> Connection:
    """Open or make the store at `path`, whose format is the number of `migrations` it has been through.

    Usable from any thread, one at a time. Transactions are begun and ended by the caller, best with `transaction`.
    """
    with storage_errors(path):
        connection = driver.connect(str(path), timeout=patience, isolation_level=None, check_same_thread=False)
        try:
            _set_up(connection, patience)
            _migrate(connection, path, migrations)
        except BaseException:
            connection.close()
            raise
    return connection


class storage_errors:  # like a function; a generator would cost every commit three times as much
    """What SQLite raises inside, raised as what it means to a person."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, DatabaseError) and not isinstance(error, _FAULTS_OF_OURS):
            raise _storage_error(self._path, error) from error


def _storage_error(path: Path, error: DatabaseError) -> StorageError:
    # An extended code holds the plain one in its low byte.
    if error.sqlite_errorcode & 0xFF in _DAMAGE:
        return StoreDamaged(path=path, reason=str(error))
    if error.sqlite_errorcode & 0xFF == _CANNOT_OPEN and are_exhausted():
        return TooManyOpenFiles()
    return DiskRefused(path=path, reason=str(error))


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """All of it or nothing, alone in writing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _set_up(connection: Connection, patience: float) -> None:
    _set_journal(connection, patience)
    for setting in _SETTINGS:
        connection.execute(setting)


def _set_journal(connection: Connection, patience: float) -> None:
    """Changing the journal needs the file alone for a moment, and SQLite itself does not wait for that."""
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


def _migrate(connection: Connection, path: Path, migrations: Sequence[Migration]) -> None:
    known, found = len(migrations), _version(connection)
    if found > known:
        raise StoreNewer(path=path, found=found, known=known)
    if found == known:
        return
    if found:
        _back_up(connection, path, found)
    with transaction(connection):
        # Somebody else may have done it meanwhile.
        for number in range(_version(connection), known):
            _run(connection, migrations[number])
            connection.execute(f"PRAGMA user_version = {number + 1}")


def _back_up(connection: Connection, path: Path, version: int) -> None:
    """Keep the store as it was before a migration, beside it and for the same readers: it may hold secrets."""
    backup = path.with_name(f"{path.name}.format-{version}")
    if not backup.exists() or not backup.stat().st_size:
        os.close(os.open(backup, os.O_CREAT | os.O_RDWR, stat.S_IMODE(path.stat().st_mode)))
        connection.execute("VACUUM INTO ?", (str(backup),))


def _run(connection: Connection, script: Migration) -> None:
    """`executescript` would commit the transaction it is called in."""
    if not isinstance(script, str):
        script(connection)
        return
    for statement in script.split(";\n"):
        if statement.strip():
            connection.execute(statement)
