"""Requests of readers in SQLite: the file `requests.sqlite` of a data directory, for its owner alone.

It holds names and addresses: what is deleted is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from ibi.model.reader_request import ReaderInquiry, RequestKind, RequestState
from ibi.storage.sqlite.connection import REQUESTS, Connection, connect
from ibi.storage.sqlite.guarded import GuardedDatabase, OnDamage, empty_log, keep_private, open_or_begin_anew

MIGRATIONS: Final = (
    """
    CREATE TABLE requests (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        item TEXT NOT NULL,
        title TEXT NOT NULL,
        owner TEXT,
        name TEXT NOT NULL,
        mail TEXT NOT NULL,
        text TEXT NOT NULL,
        network TEXT NOT NULL,
        made INTEGER NOT NULL,
        state TEXT NOT NULL,
        answered INTEGER,
        answered_by TEXT NOT NULL,
        answer TEXT NOT NULL,
        digest BLOB UNIQUE,
        expires INTEGER,
        revoked INTEGER,
        uses INTEGER NOT NULL,
        last_use INTEGER
    );
    CREATE INDEX requests_made ON requests (made);
    CREATE INDEX requests_owner ON requests (owner, number)
    """,
    "ALTER TABLE requests ADD COLUMN language TEXT NOT NULL DEFAULT ''",
)
_NAMES: Final = tuple(each.name for each in fields(ReaderInquiry) if each.name != "number")
_COLUMNS: Final = ", ".join(_NAMES)
_REQUEST: Final = f"SELECT {_COLUMNS}, number FROM requests"  # noqa: S608 - names of ours
_INSERT: Final = f"INSERT INTO requests ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))})"  # noqa: S608
_UPDATE: Final = f"UPDATE requests SET {', '.join(f'{name} = ?' for name in _NAMES)} WHERE number = ?"  # noqa: S608
_COUNT: Final = """
    SELECT coalesce(sum(network = ? AND made > ?), 0), coalesce(sum(item = ?), 0), count(*) FROM requests WHERE made > ?
"""


class SqliteRequests(GuardedDatabase):
    """The port `RequestStore` on one data directory."""

    def __init__(self, directory: Path, on_damage: OnDamage | None = None) -> None:
        """With `on_damage`, a file that cannot be used is set aside, and another one begun. Without it, that raises an
        error."""
        path = directory / REQUESTS.file_name

        def open_file() -> Connection:
            keep_private(path)
            return connect(path, MIGRATIONS, kind=REQUESTS)

        super().__init__(path, REQUESTS, lambda: open_or_begin_anew(path, open_file, on_damage))

    def add(
        self, request: ReaderInquiry, since: tuple[int, int], check: Callable[[int, int, int], None]
    ) -> ReaderInquiry:
        of_network, of_all = since
        with self._change() as connection:
            counted = (request.network, of_network, request.item, min(of_network, of_all))
            check(*connection.execute(_COUNT, counted).fetchone())
            number = connection.execute(_INSERT, _values(request)).lastrowid
        return replace(request, number=number or 0)

    def find(self, number: int) -> ReaderInquiry | None:
        return next(iter(self._select("WHERE number = ?", number)), None)

    def find_digest(self, digest: bytes) -> ReaderInquiry | None:
        return next(iter(self._select("WHERE digest = ?", digest)), None)

    def list(self, owner: str | None, before: int | None, most: int) -> tuple[ReaderInquiry, ...]:
        last = (1 << 62) if before is None else before
        if owner is None:
            return self._select("WHERE number < ? ORDER BY number DESC LIMIT ?", last, most)
        return self._select("WHERE owner = ? AND number < ? ORDER BY number DESC LIMIT ?", owner, last, most)

    def change(self, number: int, into: Callable[[ReaderInquiry], ReaderInquiry]) -> ReaderInquiry | None:
        with self._change() as connection:
            row = connection.execute(f"{_REQUEST} WHERE number = ?", (number,)).fetchone()
            if row is None:
                return None
            request = into(_request(row))
            connection.execute(_UPDATE, (*_values(request), number))
        return request

    def forget(self, before: int) -> int:
        with self._change() as connection:
            gone = int(connection.execute("DELETE FROM requests WHERE made < ?", (before,)).rowcount)
        if gone:
            with self._open() as connection:
                empty_log(connection)
        return gone

    def _select(self, where: str, *values: object) -> tuple[ReaderInquiry, ...]:
        with self._open() as connection:
            return tuple(map(_request, connection.execute(f"{_REQUEST} {where}", values).fetchall()))


def _values(request: ReaderInquiry) -> tuple[Any, ...]:
    return tuple(getattr(request, name) for name in _NAMES)


def _request(row: tuple[Any, ...]) -> ReaderInquiry:
    found = dict(zip((*_NAMES, "number"), row, strict=True))
    return ReaderInquiry(**{**found, "kind": RequestKind(found["kind"]), "state": RequestState(found["state"])})
