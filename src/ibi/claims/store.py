"""Claims between Archives in `state`.

Each row is a document, with columns beside it for searches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from ibi.claims.model import SIGNED, OutgoingNotification, ReceivedClaim, SentClaim
from ibi.storage.database import Database, upsert
from ibi.storage.locks import WorkerLock
from ibi.storage.state import StateStore

_LOCK: Final = "notifications.lock"

Row = TypeVar("Row", ReceivedClaim, SentClaim, OutgoingNotification)


def _define_table(name: str) -> str:
    return f"""
    CREATE TABLE {name} (number {{identity}}, id TEXT NOT NULL UNIQUE, about TEXT NOT NULL,
        state TEXT NOT NULL, network TEXT NOT NULL, due BIGINT, at BIGINT NOT NULL, document {{bytes}} NOT NULL);
    CREATE INDEX {name}_about ON {name} (about, number);
    CREATE INDEX {name}_state ON {name} (state, number);
    CREATE INDEX {name}_due ON {name} (due) WHERE due IS NOT NULL
    """


_RECEIVED: Final = "received_claims"
_SENT: Final = "sent_claims"
_OUTGOING: Final = "outgoing_notifications"
MIGRATIONS: Final = (
    ";\n".join(
        (
            _define_table(_RECEIVED),
            _define_table(_SENT),
            _define_table(_OUTGOING),
            "CREATE TABLE notification_position"
            " (one INTEGER PRIMARY KEY CHECK (one = 1), epoch TEXT NOT NULL, number BIGINT)",
        )
    ),
)
_STANDING: Final = ("pending", "accepted", "declined")
_KEPT: Final = {_RECEIVED: _STANDING, _SENT: _STANDING, _OUTGOING: ("queued",)}
"""States of rows that are never deleted, by table."""


_NOTE_POSITION: Final = upsert("notification_position", "one, epoch, number", "one")


class SqliteNotifications(StateStore):
    """Implements the port `Notifications` on one data directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._worker = WorkerLock(directory / _LOCK)
        self.hold = self._worker.hold
        self.received = _Rows(self._database, _RECEIVED, ReceivedClaim, _received_columns)
        self.sent = _Rows(self._database, _SENT, SentClaim, _sent_columns)
        self.outgoing = _Rows(self._database, _OUTGOING, OutgoingNotification, _outgoing_columns)

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._database.change():
            yield

    def waiting(self, network: str) -> tuple[int, int]:
        count = """SELECT count(*) FILTER (WHERE network NOT LIKE ?), count(*) FILTER (WHERE network = ?)
            FROM received_claims WHERE state = 'pending'"""
        with self._database.read() as connection:
            in_all, of_one = connection.execute(count, (f"{SIGNED}%", network)).fetchone()
        return int(in_all), int(of_one)

    def pending(self, network: str | None = None) -> tuple[ReceivedClaim, ...]:
        if network is None:
            return self.received.select("state = 'pending' AND network NOT LIKE ? ORDER BY number", (f"{SIGNED}%",))
        return self.received.select("state = 'pending' AND network = ? ORDER BY number", (network,))

    def forget(self, before: int) -> int:
        gone = 0
        with self._database.change() as connection:
            for table, states in _KEPT.items():
                kept = ", ".join("?" * len(states))
                statement = f"DELETE FROM {table} WHERE at < ? AND due IS NULL AND state NOT IN ({kept})"  # noqa: S608
                gone += connection.execute(statement, (before, *states)).rowcount
        return gone

    def position(self) -> tuple[str, int]:
        with self._database.read() as connection:
            row = connection.execute("SELECT epoch, number FROM notification_position").fetchone()
        return ("", 0) if row is None else (str(row[0]), int(row[1]))

    def note_position(self, epoch: str, number: int) -> None:
        with self._database.change() as connection:
            connection.execute(_NOTE_POSITION, (1, epoch, number))

    def close(self) -> None:
        super().close()
        self._worker.release()


Columns = tuple[str, str, str, str, int | None, int]
"""Id (a URI), name of the item here, state, network, due time, and time of the last change."""


def _received_columns(row: ReceivedClaim) -> Columns:
    return row.id, row.item, row.state, row.network, row.due, row.changed or row.received


def _sent_columns(row: SentClaim) -> Columns:
    return row.id, row.claimant, row.state, "", row.due, row.changed or row.made


def _outgoing_columns(row: OutgoingNotification) -> Columns:
    return row.id, "", row.state, "", row.due, row.made


class _Rows(Generic[Row]):
    """Implements the port `Rows` on one table."""

    def __init__(self, database: Database, table: str, kind: type[Row], columns: Callable[[Row], Columns]) -> None:
        self._database, self._table = database, table
        self._columns: Callable[[Row], Columns] = columns
        self._decoder: msgspec.json.Decoder[Row] = msgspec.json.Decoder(kind)

    def add(self, row: Row) -> Row:
        values = *self._columns(row), msgspec.json.encode(row)
        columns = "id, about, state, network, due, at, document"
        statement = f"INSERT INTO {self._table} ({columns}) VALUES (?,?,?,?,?,?,?) RETURNING number"  # noqa: S608
        with self._database.change() as connection:
            (number,) = connection.execute(statement, values).fetchone()
        return replace(row, number=number)

    def find(self, number: int) -> Row | None:
        return next(iter(self.select("number = ?", (number,))), None)

    def find_id(self, identifier: str) -> Row | None:
        return next(iter(self.select("id = ?", (identifier,))), None)

    def about(self, name: str) -> tuple[Row, ...]:
        return self.select("about = ? ORDER BY number", (name,))

    def list(self, states: Collection[str], after: int = 0, most: int = 1000) -> tuple[Row, ...]:
        marks = ", ".join("?" * len(states))
        where = f"state IN ({marks}) AND number > ? ORDER BY number LIMIT ?"
        return self.select(where, (*map(str, states), after, most))

    def due(self, now: int, most: int) -> tuple[Row, ...]:
        return self.select("due <= ? ORDER BY due, number LIMIT ?", (now, most))

    def change(self, number: int, into: Callable[[Row], Row]) -> Row | None:
        with self._database.change() as connection:
            before = self.find(number)
            if before is None:
                return None
            row: Row = into(before)
            if row != before:
                values = *self._columns(row), msgspec.json.encode(row), number
                columns = "id = ?, about = ?, state = ?, network = ?, due = ?, at = ?, document = ?"
                connection.execute(f"UPDATE {self._table} SET {columns} WHERE number = ?", values)  # noqa: S608
            return row

    def remove(self, number: int) -> None:
        with self._database.change() as connection:
            connection.execute(f"DELETE FROM {self._table} WHERE number = ?", (number,))  # noqa: S608

    def select(self, where: str, values: tuple[Any, ...]) -> tuple[Row, ...]:
        with self._database.read() as connection:
            found = connection.execute(f"SELECT number, document FROM {self._table} WHERE {where}", values).fetchall()  # noqa: S608
        return tuple(replace(self._decoder.decode(document), number=number) for number, document in found)
