"""Requests of readers in `state`. They hold names and addresses, so deleted data are overwritten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Final

from ibi.requests.model import ReaderInquiry, RequestKind, RequestState
from ibi.storage.state import StateStore

MIGRATIONS: Final = (
    """
    CREATE TABLE reader_requests (
        number {identity},
        kind TEXT NOT NULL,
        item TEXT NOT NULL,
        title TEXT NOT NULL,
        owner TEXT,
        name TEXT NOT NULL,
        mail TEXT NOT NULL,
        text TEXT NOT NULL,
        network TEXT NOT NULL,
        made BIGINT NOT NULL,
        state TEXT NOT NULL,
        answered BIGINT,
        answered_by TEXT NOT NULL,
        answer TEXT NOT NULL,
        digest {bytes} UNIQUE,
        expires BIGINT,
        revoked BIGINT,
        uses INTEGER NOT NULL,
        last_use BIGINT,
        language TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX reader_requests_made ON reader_requests (made);
    CREATE INDEX reader_requests_owner ON reader_requests (owner, number)
    """,
)
_NAMES: Final = tuple(each.name for each in fields(ReaderInquiry) if each.name != "number")
_COLUMNS: Final = ", ".join(_NAMES)
_REQUEST: Final = f"SELECT {_COLUMNS}, number FROM reader_requests"  # noqa: S608 - names of ours
_INSERT: Final = f"INSERT INTO reader_requests ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))}) RETURNING number"  # noqa: S608
_UPDATE: Final = f"UPDATE reader_requests SET {', '.join(f'{name} = ?' for name in _NAMES)} WHERE number = ?"  # noqa: S608
_COUNT: Final = """
    SELECT count(*) FILTER (WHERE network = ? AND made > ?), count(*) FILTER (WHERE item = ?), count(*)
    FROM reader_requests WHERE made > ?
"""


class SqliteRequests(StateStore):
    """Implements the port `RequestStore` on one data directory."""

    def add(
        self, request: ReaderInquiry, since: tuple[int, int], check: Callable[[int, int, int], None]
    ) -> ReaderInquiry:
        of_network, of_all = since
        with self._database.change() as connection:
            counted = (request.network, of_network, request.item, min(of_network, of_all))
            check(*connection.execute(_COUNT, counted).fetchone())
            (number,) = connection.execute(_INSERT, _values(request)).fetchone()
        return replace(request, number=number)

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
        with self._database.change() as connection:
            row = connection.execute(f"{_REQUEST} WHERE number = ?", (number,)).fetchone()
            if row is None:
                return None
            request = into(_request(row))
            connection.execute(_UPDATE, (*_values(request), number))
        return request

    def forget(self, before: int) -> int:
        with self._database.change() as connection:
            gone = int(connection.execute("DELETE FROM reader_requests WHERE made < ?", (before,)).rowcount)
        if gone:
            self._database.erase()
        return gone

    def _select(self, where: str, *values: object) -> tuple[ReaderInquiry, ...]:
        with self._database.read() as connection:
            return tuple(map(_request, connection.execute(f"{_REQUEST} {where}", values).fetchall()))


def _values(request: ReaderInquiry) -> tuple[Any, ...]:
    return tuple(getattr(request, name) for name in _NAMES)


def _request(row: tuple[Any, ...]) -> ReaderInquiry:
    found = dict(zip((*_NAMES, "number"), row, strict=True))
    return ReaderInquiry(**{**found, "kind": RequestKind(found["kind"]), "state": RequestState(found["state"])})
