"""The database `subscriptions.sqlite` of a data directory: what is followed elsewhere, and who is told of changes here.

It holds secrets that have to be sent, tokens for restricted items and keys of webhooks: the file is for its owner
alone. Several processes use it; the one that works on it holds the lock of a file beside it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked, SubscriptionsDamaged
from ibi.storage.locks import open_lock
from ibi.storage.machine import make_directory, refusals
from ibi.storage.sqlite.connection import (
    SUBSCRIPTIONS,
    Connection,
    connect,
    note_begun,
    refuse_lost,
    storage_errors,
    transaction,
)

FILE_NAME: Final = SUBSCRIPTIONS.file_name

MIGRATIONS: Final = (
    """
    CREATE TABLE follows (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        source TEXT NOT NULL,
        by_operator INTEGER NOT NULL,
        token TEXT,
        created INTEGER NOT NULL,
        epoch TEXT NOT NULL DEFAULT '',
        position INTEGER NOT NULL DEFAULT 0,
        end INTEGER NOT NULL DEFAULT 0,
        round INTEGER NOT NULL DEFAULT 0,
        until INTEGER,
        heard INTEGER,
        current INTEGER,
        failing INTEGER,
        reason TEXT,
        UNIQUE (kind, text, source)
    );
    CREATE TABLE followed (
        follow INTEGER NOT NULL REFERENCES follows (row) ON DELETE CASCADE,
        label TEXT NOT NULL,
        state TEXT NOT NULL,
        round INTEGER NOT NULL,
        number INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        version INTEGER NOT NULL,
        held_version INTEGER NOT NULL DEFAULT 0,
        held_at TEXT NOT NULL DEFAULT '',
        due INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        PRIMARY KEY (follow, label)
    ) WITHOUT ROWID;
    CREATE INDEX followed_due ON followed (follow, due) WHERE due IS NOT NULL;
    CREATE TABLE webhooks (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        url TEXT NOT NULL,
        secret BLOB NOT NULL,
        by_operator INTEGER NOT NULL,
        prefix TEXT,
        kinds TEXT NOT NULL,
        created INTEGER NOT NULL,
        epoch TEXT NOT NULL,
        position INTEGER NOT NULL,
        delivered INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        due INTEGER NOT NULL DEFAULT 0,
        failing INTEGER,
        reason TEXT,
        disabled INTEGER
    )
    """,
)


class SubscriptionDatabase:
    """One connection to the database of a data directory, for one thread at a time."""

    def __init__(self, directory: Path) -> None:
        self._path, self._lock, self._process = directory / FILE_NAME, Lock(), os.getpid()
        with refusals(DiskRefused, self._path):
            make_directory(directory)
            refuse_lost(self._path, SUBSCRIPTIONS)
            # What SQLite makes beside the file has the mode of the file.
            os.close(open_lock(self._path))
        self._connection: Connection | None = connect(self._path, MIGRATIONS, kind=SUBSCRIPTIONS)
        note_begun(self._path)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        with self._lock, storage_errors(self._path, SubscriptionsDamaged):
            if self._connection is None:
                raise StoreClosed(path=self._path)
            yield self._connection

    @contextmanager
    def change(self) -> Iterator[Connection]:
        """One transaction, durable when it ends."""
        with self.read() as connection, transaction(connection):
            yield connection


class WorkerLock:
    """Which process works on the follows, or on the webhooks, of a data directory."""

    def __init__(self, directory: Path, name: str) -> None:
        self._path = directory / f"{name}.lock"
        self._descriptor: int | None = None

    def hold(self) -> bool:
        if self._descriptor is not None:
            return True
        with refusals(DiskRefused, self._path):
            make_directory(self._path.parent)
            descriptor = open_lock(self._path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
