"""Small databases that one connection serves, for one thread at a time: what is refused when it is closed, was opened
by another process, or is damaged; and files that their owner alone may read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock

from ibi.ports.errors import StoreDamaged
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, sync_directory
from ibi.storage.sqlite.connection import (
    Connection,
    DatabaseError,
    DatabaseKind,
    FileWatch,
    checkpoint,
    connect,
    note_begun,
    refuse_lost,
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


_opening = Lock()
"""One at a time: a process that closes a file gives up every lock that SQLite holds on it in the same process."""


class PrivateStore(GuardedDatabase):
    """What the adapters of small, secret things have in common. Calls come from any thread of the process."""

    def __init__(self, directory: Path, kind: DatabaseKind, migrations: Sequence[str]) -> None:
        """The `directory` is made if it is missing. A database that was there once and is lost is refused."""
        path = directory / kind.file_name
        with _opening:
            refuse_lost(path, kind)
            keep_private(path)
            super().__init__(path, kind, lambda: connect(path, migrations, kind=kind))
            try:
                note_begun(path)
                self._watch = FileWatch(path, kind)
            except BaseException:
                self.close()
                raise

    def check(self) -> None:
        """Raise an error if the file is not the sound database that was opened. For the monitoring of a server."""
        self._watch.check()

    @contextmanager
    def _open(self) -> Iterator[Connection]:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        with self._lock:
            if self._connection is None:
                raise StoreClosed(path=self._path)
            # Before each answer: what is not found in a file that was emptied must not be said to be unknown.
            self._watch.check()
            changes = self._connection.total_changes
            try:
                with storage_errors(self._path, self._kind.damaged):
                    yield self._connection
            except StoreDamaged as damage:
                self._watch.damage = damage
                raise
            if self._connection.total_changes != changes:
                # Changes are few and matter (a revoked token): the file has them, also if its log is lost.
                checkpoint(self._connection)
                self._watch.note_own_change()
