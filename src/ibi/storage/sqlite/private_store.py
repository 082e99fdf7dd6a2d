"""A store of secrets on one connection: each change a commit of its own, each look a fresh one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from ibi.storage.errors import StoreClosed, StoreDamaged, StoreForked
from ibi.storage.sqlite.connection import Connection, checkpoint, connect, storage_errors
from ibi.storage.sqlite.database_file import FileWatch, note_begun, refuse_lost
from ibi.storage.sqlite.database_kind import DatabaseKind
from ibi.storage.sqlite.private_file import keep_private

__all__ = ["PrivateStore"]

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
        """Raise an error if the file is not the sound database that was opened. For whoever watches the server."""
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
