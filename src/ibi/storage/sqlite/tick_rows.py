"""The tables of `ticks.sqlite`, and the values that their rows are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ibi.instant import Instant
from ibi.model.minting import BatchShare, Gap, Identity, Reading, Span, TickState
from ibi.ports.clocks import KEY_LIFETIME
from ibi.storage.mint_log_file import BEGINNING, Position
from ibi.storage.sqlite.connection import Connection

MIGRATIONS = (
    # store: one row. `revision` grows with every change, so that a process knows whether what it remembers still holds.
    # clock: one row for each identity that ever minted here.
    # served: which part of which line of the log answered a request with a key. Its rows are in the order of time.
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
    # given_out, home: see `given_out`. `given_number` is the line of the log up to which `given_out` is complete. A
    # process of an older version moves `log_number` alone, which shows when the store is opened next.
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
    # store: `epoch` is drawn anew whenever it is not certain that this directory alone goes on from its past, and
    # `in_doubt` until its own address was asked. `log_seen` is what the file of the log looked like when it was whole.
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
    """The key of the frozen one."""
    revision: int = 0
    log: Position = BEGINNING
    epoch: str = ""
    """Which continuous use of the directory this is: no other directory has the same, unless it was copied with it."""
    in_doubt: bool = False
    """Whether the own address is yet to be asked whether another instance answers there."""
    log_seen: str = ""
    """What the file of the log looked like when it was last known to be whole (`MintLogFile.seen`)."""

    @property
    def place(self) -> tuple[object, ...]:
        """What hardly ever changes: whose store this is, and where."""
        return *self[:4], self.epoch, self.in_doubt

    @property
    def version(self) -> tuple[int, str]:
        """Another after every change, even if a backup was put back in between."""
        return self.revision, self.log.head


class Served(NamedTuple):
    """The line of the log that served a key, where it is, and which part of its batch it was."""

    number: int
    line: int
    length: int
    start: int
    count: int  # type: ignore[assignment]  # hides `tuple.count`, which has no use here


class TickRows:
    """Reads and writes rows; the caller is in charge of the transaction."""

    def __init__(self, connection: Connection) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany

    def version(self) -> tuple[int, str] | None:
        """What `Store.version` is; None of a store that is not made yet."""
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
        """What changes with every commit, and nothing else: of a row that is there."""
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
        """Its clock stays as it is, if there is one; a spelling of the host or a mark of the sandbox is renewed."""
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
        """Remember the shares of the last line of the log, and forget as many old ones as are due."""
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
        """After the clock was set right: every key is kept for its whole time from now on."""
        self._execute("UPDATE served SET at = ?", (at,))


def _digest(who: str, key: str) -> bytes:
    """Of any two texts that a client may send, however long or odd."""
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
