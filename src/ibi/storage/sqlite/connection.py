"""A connection to an SQLite file, set up the one way that every store here relies on.

The header of each file has an `application_id` of its own, so that one database put in the place of another is seen
when it is opened. Files that an earlier version made have none: they are recognised by their tables, and marked.

A database that cannot be made anew from anything is noted in `directory.json` when it is begun. From then on, a file
that is gone or empty was lost: it is refused, and not silently begun again.
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

from ibi.ports.errors import CatalogDamaged, StorageError, StoreDamaged
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
"""Where the root page of a database begins, which lists its tables."""
_EMPTY_PAGE: Final = re.compile(rb"\x0d..\0\0", re.DOTALL)
"""A page that is a leaf and has no cell."""
_PARTS: Final = ("-wal", "-shm", "-journal", "")
"""The file itself last: until it is renamed, a process that opens it finds it damaged."""


def refuse_lost(path: Path, kind: DatabaseKind) -> None:
    """Raise the `damaged` of its kind if the database was begun once and there is none, or an empty one, now."""
    if not was_begun(path):
        return
    if not path.exists():
        raise kind.damaged(path=path, reason="it is gone, and this data directory had one")
    if is_blank(path):
        raise kind.damaged(path=path, reason="it is empty, and was not before")


def is_blank(path: Path) -> bool:
    """Return whether the file is empty, or a database without any table. The log of SQLite is looked at:
    it may have all that a process wrote before it was killed."""
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
    """Give the file and what SQLite keeps beside it a name with the date; that name, None if there was no file."""
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
    """Notices that the file of an open database is no longer what was opened. From any thread."""

    def __init__(self, path: Path, kind: DatabaseKind, most: int | None = None) -> None:
        """Make it right after the database was opened, which has looked at all of it. Of a file that another process
        changed, all pages are read up to `most` bytes."""
        self._path, self._kind, self._most = path, kind, most
        self.damage: StoreDamaged | None = None
        """What was found; it stays, since connections that are open may remember pages of either file."""
        status = path.stat()
        self._opened = status.st_dev, status.st_ino
        self._sound = status.st_mtime_ns, status.st_size

    def check(self) -> None:
        """Raise the `damaged` of its kind if the file is gone, emptied, replaced or damaged.

        A look at its size and date, unless they have changed.
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
        """What this process has just written needs no look."""
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
    """What distinguishes one of the databases from others, and what is said when it is damaged."""

    file_name: str
    number: int
    tables: frozenset[str]
    """Tables of its first format: without them it is another database."""
    damaged: type[StoreDamaged]
    has_tokens: bool = False
    """Whether it holds tokens for a time: what is deleted is overwritten then."""

    @property
    def application_id(self) -> int:
        return _IBI + self.number


CATALOGUE: Final = DatabaseKind("catalogue.sqlite", 1, frozenset({"items", "links"}), CatalogDamaged)
USAGE: Final = DatabaseKind("usage.sqlite", 5, frozenset({"usage"}), UsageDamaged)
TICKS: Final = DatabaseKind("ticks.sqlite", 6, frozenset({"store", "clock", "served"}), TicksDamaged)
STATE: Final = DatabaseKind("state.sqlite", 30, frozenset({"parts", "change_numbers"}), StateDamaged, has_tokens=True)
KINDS: Final = {kind.application_id: kind for kind in (STATE, CATALOGUE, USAGE, TICKS)}


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


Connection = driver.Connection
DatabaseError = driver.DatabaseError
Migration = str | Callable[[Connection], None]
"""Statements of SQL, or what has to be done in Python; in either case without a transaction of its own."""

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
"""Statements that a connection remembers: more than migrations have, since a full cache takes no new ones for long."""
_DAMAGE = {driver.SQLITE_CORRUPT, driver.SQLITE_NOTADB}
_CANNOT_OPEN = 14
_SHORT_READ = driver.SQLITE_IOERR | 2 << 8
"""The file ends before a page that belongs to it (SQLITE_IOERR_SHORT_READ, which the module does not name)."""
_INSPECTED = 4 << 20
"""Bytes up to which all pages of a file are read when it is opened: that takes 25 ms at most. Of a larger one, damage
inside is noticed when it is read."""
_FAULTS_OF_OURS = (driver.ProgrammingError, driver.IntegrityError, driver.DataError, driver.NotSupportedError)


def connect(
    path: Path,
    migrations: Sequence[Migration],
    *,
    patience: float = _PATIENCE,
    kind: DatabaseKind | None = None,
    begin: bool = True,
) -> Connection:
    """Open or make the store at `path`, whose format is the number of `migrations` it has been through.

    Usable from any thread, one at a time. Transactions are begun and ended by the caller, best with `transaction`.
    With a `kind`, a file that is another database is refused before anything is written to it, and a small one is read
    to its end. Without `begin` the file has to be there in full, as for a second connection to a store that is open.
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
    """Look at the file anew, on a connection of its own: raise the `damaged` of its kind if it is not sound. One of
    `most` bytes is read to its end.

    Other connections to it in this process would go on with the pages that they remember.
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
    """Read every page of a small database. SQLite raises some of what it finds wrong, and returns the rest."""
    if path.stat().st_size > (_INSPECTED if most is None else most):
        return
    ((found,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise kind.damaged(path=path, reason=" ".join(str(found).split()))


class storage_errors:  # like a function; a generator would cost every commit three times as much
    """What SQLite raises inside, raised as what it means to a person; damage as the error that is given."""

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
    """Copy what was committed from the log into the database itself, as far as no reader is in the way."""
    with suppress(DatabaseError):  # it is durable in the log in any case
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


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


@contextmanager
def snapshot(connection: Connection) -> Iterator[None]:
    """One state of the file for all that is read, whatever others write meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _open(path: Path, patience: float, kind: DatabaseKind | None, *, begin: bool) -> Connection:
    name = str(path)
    if not begin:
        # SQLite would take an emptied file for a new one, and wait for all others to let go of the old log.
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
    """Refuse what is not a database of that kind. Nothing is written."""
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    if found not in (0, kind.application_id):
        other = KINDS.get(found)
        name = "a database of another program" if other is None else f"{other.file_name} under another name"
        raise kind.damaged(path=path, reason=f"it is {name}")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    # A file without anything in it is one that is just being made.
    if (found or tables or _version(connection)) and not kind.tables <= tables:
        missing = ", ".join(sorted(kind.tables - tables))
        raise kind.damaged(path=path, reason=f"it is another database, or lost its tables ({missing})")


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
        # Another process may have done it meanwhile.
        for number in range(_version(connection), known):
            _run(connection, migrations[number])
            connection.execute(f"PRAGMA user_version = {number + 1}")
        if kind is not None:
            connection.execute(f"PRAGMA application_id = {kind.application_id}")


def _is_marked(connection: Connection, kind: DatabaseKind) -> bool:
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    return bool(found == kind.application_id)


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
