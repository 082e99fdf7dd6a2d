"""The ports `BlockDigests` and `Verifications` in SQLite: the file `integrity.sqlite` of a data directory.

Nothing in it is lost for good: it is made anew by reading the store. So a file that is damaged is set aside and begun
again, a disk that refuses does not keep content from being read, and a power failure may undo the last commits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from itertools import count, islice
from pathlib import Path
from threading import Lock
from time import monotonic
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from ibi.model.content import IntegritySummary, Problem, Verification, is_damage
from ibi.ports.errors import StorageError, StoreDamaged
from ibi.storage.errors import DiskRefused, StoreForked
from ibi.storage.machine import make_directory, refusals
from ibi.storage.sqlite.connection import Connection, connect, storage_errors, transaction

FILE_NAME: Final = "integrity.sqlite"

_FRESH: Final = 0.2
"""Seconds for which the damaged items are not looked up again."""
_BATCH: Final = 500
_CHECK: Final = 8
"""Bytes of the check sum of each row of digests."""
_PATIENCE: Final = 2.0
"""Seconds to wait for another process: a reader's request may be what waits."""

T = TypeVar("T")

_MIGRATIONS: Final = (
    """
    CREATE TABLE blocks (digest BLOB PRIMARY KEY, blocks BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE items (
        name TEXT PRIMARY KEY,
        verified INTEGER,
        damaged INTEGER,
        problems BLOB NOT NULL DEFAULT '[]'
    ) WITHOUT ROWID;
    CREATE INDEX items_by_age ON items (verified);
    CREATE INDEX items_damaged ON items (damaged) WHERE damaged IS NOT NULL;
    CREATE TABLE letters (sent INTEGER NOT NULL)
    """,
    # Items that a person wants verified before it is their turn.
    "CREATE TABLE wanted (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID",
)
_FIND_BLOCKS = "SELECT blocks FROM blocks WHERE digest = ?"
_KEEP_BLOCKS = "INSERT OR REPLACE INTO blocks VALUES (?, ?)"
_RECORD = """
    INSERT INTO items VALUES (:name, :at, :damaged, :problems) ON CONFLICT (name) DO UPDATE SET
        verified = excluded.verified, problems = excluded.problems,
        damaged = CASE WHEN excluded.damaged IS NULL THEN NULL ELSE coalesce(items.damaged, excluded.damaged) END
"""
_NOTE = """
    INSERT INTO items VALUES (:name, NULL, :at, :problems) ON CONFLICT (name) DO UPDATE SET
        damaged = coalesce(items.damaged, excluded.damaged), problems = excluded.problems
"""
_DAMAGED = "SELECT name, verified, damaged, problems FROM items WHERE damaged IS NOT NULL"
_NEXT = """
    SELECT name FROM items
    WHERE verified IS NULL OR verified < iif(damaged IS NULL, :before, :damaged_before)
    ORDER BY verified LIMIT 1
"""
_LATEST = """
    SELECT name, verified, damaged, problems FROM items WHERE verified IS NOT NULL
    ORDER BY verified DESC, name DESC LIMIT ?
"""
_WANT = "INSERT OR IGNORE INTO wanted VALUES (?, ?)"
_WANTED = "SELECT name, at FROM wanted ORDER BY at, name"
_GRANT = "DELETE FROM wanted WHERE name = :name"
_DUE = """
    SELECT name FROM items WHERE damaged IS NOT NULL OR verified IS NULL OR verified < :before
    ORDER BY damaged IS NULL, verified, name
"""
_FOREVER: Final = 1 << 62
_SUMMARY = """
    SELECT count(*), count(verified), count(damaged), min(verified), max(verified) FROM items
"""
_DECODER = msgspec.json.Decoder(list[tuple[str, str, str, str, str | None]])


def read_integrity(connection: Connection) -> tuple[IntegritySummary, list[Verification]]:
    """The verifications in short, and the items that are damaged, read on a connection that need not be able to
    write."""
    summary = IntegritySummary(*connection.execute(_SUMMARY).fetchone())
    return summary, [_decode_verification(name, *rest) for name, *rest in connection.execute(_DAMAGED).fetchall()]


class SqliteIntegrity:
    """See the ports. Opened when it is first used: most commands never do."""

    prompt = True

    def __init__(self, path: Path) -> None:
        self._path, self._lock, self._process = path, Lock(), os.getpid()
        self._connection: Connection | None = None
        self._is_closed = False
        self._damaged: Mapping[str, Verification] = MappingProxyType({})
        self._looked, self._version = -_FRESH, -1
        self.set_aside: str | None = None
        """The name of a damaged file that was set aside."""

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection, self._is_closed = None, True

    # --- blocks ---

    def find_blocks(self, digest: str) -> bytes | None:
        with suppress(StorageError):
            found = self._ask(lambda connection: connection.execute(_FIND_BLOCKS, (bytes.fromhex(digest),)).fetchone())
            return None if found is None else _checked_blocks(digest, bytes(found[0]))
        return None

    def keep_blocks(self, digest: str, blocks: bytes) -> None:
        row = bytes.fromhex(digest), blocks + _check_sum(digest, blocks)
        with suppress(StorageError):
            self._ask(lambda connection: connection.execute(_KEEP_BLOCKS, row))

    def forget_blocks(self, digests: Iterable[str]) -> None:
        keys = [(bytes.fromhex(digest),) for digest in digests]
        with suppress(StorageError):
            if keys:
                self._change(lambda connection: connection.executemany("DELETE FROM blocks WHERE digest = ?", keys))

    # --- verifications ---

    def record(self, name: str, problems: Sequence[Problem], at: int) -> None:
        self.record_all([(name, problems)], at)

    def record_all(self, results: Iterable[tuple[str, Sequence[Problem]]], at: int) -> None:
        rows = [_result_row(name, problems, at) for name, problems in results]

        def write(connection: Connection) -> None:
            connection.executemany(_RECORD, rows)
            connection.executemany(_GRANT, rows)

        self._change(write)

    def note_damage(self, name: str, problem: Problem, at: int) -> bool:
        known = self.damaged_items().get(name)
        if known is not None and any(_is_same(problem, each) for each in known.problems):
            return False
        problems = (*(() if known is None else known.problems), problem)
        # Known at once in this process, whatever the disk says.
        since = at if known is None or known.damaged_since is None else known.damaged_since
        noted = Verification(name, None if known is None else known.verified, since, problems)
        self._damaged = MappingProxyType({**self._damaged, name: noted})
        with suppress(StorageError):
            self._change(
                lambda connection: connection.execute(
                    _NOTE, {"name": name, "at": at, "problems": _encode_problems(problems)}
                )
            )
        return True

    def expect(self, names: Iterable[str]) -> None:
        rest = iter(names)
        while batch := [(name,) for name in islice(rest, _BATCH)]:
            self._change(partial(_expect, rows=batch))

    def forget(self, name: str) -> None:
        def write(connection: Connection) -> None:
            connection.execute("DELETE FROM items WHERE name = ?", (name,))
            connection.execute(_GRANT, {"name": name})

        self._change(write)

    def damaged_items(self) -> Mapping[str, Verification]:
        # It is asked on event loops: while another thread uses the file, what was last known stands.
        if monotonic() >= self._looked + _FRESH and not self._lock.locked():
            with suppress(StorageError):
                self._ask(self._look)
        return self._damaged

    def due(self, before: int | None = None) -> list[str]:
        limits = {"before": _FOREVER if before is None else before}
        return [str(name) for (name,) in self._ask(lambda connection: connection.execute(_DUE, limits).fetchall())]

    def next_due(self, before: int, damaged_before: int) -> str | None:
        limits = {"before": before, "damaged_before": damaged_before}
        found = self._ask(lambda connection: connection.execute(_NEXT, limits).fetchone())
        return None if found is None else str(found[0])

    def latest(self, most: int) -> tuple[Verification, ...]:
        rows = self._ask(lambda connection: connection.execute(_LATEST, (most,)).fetchall())
        return tuple(_decode_verification(name, *rest) for name, *rest in rows)

    def want(self, name: str, at: int) -> None:
        self._change(lambda connection: connection.execute(_WANT, (name, at)))

    def wanted(self) -> tuple[tuple[str, int], ...]:
        rows = self._ask(lambda connection: connection.execute(_WANTED).fetchall())
        return tuple((str(name), int(at)) for name, at in rows)

    def summary(self) -> IntegritySummary:
        items, verified, damaged, oldest, newest = self._ask(lambda connection: connection.execute(_SUMMARY).fetchone())
        return IntegritySummary(items, verified, damaged, oldest, newest)

    def last_letter(self) -> int | None:
        (sent,) = self._ask(lambda connection: connection.execute("SELECT max(sent) FROM letters").fetchone())
        return None if sent is None else int(sent)

    def note_letter(self, at: int) -> None:
        self._change(lambda connection: connection.execute("INSERT INTO letters VALUES (?)", (at,)))

    # --- the file ---

    def _look(self, connection: Connection) -> None:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            rows = connection.execute(_DAMAGED).fetchall()
            self._damaged = MappingProxyType({name: _decode_verification(name, *rest) for name, *rest in rows})
            self._version = version
        self._looked = monotonic()

    def _change(self, change: Callable[[Connection], object]) -> None:
        """What this process changes itself is looked up again: the file's version tells of other processes only."""

        def changed(connection: Connection) -> None:
            with transaction(connection):
                change(connection)
            self._version = -1
            self._look(connection)

        self._ask(changed)

    def _ask(self, ask: Callable[[Connection], T]) -> T:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        with self._lock:
            try:
                with storage_errors(self._path):
                    return ask(self._connect())
            except StoreDamaged:
                self._begin_again()
                with storage_errors(self._path):
                    return ask(self._connect())

    def _connect(self) -> Connection:
        if self._connection is None:
            if self._is_closed:
                raise DiskRefused(path=self._path, reason="it is closed")
            with refusals(DiskRefused, self._path):
                make_directory(self._path.parent)
            self._connection = connect(self._path, _MIGRATIONS, patience=_PATIENCE)
            # Without a sync for each commit: what is lost with the power is found again.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._version = -1
        return self._connection

    def _begin_again(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None
        number = next(each for each in count(1) if not Path(f"{self._path}.damaged-{each}").exists())
        with refusals(DiskRefused, self._path):
            for end in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    Path(f"{self._path}{end}").rename(f"{self._path}.damaged-{number}{end}")
        self.set_aside = f"{self._path.name}.damaged-{number}"


def _check_sum(digest: str, blocks: bytes) -> bytes:
    return sha256(bytes.fromhex(digest) + blocks).digest()[:_CHECK]


def _checked_blocks(digest: str, row: bytes) -> bytes | None:
    """Digests that are damaged themselves would make content look damaged that is right: they are not known then."""
    blocks, check_sum = row[:-_CHECK], row[-_CHECK:]
    return blocks if _check_sum(digest, blocks) == check_sum else None


def _expect(connection: Connection, rows: list[tuple[str]]) -> None:
    connection.executemany("INSERT OR IGNORE INTO items (name) VALUES (?)", rows)


def _is_same(one: Problem, other: Problem) -> bool:
    """Whether `one` adds nothing to `other`."""
    return one.path == other.path and one.digest in (None, other.digest)


def _result_row(name: str, problems: Sequence[Problem], at: int) -> dict[str, object]:
    found = [problem for problem in problems if is_damage(problem)]
    return {"name": name, "at": at, "damaged": at if found else None, "problems": _encode_problems(found)}


def _encode_problems(problems: Sequence[Problem]) -> bytes:
    return msgspec.json.encode([(each.kind, each.code, each.path, each.reason, each.digest) for each in problems])


def _decode_verification(name: str, verified: int | None, damaged: int | None, problems: Any) -> Verification:
    try:
        found = tuple(Problem(*fields) for fields in _DECODER.decode(problems))
    except msgspec.MsgspecError:
        found = ()  # that it is damaged is what counts; the next verification says how
    return Verification(name, verified, damaged, found)
