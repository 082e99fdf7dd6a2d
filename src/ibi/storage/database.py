"""The SQL of the `state` stores, which both SQLite and PostgreSQL run.

Statements have `?` for parameters, and use `ON CONFLICT`, `RETURNING` and `IS NOT DISTINCT FROM`, which both engines
support. In table definitions, words of `Dialect` stand in braces where the engines differ. Booleans are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, Protocol


class StatementResult(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """Number of rows that the statement changed."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class DatabaseSession(Protocol):
    """A connection, for one thread at a time."""

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> StatementResult: ...

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> object: ...


class Database(Protocol):
    """A database that several stores share. Calls may come from any thread of the process that opened it."""

    def read(self) -> AbstractContextManager[DatabaseSession]:
        """Open a read-only session. Inside a change of the same thread, it sees that change."""

    def change(self, *, lasting: bool = False) -> AbstractContextManager[DatabaseSession]:
        """Open a transaction, which is durable when it ends. A nested change of the same thread joins it.

        A `lasting` change also survives the loss of the database's log. It costs more: use it for rare changes that
        matter, such as the revocation of a token.
        """

    def erase(self) -> None:
        """Overwrite deleted data in the log as well, unless a reader is in the way."""

    def check(self) -> None:
        """Raise an error if the database is not the sound one that was opened."""

    def close(self) -> None:
        """Release the database. Other stores of the process may go on with it."""


class Dialect(NamedTuple):
    """The words of an engine in table definitions."""

    name: str
    identity: str
    """A column that numbers rows in ascending order and never reuses a number."""
    bytes: str


SQLITE: Final = Dialect("sqlite", "INTEGER PRIMARY KEY AUTOINCREMENT", "BLOB")
POSTGRESQL: Final = Dialect("postgresql", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA")

Migration = str | Callable[[DatabaseSession, Dialect], None]
"""SQL statements, each ending with `;` at the end of a line, with the words of `Dialect` in braces; or a Python
function. Neither begins a transaction of its own."""


def run_migration(session: DatabaseSession, migration: Migration, dialect: Dialect) -> None:
    """Run the statements of one migration."""
    if not isinstance(migration, str):
        migration(session, dialect)
        return
    words = {"{identity}": dialect.identity, "{bytes}": dialect.bytes}
    for word, meaning in words.items():
        migration = migration.replace(word, meaning)
    for statement in migration.split(";\n"):
        if statement.strip():
            session.execute(statement)


def upsert(table: str, columns: str, key: str) -> str:
    """Return the statement that inserts a row, or replaces the one with the same `key`."""
    names, keys = columns.split(", "), key.split(", ")
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
    marks = ", ".join("?" * len(names))
    act = f"UPDATE SET {changes}" if changes else "NOTHING"
    return f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT ({key}) DO {act}"  # noqa: S608 - our names


CHANGE_NUMBERS: Final = "CREATE TABLE change_numbers (name TEXT PRIMARY KEY, number BIGINT NOT NULL)"


def note_change(session: DatabaseSession, name: str) -> None:
    """Raise the change number of that name, so that other processes notice that they have to read again."""
    session.execute(
        "INSERT INTO change_numbers (name, number) VALUES (?, 1)"
        " ON CONFLICT (name) DO UPDATE SET number = change_numbers.number + 1",
        (name,),
    )


def read_change_number(session: DatabaseSession, name: str) -> int:
    """Return how often that name was noted; 0 if never."""
    row = session.execute("SELECT number FROM change_numbers WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(row[0])
