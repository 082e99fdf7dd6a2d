"""Small databases with one connection for one thread at a time.

They refuse calls after they are closed or forked, and report damage. Their files are readable by the owner alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock

from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.connection import Connection, DatabaseError, DatabaseKind, set_aside, storage_errors, transaction
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, sync_directory

OnDamage = Callable[[StoreDamaged, Path | None], None]
"""Called with the damage and the new name of the file that was set aside, if it was."""


class GuardedDatabase:
    """Base of adapters with one connection. Calls may come from any thread of the process."""

    def __init__(self, path: Path, kind: DatabaseKind, open_file: Callable[[], Connection]) -> None:
        """Open the file. Its directory is made if it is missing."""
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
        """Open one transaction, which is durable when it ends."""
        with self._open() as connection, transaction(connection):
            yield connection


def open_or_begin_anew(
    path: Path, open_file: Callable[[], Connection], on_damage: OnDamage | None = None
) -> Connection:
    """Open the database. With `on_damage`, a damaged file is set aside and a new database begun."""
    try:
        return open_file()
    except StoreDamaged as error:
        if on_damage is None:
            raise
        on_damage(error, set_aside(path))
        return open_file()


def keep_private(path: Path) -> None:
    """Create the file with access for its owner alone before SQLite opens it. SQLite gives its side files the same
    mode."""
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
    # Another user's file, or a file system without modes: the administrator decides on access there.
    with suppress(FileNotFoundError, PermissionError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)


def empty_log(connection: Connection) -> None:
    """Empty the log, so that it keeps no overwritten data. If a reader is in the way, the next call does it."""
    with suppress(DatabaseError):
        (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")  # not worth waiting for
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {patience}")
