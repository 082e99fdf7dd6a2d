"""A store of secrets on one connection: each change a commit of its own, each look a fresh one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from ibi.storage.errors import StoreClosed, StoreForked
from ibi.storage.sqlite.connection import Connection, connect, storage_errors
from ibi.storage.sqlite.private_file import keep_private

__all__ = ["PrivateStore"]

_opening = Lock()
"""One at a time: a process that closes a file gives up every lock that SQLite holds on it in the same process."""


class PrivateStore:
    """What the adapters of small, secret things have in common. Calls come from any thread of the process."""

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        """The directory of `path` is made if it is missing."""
        self._path, self._lock, self._process = path, Lock(), os.getpid()
        with _opening:
            keep_private(path)
            self._connection: Connection | None = connect(path, migrations)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _open(self) -> Iterator[Connection]:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        with self._lock:
            if self._connection is None:
                raise StoreClosed(path=self._path)
            with storage_errors(self._path):
                yield self._connection
