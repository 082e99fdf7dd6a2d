"""The tables of `ticks.sqlite`, and the values of their rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ibi.minting.model import BatchShare, Gap, Span, TickState
from ibi.minting.ports import KEY_LIFETIME
from ibi.minting.store.mint_log_file import BEGINNING, Position
from ibi.standard.clock_reading import Reading
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.storage.connection import Connection

MIGRATIONS = (
    # store: one row. `revision` grows with every change, so that a process can tell whether its cache is still valid.
    # clock: one row for each identity that ever minted here.
    # served: the part of a log line that answered a request with a key. Rows are in the order of time.
    """
    CREATE TABLE store (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        instance TEXT NOT NULL,
        machine TEXT NOT NULL,
        path TEXT NOT NULL,
        identity TEXT REFERENCES clock (key),
        revision INTEGER NOT NULL,
        log_number INTEGER NOT NULL,
        log_size INTEGER NOT NULL,
        log_last INTEGER NOT NULL,
        log_head TEXT NOT NULL
    );
    CREATE TABLE clock (
        key TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        ip TEXT,
        host_port INTEGER NOT NULL,
        ip_port INTEGER NOT NULL,
        sandbox INTEGER NOT NULL,
        last TEXT,
        ahead TEXT NOT NULL,
        wall TEXT,
        uptime INTEGER,
        boot TEXT,
        accepted TEXT
    ) WITHOUT ROWID;
    CREATE TABLE served (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        at INTEGER NOT NULL,
        number INTEGER NOT NULL,
        line INTEGER NOT NULL,
        length INTEGER NOT NULL,
        start INTEGER NOT NULL,
        count INTEGER NOT NULL
    );
    """,
    # given_out, home: see `ibi.minting.store.tick_store`. `given_number` is the log line up to which `given_out` is
    # complete. A process of an older version moves only `log_number`, which shows on the next opening.
    """
    CREATE TABLE given_out (
        first INTEGER PRIMARY KEY,
        last INTEGER NOT NULL
    );
    CREATE TABLE home (
        prefix TEXT PRIMARY KEY,
        since INTEGER NOT NULL,
        until INTEGER
    ) WITHOUT ROWID;
    ALTER TABLE store ADD COLUMN given_number INTEGER
    """,
    # store: `epoch` is drawn anew whenever it is uncertain that this directory alone continues its past. `in_doubt` is
    # set until the installation's own address was asked. `log_seen` is the size and times of the log file when it was
    # whole.
    """
    ALTER TABLE store ADD COLUMN epoch TEXT NOT NULL DEFAULT '';
    ALTER TABLE store ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE store ADD COLUMN log_seen TEXT NOT NULL DEFAULT '';
    ALTER TABLE clock ADD COLUMN gap INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE clock ADD COLUMN resumed TEXT;
    """,
)

_COLUMNS = "key, host, ip, host_port, ip_port, sandbox, last, ahead, wall, uptime, boot, accepted, gap, resumed"
_CLOCKS = f"SELECT {_COLUMNS} FROM clock"  # noqa: S608  (nothing from outside)
_CLOCK = f"{_CLOCKS} WHERE key = ?"
_FROZEN = f"{_CLOCKS} WHERE key = (SELECT identity FROM store)"  # noqa: S608
_PURGED_AT_LEAST = 16


class Store(NamedTuple):
    """The row of the store itself."""

    instance: str
    machine: str
    path: str
    identity: str | None = None
    """The key of the frozen identity."""
    revision: int = 0
    log: Position = BEGINNING
    epoch: str = ""
    """Identifies the continuous use of this directory. No other directory has the same, unless it is a copy."""
    in_doubt: bool = False
    """True while the installation's address still has to be asked whether another instance answers there."""
    log_seen: str = ""
    """Size and times of the log file when it was last known to be whole (`MintLogFile.seen`)."""

    @property
    def place(self) -> tuple[object, ...]:
        """The fields that hardly ever change: the owner of the store, and its location."""
        return *self[:4], self.epoch, self.in_doubt

    @property
    def version(self) -> tuple[int, str]:
        """A value that differs after every change, even if a backup was restored in between."""
        return self.revision, self.log.head


class Served(NamedTuple):
    """The log line that served a key, its location, and the part of its batch."""

    number: int
    line: int
    length: int
    start: int
    count: int  # type: ignore[assignment]  # hides `tuple.count`, which has no use here


class TickRows:
    """Reads and writes rows; the caller handles the transaction."""

    def __init__(self, connection: Connection) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany

    def version(self) -> tuple[int, str] | None:
        """Return `Store.version`; None before the store exists."""
        row: tuple[int, str] | None = self._execute("SELECT revision, log_head FROM store").fetchone()
        return row

    def store(self) -> Store:
        row = self._execute(
            "SELECT instance, machine, path, identity, revision, log_number, log_size, log_last, log_head, epoch,"
            " in_doubt, log_seen FROM store"
        ).fetchone()
        instance, machine, path, identity, revision = row[:5]
        epoch, in_doubt, seen = row[9:]
        return Store(instance, machine, path, identity, revision, Position(*row[5:9]), epoch, bool(in_doubt), seen)

    def save_store(self, store: Store) -> None:
        self._execute(
            "REPLACE INTO store (id, instance, machine, path, identity, revision, log_number, log_size, log_last,"
            " log_head, epoch, in_doubt, log_seen, given_number) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
            " (SELECT CASE given_number WHEN log_number THEN ? ELSE given_number END FROM store))",
            (*store[:5], *store.log, *store[6:], store.log.number),
        )

    def save_progress(self, store: Store) -> None:
        """Update the fields that change with every commit, in an existing row."""
        self._execute(
            "UPDATE store SET revision = ?, log_number = ?, log_size = ?, log_last = ?, log_head = ?, log_seen = ?,"
            " given_number = CASE given_number WHEN log_number THEN ? ELSE given_number END",
            (store.revision, *store.log, store.log_seen, store.log.number),
        )

    def identity(self) -> Identity | None:
        row = self._execute(_FROZEN).fetchone()
        return row and _identity(row)

    def clock(self, key: str) -> TickState:
        return _state(self._execute(_CLOCK, (key,)).fetchone())

    def clocks(self) -> dict[str, TickState]:
        return {row[0]: _state(row) for row in self._execute(_CLOCKS)}

    def save_identity(self, identity: Identity) -> None:
        """Save an identity. An existing clock stays; the spelling of the host and the sandbox mark are updated."""
        parts = (identity.host, identity.ip, identity.host_port, identity.ip_port, identity.sandbox)
        self._execute(
            "INSERT INTO clock (key, host, ip, host_port, ip_port, sandbox, ahead) VALUES (?, ?, ?, ?, ?, ?, '[]')"
            " ON CONFLICT DO UPDATE SET host = excluded.host, ip = excluded.ip, sandbox = excluded.sandbox",
            (identity.key, *parts),
        )

    def save_clock(self, key: str, state: TickState) -> None:
        reading = state.reading
        self._execute(
            "UPDATE clock SET last = ?, ahead = ?, wall = ?, uptime = ?, boot = ?, accepted = ?, gap = ?, resumed = ?"
            " WHERE key = ?",
            (
                _text(state.last),
                json.dumps([(str(span.first), str(span.last)) for span in state.ahead]) if state.ahead else "[]",
                _text(reading.wall) if reading else None,
                reading.uptime if reading else None,
                reading.boot if reading else None,
                _text(state.accepted),
                int(state.gap),
                _text(state.resumed),
                key,
            ),
        )

    def find_served(self, who: str, key: str) -> Served | None:
        row = self._execute(
            "SELECT number, line, length, start, count FROM served WHERE digest = ?", (_digest(who, key),)
        ).fetchone()
        return row and Served(*row)

    def save_served(self, keys: Sequence[tuple[str, BatchShare]], log: Position, at: int) -> None:
        """Save the shares of the last log line, and delete some expired ones."""
        if not keys:
            return
        place = (at, log.number, log.last, log.size - log.last - 1)
        rows = [(_digest(share.who, key), *place, share.start, share.count) for key, share in keys]
        self._execute_many("REPLACE INTO served VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._execute(
            "DELETE FROM served WHERE id <= (SELECT max(id) FROM (SELECT id, at FROM served ORDER BY id LIMIT ?)"
            " WHERE at < ?)",
            (max(_PURGED_AT_LEAST, 2 * len(rows)), at - KEY_LIFETIME),
        )

    def restamp_served(self, at: int) -> None:
        """Renew the time of every key after the clock was corrected, so that each is kept for its whole lifetime."""
        self._execute("UPDATE served SET at = ?", (at,))


def _digest(who: str, key: str) -> bytes:
    """Return a digest of any two texts that a client may send, even invalid Unicode."""
    name = who.encode("utf-8", "surrogatepass")
    return sha256(b"%d %b %b" % (len(name), name, key.encode("utf-8", "surrogatepass"))).digest()[:16]


def _identity(row: tuple[Any, ...]) -> Identity:
    host, ip, host_port, ip_port, sandbox = row[1:6]
    return Identity(host, ip, host_port, ip_port, sandbox=bool(sandbox))


def _state(row: tuple[Any, ...]) -> TickState:
    last, ahead, wall, uptime, boot, accepted, gap, resumed = row[6:]
    return TickState(
        _instant(last),
        tuple(Span(Instant.parse(first), Instant.parse(final)) for first, final in json.loads(ahead)),
        None if wall is None else Reading(Instant.parse(wall), uptime, boot),
        _instant(accepted),
        Gap(gap),
        _instant(resumed),
    )


def _text(instant: Instant | None) -> str | None:
    return None if instant is None else str(instant)


def _instant(text: str | None) -> Instant | None:
    return None if text is None else Instant.parse(text)
