"""Tokens in SQLite: a database that holds hashes of secrets, and that only its owner may read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ibi.accounts.errors import TokenExists
from ibi.instant import Instant
from ibi.model.account import Scope, Token
from ibi.storage.sqlite.connection import ACCOUNTS, Connection
from ibi.storage.sqlite.guarded import PrivateStore

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
_LIST_OF = f"SELECT {_COLUMNS} FROM tokens WHERE person = ? ORDER BY created, id"  # noqa: S608
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

    def add(self, token: Token, check: Callable[[tuple[Token, ...]], None] | None = None) -> None:
        with self._change() as connection:
            if check is not None:
                check(_list_of(connection, token.person))
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

    def list_of(self, person: str) -> tuple[Token, ...]:
        with self._open() as connection:
            return _list_of(connection, person)

    def revoke(self, identity: str, at: Instant) -> Token | None:
        with self._open() as connection:
            connection.execute(_REVOKE, (at.seconds, identity))
        return self.find(identity)


def _list_of(connection: Connection, person: str | None) -> tuple[Token, ...]:
    return tuple(map(_token, connection.execute(_LIST_OF, (person,)).fetchall()))


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
