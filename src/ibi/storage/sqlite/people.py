"""People in SQLite: the file `people.sqlite` of a data directory, readable by its owner alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ibi.accounts.errors import PersonExists, UnknownPerson
from ibi.instant import Instant
from ibi.model.account import Person, Role, Session, SignInLink
from ibi.storage.sqlite.connection import PEOPLE, transaction
from ibi.storage.sqlite.private_store import PrivateStore

FILE_NAME = PEOPLE.file_name

# Names are ASCII (`ibi.accounts.sign_in.check_name`), so NOCASE folds all of them.
_MIGRATIONS = (
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

    def __init__(self, directory: Path) -> None:
        """`directory` is the data directory, made if it is missing."""
        super().__init__(directory, PEOPLE, _MIGRATIONS)

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
