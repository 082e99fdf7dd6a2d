"""Databases opened with care: small ones for one thread at a time, and those that are only looked at.

Small databases that one connection serves, for one thread at a time: what is refused when it is closed, was opened
by another process, or is damaged; and files that their owner alone may read.

Reads a database without changing anything: not the file, and nothing beside it.

SQLite makes files beside a database in order to read it, and finishes there what a crash has left. So a database that
no process has open is read as one that cannot change, and one with a log of its own in a copy. Where a server runs,
what SQLite needs is there already.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Final

from ibi.ports.errors import StoreDamaged
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, sync_directory
from ibi.storage.sqlite.connection import (
    Connection,
    DatabaseError,
    DatabaseKind,
    connect_by_uri,
    inspect,
    set_aside,
    storage_errors,
    transaction,
)

OnDamage = Callable[[StoreDamaged, Path | None], None]
"""Told what is wrong with the file, and under which name it was set aside."""


class GuardedDatabase:
    """What adapters have in common that use one connection. Calls come from any thread of the process."""

    def __init__(self, path: Path, kind: DatabaseKind, open_file: Callable[[], Connection]) -> None:
        """The directory of the file is made if it is missing."""
        self._path, self._kind, self._lock, self._process = path, kind, RLock(), os.getpid()
        with refusals(DiskRefused, path):
            make_directory(path.parent)
        self._connection: Connection | None = open_file()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _open(self) -> Iterator[Connection]:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        with self._lock, storage_errors(self._path, self._kind.damaged):
            if self._connection is None:
                raise StoreClosed(path=self._path)
            yield self._connection

    @contextmanager
    def _change(self) -> Iterator[Connection]:
        """One transaction, durable when it ends."""
        with self._open() as connection, transaction(connection):
            yield connection


def open_or_begin_anew(
    path: Path, open_file: Callable[[], Connection], on_damage: OnDamage | None = None
) -> Connection:
    """The database; with `on_damage`, one that cannot be used is set aside, and another one begun."""
    try:
        return open_file()
    except StoreDamaged as error:
        if on_damage is None:
            raise
        on_damage(error, set_aside(path))
        return open_file()


def keep_private(path: Path) -> None:
    """Have the file there for its owner alone before SQLite opens it: the files beside it get the same mode."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            sync_directory(path.parent)
        except FileExistsError:
            for suffix in ("", "-wal", "-shm", "-journal"):
                _tighten(Path(f"{path}{suffix}"))
    except OSError as error:
        raise_if_exhausted(error)
        raise DiskRefused(path=path, reason=error.strerror or str(error)) from error


def _tighten(path: Path) -> None:
    # Another user's file, or a file system without modes: who may read it was decided elsewhere.
    with suppress(FileNotFoundError, PermissionError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)


def empty_log(connection: Connection) -> None:
    """Leave nothing in the log of what was overwritten in the database, unless a reader is in the way: the next time
    then."""
    with suppress(DatabaseError):
        (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")  # it is not worth waiting for
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {patience}")


# --- unchanged --------------------------------------------------------------------------------------------------------


_LOGS: Final = ("-wal", "-journal")
"""What SQLite may have left beside a database and needs to read it; `-shm` it makes anew."""
_TRIES: Final = 5
_KIND_OF_LOG: Final = 18
"""Where the header of a file tells how it is written: 2 with a write-ahead log."""


@contextmanager
def opened_unchanged(path: Path, *, is_in_use: bool) -> Iterator[Connection]:
    """A connection that only reads. `is_in_use` says whether a server may have the database open."""
    with (
        _readable(path, is_in_use=is_in_use) as (place, how),
        storage_errors(path, StoreDamaged),
        closing(connect_by_uri(f"{place.absolute().as_uri()}?{how}")) as connection,
    ):
        yield connection


def inspect_unchanged(path: Path, kind: DatabaseKind, *, is_in_use: bool, most: int) -> None:
    """Raise the `damaged` of its kind if the database is not sound; up to `most` bytes, all of its pages are read."""
    with _readable(path, is_in_use=is_in_use) as (place, how):
        try:
            inspect(place, kind, how, most)
        except StoreDamaged as damage:
            raise kind.damaged(path=path, reason=damage.parameters["reason"]) from None


@contextmanager
def _readable(path: Path, *, is_in_use: bool) -> Iterator[tuple[Path, str]]:
    """Which file to open, and how."""
    left = [end for end in _LOGS if Path(f"{path}{end}").exists()]
    if is_in_use and (Path(f"{path}-shm").exists() or not _has_own_log(path)):
        yield path, "mode=ro"
    elif not left:
        yield path, "mode=ro&immutable=1"
    else:
        with TemporaryDirectory(prefix="ibi-unchanged-") as beside:
            copy = Path(beside, path.name)
            copy_database(path, copy)
            yield copy, "mode=ro"


def _has_own_log(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_KIND_OF_LOG + 1)[_KIND_OF_LOG:] == b"\2"


def copy_database(source: Path, target: Path) -> None:
    """Copy a database with its log, at a moment when neither changes, if another process writes there."""
    for _ in range(_TRIES):
        remove_database(target)
        before = _stamps(source)
        for end in ("", *_LOGS):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{source}{end}", f"{target}{end}")
        if _stamps(source) == before:
            return


def remove_database(path: Path) -> None:
    for end in ("", "-shm", *_LOGS):
        Path(f"{path}{end}").unlink(missing_ok=True)


def _stamps(path: Path) -> list[tuple[int, int, int] | None]:
    return [_stamp(f"{path}{end}") for end in ("", *_LOGS)]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
