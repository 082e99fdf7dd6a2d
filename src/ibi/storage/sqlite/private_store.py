"""A store of secrets on one connection: each change a commit of its own, each look a fresh one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from ibi.ports.errors import StoreDamaged
from ibi.storage.descriptors import raise_if_exhausted
from ibi.storage.disk import sync_directory
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked
from ibi.storage.sqlite.connection import Connection, DatabaseKind, checkpoint, connect, storage_errors
from ibi.storage.sqlite.database_file import FileWatch, note_begun, refuse_lost


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


_opening = Lock()
"""One at a time: a process that closes a file gives up every lock that SQLite holds on it in the same process."""


class PrivateStore:
    """What the adapters of small, secret things have in common. Calls come from any thread of the process."""

    def __init__(self, directory: Path, kind: DatabaseKind, migrations: Sequence[str]) -> None:
        """The `directory` is made if it is missing. A database that was there once and is lost is refused."""
        self._path, self._lock, self._process = directory / kind.file_name, Lock(), os.getpid()
        self._kind = kind
        with _opening:
            refuse_lost(self._path, kind)
            keep_private(self._path)
            self._connection: Connection | None = connect(self._path, migrations, kind=kind)
            try:
                note_begun(self._path)
                self._watch = FileWatch(self._path, kind)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

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
