"""API tokens in `state`, as hashes of secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ibi.people.model.account import Scope, Token
from ibi.people.rules.errors import TokenExists
from ibi.standard.instant import Instant
from ibi.storage.database import DatabaseSession
from ibi.storage.state import StateStore

MIGRATIONS: Final = (
    """
    CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        scope TEXT NOT NULL CHECK (scope IN ('read', 'deposit', 'edit', 'admin', 'copy')),
        digest {bytes} NOT NULL CHECK (length(digest) = 32),
        created BIGINT NOT NULL,
        name TEXT NOT NULL,
        expires BIGINT,
        revoked BIGINT,
        person TEXT
    );
    CREATE INDEX tokens_person ON tokens (person)
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
"""A row that is decoded when none is found, so that the response time does not reveal the existing ids."""


class SqliteTokens(StateStore):
    """Implements the port `Tokens` on one data directory. Each change is a commit of its own, and each read is
    fresh."""

    prompt = True

    def add(self, token: Token, check: Callable[[tuple[Token, ...]], None] | None = None) -> None:
        with self._database.change(lasting=True) as session:
            if check is not None:
                check(_list_of(session, token.person))
            added = session.execute(_ADD, _row(token)).rowcount
        if not added:
            raise TokenExists(id=token.id)

    def find(self, identity: str) -> Token | None:
        with self._database.read() as session:
            row = session.execute(_FIND, (identity,)).fetchone()
        token = _token(row or _DECOY)
        return token if row else None

    def list(self) -> tuple[Token, ...]:
        with self._database.read() as session:
            rows = session.execute(_LIST).fetchall()
        return tuple(map(_token, rows))

    def list_of(self, person: str) -> tuple[Token, ...]:
        with self._database.read() as session:
            return _list_of(session, person)

    def revoke(self, identity: str, at: Instant) -> Token | None:
        with self._database.change(lasting=True) as session:
            session.execute(_REVOKE, (at.seconds, identity))
        return self.find(identity)


def _list_of(session: DatabaseSession, person: str | None) -> tuple[Token, ...]:
    return tuple(map(_token, session.execute(_LIST_OF, (person,)).fetchall()))


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
