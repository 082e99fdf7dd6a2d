"""The database `state.sqlite` of a data directory. It has all data that are not items and cannot be derived from items.

Each capability owns its tables and their migrations; `PARTS` orders them. All stores of a process share one writer, so
that a transaction may span capabilities. They also share a few readers, which never wait for the writer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from threading import Lock, RLock, local
from typing import Final, NamedTuple

from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.connection import (
    STATE,
    Connection,
    DatabaseError,
    FileWatch,
    checkpoint,
    connect,
    connect_by_uri,
    refuse_lost,
    storage_errors,
    transaction,
)
from ibi.storage.database import CHANGE_NUMBERS, SQLITE, DatabaseSession, Migration, note_change, run_migration
from ibi.storage.directory_record import note_begun
from ibi.storage.earlier_layout import has_earlier_layout, upgrade_layout
from ibi.storage.errors import StoreClosed, StoreForked, StoreNewer
from ibi.storage.guarded import empty_log, keep_private
from ibi.storage.state_copies import keep_copy

_MOST_IDLE: Final = 4
"""Maximum idle readers that stay open."""


class StatePart(NamedTuple):
    """The tables of one capability. Its module is loaded only to create or migrate them."""

    name: str
    module: str
    tables: tuple[str, ...]
    """Tables in the order in which rows may be added."""
    version: int = 1
    """The number of migrations in the module. A test compares the two."""

    def migrations(self) -> tuple[Migration, ...]:
        found: tuple[Migration, ...] = import_module(self.module).MIGRATIONS
        return found


PARTS: Final = (
    StatePart("tokens", "ibi.people.store.tokens", ("tokens",)),
    StatePart(
        "people",
        "ibi.people.store.people",
        ("people", "sessions", "sign_in_links", "invitations", "identities", "second_factors"),
    ),
    StatePart("registry", "ibi.membership.store.registry", ("registrations", "registered_labels")),
    StatePart(
        "beliefs",
        "ibi.resolver.store.beliefs",
        (
            *("belief_counts", "believed_successions", "believed_holdings", "false_claims", "believed_deletions"),
            *("named_copies", "rulings"),
        ),
    ),
    StatePart("releases", "ibi.transfers.store.releases", ("told_chains", "told_chain_names", "told_chain_services")),
    StatePart(
        "transfers",
        "ibi.transfers.store.transfers",
        (
            *("transfers", "transfer_peers", "untold_transfers", "transfer_track", "unheard_servers"),
            *("item_chains", "item_chain_services", "open_items"),
        ),
    ),
    StatePart(
        "notifications",
        "ibi.claims.store",
        ("received_claims", "sent_claims", "outgoing_notifications", "notification_position"),
    ),
    StatePart("subscriptions", "ibi.following.store.subscriptions", ("follows", "followed_items", "webhooks")),
    StatePart("copies", "ibi.copies.store.copy_jobs", ("copy_jobs", "copy_job_items", "copy_job_counts")),
    StatePart("reviews", "ibi.deposits.store.reviews", ("reviews", "review_entries")),
    StatePart("requests", "ibi.requests.store", ("reader_requests",)),
    StatePart("collections", "ibi.collections.store", ("collections", "collection_members")),
)
"""The parts in the order of table creation: a part may refer to tables of earlier parts."""

_LAYOUT: Final = (
    f"""
    CREATE TABLE parts (name TEXT PRIMARY KEY, version INTEGER NOT NULL, begun TEXT NOT NULL);
    {CHANGE_NUMBERS}
    """,
)


class SqliteDatabase:
    """The `Database` of one store. All instances in a process share the connections to one file."""

    def __init__(self, file: _SharedFile) -> None:
        self._file = file
        self._is_closed = False

    def read(self) -> _Reading:
        return _Reading(self._require_open())

    @contextmanager
    def change(self, *, lasting: bool = False) -> Iterator[DatabaseSession]:
        file = self._require_open()
        session = file.own_session()
        if session is not None:
            file.join(lasting=lasting)
            yield session
            return
        with file.changing(lasting=lasting) as connection:
            yield connection

    def erase(self) -> None:
        self._require_open().erase()

    def check(self) -> None:
        self._require_open().watch.check()

    def copy(self) -> Path:
        """Copy the whole database into the folder of copies, and return the path of the copy."""
        path = self._require_open().path
        with closing(connect_by_uri(f"{path.as_uri()}?mode=ro")) as connection:
            return keep_copy(connection, path.parent)

    def examine(self) -> None:
        """Read every page of the database; raise `StateDamaged` if one is not sound."""
        file = self._require_open()
        with self.read() as connection:
            ((found,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
            if found != "ok":
                raise STATE.damaged(path=file.path, reason=" ".join(str(found).split()))

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            _release(self._file)

    def _require_open(self) -> _SharedFile:
        if self._file.process != os.getpid():
            raise StoreForked(path=self._file.path)
        if self._is_closed:
            raise StoreClosed(path=self._file.path)
        return self._file


class _Reading:  # a class, because a generator would take longer than most statements
    """A read-only session for a `with`."""

    __slots__ = ("_connection", "_file")

    def __init__(self, file: _SharedFile) -> None:
        self._file = file
        self._connection: Connection | None = None

    def __enter__(self) -> DatabaseSession:
        file = self._file
        own = file.own_session()
        if own is not None:
            return own
        # Checked before each read: if the file was emptied, its rows must not be reported as unknown.
        file.watch.check()
        self._connection = connection = file.take_reader()
        return connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        self._file.give_back(connection)
        if isinstance(error, DatabaseError):
            with self._file.damage_noted():
                raise error


class _SharedFile:
    """The connections of a process to one file."""

    def __init__(self, path: Path) -> None:
        self.path, self.process, self.users = path, os.getpid(), 0
        self._writing, self._idle_lock = RLock(), Lock()
        self._idle: list[Connection] = []
        self._own = local()
        with suppress(FileExistsError):
            path.parent.mkdir(mode=0o700, parents=True)
        if has_earlier_layout(path.parent):
            upgrade_layout(path.parent, make_empty_state)
        refuse_lost(path, STATE)
        keep_private(path)
        self._writer = connect(path, _LAYOUT, kind=STATE)
        try:
            _migrate_parts(self._writer, path)
            note_begun(path)
            self.watch = FileWatch(path, STATE, most=0)
        except BaseException:
            self._writer.close()
            raise

    def own_session(self) -> Connection | None:
        """Return the connection of this thread's running change, if there is one."""
        found: Connection | None = getattr(self._own, "session", None)
        return found

    def join(self, *, lasting: bool) -> None:
        """Make the running change of this thread lasting if the joining change is lasting."""
        self._own.is_lasting = self._own.is_lasting or lasting

    @contextmanager
    def changing(self, *, lasting: bool) -> Iterator[Connection]:
        with self._writing:
            self.watch.check()
            connection = self._writer
            with self.damage_noted(), transaction(connection):
                self._own.session, self._own.is_lasting = connection, lasting
                try:
                    yield connection
                finally:
                    self._own.session = None
            if self._own.is_lasting:
                checkpoint(connection)
                self.watch.note_own_change()

    def erase(self) -> None:
        with self._writing:
            empty_log(self._writer)
            self.watch.note_own_change()

    def close(self) -> None:
        with self._writing, self._idle_lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            self._writer.close()

    @contextmanager
    def damage_noted(self) -> Iterator[None]:
        """Remember damage, so that later answers from cached pages do not hide it."""
        try:
            with storage_errors(self.path, STATE.damaged):
                yield
        except StoreDamaged as damage:
            self.watch.damage = damage
            raise

    def take_reader(self) -> Connection:
        with self._idle_lock:
            if self._idle:
                return self._idle.pop()
        with self.damage_noted():
            connection = connect(self.path, _LAYOUT, kind=STATE, begin=False)
            connection.execute("PRAGMA query_only = ON")
        return connection

    def give_back(self, connection: Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._idle_lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()


_open_files: Final[dict[tuple[int, Path], _SharedFile]] = {}
_opening: Final = Lock()
"""Held while a file is opened or closed. A process that closes a file loses all locks that SQLite holds on that file in
the process. So each process opens a file only once."""


def open_state(directory: Path) -> SqliteDatabase:
    """Open the `state` of a data directory, creating it if it is missing. Refuse a database that is damaged or lost."""
    path = directory.absolute() / STATE.file_name
    key = os.getpid(), path
    with _opening:
        file = _open_files.get(key)
        if file is None:
            file = _open_files[key] = _SharedFile(path)
        file.users += 1
    return SqliteDatabase(file)


def _release(file: _SharedFile) -> None:
    with _opening:
        file.users -= 1
        if file.users == 0:
            del _open_files[file.process, file.path]
            if file.process == os.getpid():
                file.close()


class StateStore:
    """Base of the stores of `state`."""

    def __init__(self, directory: Path) -> None:
        """`directory` is the data directory, created if it is missing."""
        self._database = open_state(directory)

    def check(self) -> None:
        """Raise an error if the database was damaged, emptied or replaced since it was opened. The server's monitoring
        calls this."""
        self._database.check()

    def close(self) -> None:
        self._database.close()


def has_state(directory: Path) -> bool:
    """Return whether the data directory has a database `state.sqlite`."""
    return (directory / STATE.file_name).exists()


def part_versions(connection: Connection) -> Mapping[str, int]:
    """Return the number of migrations that each part has been through."""
    return dict(connection.execute("SELECT name, version FROM parts").fetchall())


KNOWN_VERSIONS: Final = {part.name: part.version for part in PARTS}


def refuse_newer(path: Path, found: Mapping[str, int]) -> None:
    """Raise `StoreNewer` if a part is of a later version of this software."""
    for name, version in found.items():
        known = KNOWN_VERSIONS.get(name, 0)
        if version > known:
            raise StoreNewer(path=path, found=f"{name} {version}", known=f"{name} {known}")


def _migrate_parts(connection: Connection, path: Path) -> None:
    with storage_errors(path, STATE.damaged):
        found = part_versions(connection)
        if found == KNOWN_VERSIONS:
            return
        refuse_newer(path, found)
        if found:
            keep_copy(connection, path.parent)
        with transaction(connection):
            migrate_parts(connection)


def migrate_parts(connection: Connection) -> None:
    """Migrate the tables of all parts, inside a transaction."""
    found = part_versions(connection)  # read again: another process may have migrated meanwhile
    for part in PARTS:
        before = found.get(part.name, 0)
        if before < part.version:
            for migration in part.migrations()[before:]:
                run_migration(connection, migration, SQLITE)
            connection.execute(
                "INSERT INTO parts (name, version, begun) VALUES (?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET version = excluded.version",
                (part.name, part.version, _now()),
            )


def make_empty_state(path: Path) -> Connection:
    """Create a `state` without rows at a path."""
    connection = connect(path, _LAYOUT, kind=STATE)
    with transaction(connection):
        migrate_parts(connection)
    return connection


def empty_part(directory: Path, name: str) -> Path:
    """Delete all rows of a part. Return the path of the copy of the database that was made before."""
    part = next(each for each in PARTS if each.name == name)
    with closing(open_state(directory)) as database:
        kept = database.copy()
        with database.change(lasting=True) as session:
            for table in reversed(part.tables):
                session.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
            session.execute("UPDATE parts SET begun = ? WHERE name = ?", (_now(), name))
            note_change(session, name)
        database.erase()
    return kept


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
