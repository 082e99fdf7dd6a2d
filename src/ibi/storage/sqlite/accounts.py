"""Tokens and people in SQLite: two databases that hold hashes of secrets, and that only their owner may read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from ibi.accounts.errors import PersonExists, TokenExists, UnknownPerson
from ibi.instant import Instant
from ibi.model.account import Person, Role, Scope, Session, SignInLink, Token
from ibi.ports.errors import StoreDamaged
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked
from ibi.storage.machine import raise_if_exhausted, sync_directory
from ibi.storage.sqlite.connection import (
    ACCOUNTS,
    PEOPLE,
    Connection,
    DatabaseError,
    DatabaseKind,
    FileWatch,
    checkpoint,
    connect,
    note_begun,
    refuse_lost,
    storage_errors,
    transaction,
)


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


TOKENS_FILE = ACCOUNTS.file_name

TOKEN_MIGRATIONS = (
    """
    CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        scope TEXT NOT NULL CHECK (scope IN ('read', 'deposit', 'admin')),
        digest BLOB NOT NULL CHECK (length(digest) = 32),
        created INTEGER NOT NULL,
        name TEXT NOT NULL,
        expires INTEGER,
        revoked INTEGER
    ) WITHOUT ROWID
    """,
    # Scopes keep their names and what they allow; there are two more. Tokens made before belong to no person.
    """
    CREATE TABLE newer_tokens (
        id TEXT PRIMARY KEY,
        scope TEXT NOT NULL CHECK (scope IN ('read', 'deposit', 'edit', 'admin', 'copy')),
        digest BLOB NOT NULL CHECK (length(digest) = 32),
        created INTEGER NOT NULL,
        name TEXT NOT NULL,
        expires INTEGER,
        revoked INTEGER,
        person TEXT
    ) WITHOUT ROWID;
    INSERT INTO newer_tokens (id, scope, digest, created, name, expires, revoked)
        SELECT id, scope, digest, created, name, expires, revoked FROM tokens;
    DROP TABLE tokens;
    ALTER TABLE newer_tokens RENAME TO tokens
    """,
)
_COLUMNS = "id, scope, digest, created, name, expires, revoked, person"
_FIND = f"SELECT {_COLUMNS} FROM tokens WHERE id = ?"  # noqa: S608
_LIST = f"SELECT {_COLUMNS} FROM tokens ORDER BY created, id"  # noqa: S608
_ADD = f"INSERT INTO tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"  # noqa: S608
_REVOKE = "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL"
_SCOPES = {scope.value: scope for scope in Scope}
_DECOY = ("", "read", bytes(32), 0, "", None, None, None)
"""Decoded where there is no row: the time that an answer takes does not reveal which ids there are."""


class SqliteTokens(PrivateStore):
    """The port `Tokens` on one data directory. Each change is a commit of its own, and each look a fresh one."""

    prompt = True

    def __init__(self, directory: Path) -> None:
        """`directory` is the data directory, made if it is missing."""
        super().__init__(directory, ACCOUNTS, TOKEN_MIGRATIONS)

    def add(self, token: Token) -> None:
        with self._open() as connection:
            added = connection.execute(_ADD, _row(token)).rowcount
        if not added:
            raise TokenExists(id=token.id)

    def find(self, identity: str) -> Token | None:
        with self._open() as connection:
            row = connection.execute(_FIND, (identity,)).fetchone()
        token = _token(row or _DECOY)
        return token if row else None

    def list(self) -> tuple[Token, ...]:
        with self._open() as connection:
            rows = connection.execute(_LIST).fetchall()
        return tuple(map(_token, rows))

    def revoke(self, identity: str, at: Instant) -> Token | None:
        with self._open() as connection:
            connection.execute(_REVOKE, (at.seconds, identity))
        return self.find(identity)


def _row(token: Token) -> tuple[object, ...]:
    expires, revoked = token.expires, token.revoked
    return (
        token.id,
        token.scope.value,
        token.digest,
        token.created.seconds,
        token.name,
        None if expires is None else expires.seconds,
        None if revoked is None else revoked.seconds,
        token.person,
    )


def _token(row: tuple[Any, ...]) -> Token:
    identity, scope, digest, created, name, expires, revoked, person = row
    return Token(
        identity,
        _SCOPES[scope],
        digest,
        Instant(created),
        name,
        None if expires is None else Instant(expires),
        None if revoked is None else Instant(revoked),
        person,
    )


PEOPLE_FILE = PEOPLE.file_name

# Names are ASCII (`ibi.accounts.sign_in.check_name`), so NOCASE folds all of them.
_PEOPLE_MIGRATIONS = (
    """
    CREATE TABLE people (
        name TEXT PRIMARY KEY COLLATE NOCASE,
        role TEXT NOT NULL CHECK (role IN ('reader', 'depositor', 'librarian', 'admin')),
        created INTEGER NOT NULL,
        password_hash TEXT,
        disabled INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE sessions (
        digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
        person TEXT NOT NULL COLLATE NOCASE REFERENCES people (name),
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE links (
        digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
        person TEXT NOT NULL COLLATE NOCASE REFERENCES people (name),
        expires INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
)
_ROLES = {role.value: role for role in Role}
_PERSON = "SELECT name, role, created, password_hash, disabled FROM people"
_LINK = "SELECT digest, person, expires FROM links WHERE digest = ?"


class SqlitePeople(PrivateStore):
    """The port `People` on one data directory. Each change is a commit of its own, and each look a fresh one."""

    prompt = True

    def __init__(self, directory: Path) -> None:
        """`directory` is the data directory, made if it is missing."""
        super().__init__(directory, PEOPLE, _PEOPLE_MIGRATIONS)

    def add(self, person: Person) -> None:
        with self._open() as connection:
            added = connection.execute(
                "INSERT INTO people (name, role, created, password_hash, disabled) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (person.name, person.role.value, person.created.seconds, person.password_hash, _seconds(person)),
            ).rowcount
        if not added:
            raise PersonExists(name=person.name)

    def change(self, name: str, make: Callable[[Person], Person]) -> Person:
        with self._open() as connection, transaction(connection):
            row = connection.execute(f"{_PERSON} WHERE name = ?", (name,)).fetchone()
            if row is None:
                raise UnknownPerson(name=name)
            person = make(_person(row))
            connection.execute(
                "UPDATE people SET role = ?, password_hash = ?, disabled = ? WHERE name = ?",
                (person.role.value, person.password_hash, _seconds(person), name),
            )
        return person

    def find(self, name: str) -> Person | None:
        with self._open() as connection:
            row = connection.execute(f"{_PERSON} WHERE name = ?", (name,)).fetchone()
        return None if row is None else _person(row)

    def list(self) -> tuple[Person, ...]:
        with self._open() as connection:
            return tuple(map(_person, connection.execute(f"{_PERSON} ORDER BY name").fetchall()))

    def open_session(self, session: Session) -> None:
        row = session.digest, session.person, session.created.seconds, session.expires.seconds
        with self._open() as connection:
            connection.execute("INSERT INTO sessions (digest, person, created, expires) VALUES (?, ?, ?, ?)", row)

    def find_session(self, digest: bytes) -> Session | None:
        with self._open() as connection:
            row = connection.execute(
                "SELECT digest, person, created, expires FROM sessions WHERE digest = ?", (digest,)
            ).fetchone()
        return None if row is None else Session(row[0], row[1], Instant(row[2]), Instant(row[3]))

    def end_session(self, digest: bytes) -> None:
        with self._open() as connection:
            connection.execute("DELETE FROM sessions WHERE digest = ?", (digest,))

    def end_sessions_of(self, name: str) -> None:
        with self._open() as connection, transaction(connection):
            connection.execute("DELETE FROM sessions WHERE person = ?", (name,))
            connection.execute("DELETE FROM links WHERE person = ?", (name,))

    def add_link(self, link: SignInLink) -> None:
        with self._open() as connection:
            connection.execute(
                "INSERT INTO links (digest, person, expires) VALUES (?, ?, ?)",
                (link.digest, link.person, link.expires.seconds),
            )

    def find_link(self, digest: bytes) -> SignInLink | None:
        with self._open() as connection:
            row = connection.execute(_LINK, (digest,)).fetchone()
        return None if row is None else _link(row)

    def take_link(self, digest: bytes) -> SignInLink | None:
        with self._open() as connection, transaction(connection):
            row = connection.execute(_LINK, (digest,)).fetchone()
            connection.execute("DELETE FROM links WHERE digest = ?", (digest,))
        return None if row is None else _link(row)

    def sweep(self, now: Instant) -> None:
        with self._open() as connection, transaction(connection):
            connection.execute("DELETE FROM sessions WHERE expires <= ?", (now.seconds,))
            connection.execute("DELETE FROM links WHERE expires <= ?", (now.seconds,))


def _seconds(person: Person) -> int | None:
    return None if person.disabled is None else person.disabled.seconds


def _link(row: tuple[Any, ...]) -> SignInLink:
    digest, person, expires = row
    return SignInLink(digest, person, Instant(expires))


def _person(row: tuple[Any, ...]) -> Person:
    name, role, created, password_hash, disabled = row
    return Person(name, _ROLES[role], Instant(created), password_hash, None if disabled is None else Instant(disabled))
