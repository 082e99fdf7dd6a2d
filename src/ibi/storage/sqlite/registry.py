"""Registrations in SQLite: the file `registry.sqlite` of a data directory, readable by its owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from ibi.label import Label
from ibi.model.registration import Registration
from ibi.ports.errors import StoreDamaged
from ibi.storage.errors import StoreClosed, StoreForked
from ibi.storage.sqlite.accounts import keep_private
from ibi.storage.sqlite.catalog_rows import label_key
from ibi.storage.sqlite.connection import (
    REGISTRY,
    Connection,
    FileWatch,
    checkpoint,
    connect,
    note_begun,
    refuse_lost,
    storage_errors,
    transaction,
)
from ibi.storage.sqlite.registry_rows import (
    ALL,
    FIND,
    INSERT,
    INSERT_LABEL,
    MIGRATIONS,
    as_kept,
    registration_of,
    registration_order,
    require_free,
    row_of,
)

FILE_NAME: Final = REGISTRY.file_name

_RECENT: Final = 0.01
"""Seconds for which the version, once read, is the recent one."""

_opening = Lock()
"""One at a time: a process that closes a file gives up every lock that SQLite holds on it in the same process."""


class SqliteRegistry:
    """The port `Registry` on one data directory. Each change is a commit of its own.

    Looks are on a connection that never writes, so that an event loop never waits for a disk; and its `data_version`
    tells of every change, those by this object among them.
    """

    prompt = True

    def __init__(self, directory: Path) -> None:
        """`directory` is the data directory, made if it is missing."""
        self._path = directory / FILE_NAME
        self._reading, self._writing = Lock(), Lock()
        self._process = os.getpid()
        self._reader: Connection | None = None
        self._writer: Connection | None = None
        self._count = count(1)
        self._changes = 0
        """Another number after every change by this object."""
        self._seen: tuple[int, float, int] | None = None
        """The version that was read last: after which changes, until when it is recent, and which it was."""
        with _opening:
            refuse_lost(self._path, REGISTRY)
            keep_private(self._path)
            self._writer = connect(self._path, MIGRATIONS, kind=REGISTRY)
            try:
                note_begun(self._path)
                self._reader = connect(self._path, MIGRATIONS, kind=REGISTRY, begin=False)
                self._watch = FileWatch(self._path, REGISTRY)
            except BaseException:
                self._writer.close()
                raise

    def find(self, label: Label) -> Registration | None:
        with self._read_connection() as connection:
            return _find(connection, label)

    def all(self) -> tuple[Registration, ...]:
        with self._read_connection() as connection:
            found = _all(connection)
        return tuple(sorted(found, key=registration_order))

    def add(self, registration: Registration) -> None:
        with self._write_connection() as connection:
            _require_free(connection, registration, None)
            _insert(connection, registration)

    def put(self, registration: Registration) -> None:
        with self._write_connection() as connection:
            for label in registration.labels:
                _delete(connection, label)
            _insert(connection, registration)

    def change(self, label: Label, make: Callable[[Registration], Registration]) -> Registration | None:
        with self._write_connection() as connection:
            found = _find(connection, label)
            if found is None:
                return None
            made = as_kept(make(found), found)
            if made != found:
                _require_free(connection, made, found)
                _delete(connection, label)
                _insert(connection, made)
            return made

    def forget(self, label: Label) -> Registration | None:
        with self._write_connection() as connection:
            found = _find(connection, label)
            if found is not None:
                _delete(connection, label)
            return found

    def version(self) -> int:
        with self._read_connection() as connection:
            (version,) = connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def recent_version(self) -> int:
        """`version`, at most 10 ms old; but never older than a change that this object has made."""
        changes, now, seen = self._changes, monotonic(), self._seen
        if seen is None or seen[0] != changes or now >= seen[1]:
            self._seen = seen = changes, now + _RECENT, self.version()
        return seen[2]

    def check(self) -> None:
        """Raise an error if the file is not the sound database that was opened. For the monitoring of a server."""
        self._watch.check()

    def close(self) -> None:
        with self._reading, self._writing:
            for connection in (self._reader, self._writer):
                if connection is not None and self._process == os.getpid():
                    connection.close()
            self._reader = self._writer = None
            self._changes = next(self._count)

    @contextmanager
    def _read_connection(self) -> Iterator[Connection]:
        self._check_process()
        with self._reading, self._errors():
            yield self._require_open(self._reader)

    @contextmanager
    def _write_connection(self) -> Iterator[Connection]:
        self._check_process()
        with self._writing, self._errors():
            self._watch.check()
            connection = self._require_open(self._writer)
            try:
                with transaction(connection):
                    yield connection
            finally:
                self._changes = next(self._count)
            # Changes are few and matter: the file has them, also if its log is lost.
            checkpoint(connection)
            self._watch.note_own_change()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Damage that was found stays: what is missing in a damaged file must not be said to be unregistered."""
        if self._watch.damage is not None:
            raise self._watch.damage
        try:
            with storage_errors(self._path, REGISTRY.damaged):
                yield
        except StoreDamaged as damage:
            self._watch.damage = damage
            raise

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)

    def _require_open(self, connection: Connection | None) -> Connection:
        if connection is None:
            raise StoreClosed(path=self._path)
        return connection


def _find(connection: Connection, label: Label) -> Registration | None:
    row = connection.execute(FIND, (label_key(label),)).fetchone()
    return None if row is None else registration_of(row)


def _all(connection: Connection) -> list[Registration]:
    return list(map(registration_of, connection.execute(ALL).fetchall()))


def _require_free(connection: Connection, registration: Registration, before: Registration | None) -> None:
    require_free(registration, before, lambda label: _find(connection, label), lambda: _all(connection))


def _insert(connection: Connection, registration: Registration) -> None:
    number = connection.execute(INSERT, row_of(as_kept(registration))).lastrowid
    connection.executemany(INSERT_LABEL, [(label_key(label), number) for label in registration.labels])


def _delete(connection: Connection, label: Label) -> None:
    """Its labels go with it."""
    connection.execute(
        "DELETE FROM registrations WHERE id = (SELECT registration FROM labels WHERE label = ?)", (label_key(label),)
    )
