"""The ports `BlockDigests` and `Verifications` in SQLite: tables in the catalogue's file.

All of it can be derived again by reading the store. So a disk error does not keep content from being read, and a power
failure may undo the last commits.

Block digests are stored while deposits and readers wait, so this must not block. If another process is writing, the
next writer here stores them too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from threading import Lock
from time import monotonic
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from ibi.items.model.content import IntegritySummary, Problem, Verification, is_damage
from ibi.items.store.catalogue.part import CHECKPOINT, MOST_BYTES, MOST_ROWS, connect_part
from ibi.standard.storage_errors import CatalogDamaged, StorageError
from ibi.storage.connection import Connection, checkpoint, storage_errors, transaction
from ibi.storage.errors import DiskRefused, StoreForked
from ibi.storage.group_commit import writer_queue
from ibi.storage.machine import make_directory, refusals

_FRESH: Final = 0.2
"""Seconds for which the damaged items are cached."""
_MOST_WAITING: Final = 8 << 20
"""Maximum bytes of digests that wait to be written; the oldest beyond that are dropped."""
_CHECK: Final = 8
"""Bytes of the checksum of each row of digests."""
_PATIENCE: Final = 2.0
"""Seconds to wait for another process; a reader's request may be waiting."""

T = TypeVar("T")

BEGIN_INTEGRITY: Final = """
    CREATE TABLE block_digests (digest BLOB PRIMARY KEY, blocks BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE verified_items (
        name TEXT PRIMARY KEY,
        verified INTEGER,
        damaged INTEGER,
        problems BLOB NOT NULL DEFAULT '[]'
    ) WITHOUT ROWID;
    CREATE INDEX verified_items_by_age ON verified_items (verified);
    CREATE INDEX verified_items_damaged ON verified_items (damaged) WHERE damaged IS NOT NULL;
    CREATE TABLE damage_version (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL);
    INSERT INTO damage_version VALUES (1, 0);
    CREATE TABLE damage_letters (sent INTEGER PRIMARY KEY);
    CREATE TABLE wanted_verifications (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID
"""
_FIND_BLOCKS = "SELECT blocks FROM block_digests WHERE digest = ?"
_KEEP_BLOCKS = "INSERT OR REPLACE INTO block_digests VALUES (?, ?)"
_FORGET_BLOCKS = "DELETE FROM block_digests WHERE digest = ?"
_EXPECT = "INSERT OR IGNORE INTO verified_items (name) VALUES (?)"
_COUNT_DAMAGE = "UPDATE damage_version SET number = number + 1"
_RECORD = """
    INSERT INTO verified_items VALUES (:name, :at, :damaged, :problems) ON CONFLICT (name) DO UPDATE SET
        verified = excluded.verified, problems = excluded.problems,
        damaged = iif(excluded.damaged IS NULL, NULL, coalesce(verified_items.damaged, excluded.damaged))
"""
_NOTE = """
    INSERT INTO verified_items VALUES (:name, NULL, :at, :problems) ON CONFLICT (name) DO UPDATE SET
        damaged = coalesce(verified_items.damaged, excluded.damaged), problems = excluded.problems
"""
_DAMAGED = "SELECT name, verified, damaged, problems FROM verified_items WHERE damaged IS NOT NULL"
_NEXT = """
    SELECT name FROM verified_items
    WHERE verified IS NULL OR verified < iif(damaged IS NULL, :before, :damaged_before)
    ORDER BY verified LIMIT 1
"""
_LATEST = """
    SELECT name, verified, damaged, problems FROM verified_items WHERE verified IS NOT NULL
    ORDER BY verified DESC, name DESC LIMIT ?
"""
_WANT = "INSERT OR IGNORE INTO wanted_verifications VALUES (?, ?)"
_WANTED = "SELECT name, at FROM wanted_verifications ORDER BY at, name"
_GRANT = "DELETE FROM wanted_verifications WHERE name = :name"
_DUE = """
    SELECT name FROM verified_items WHERE damaged IS NOT NULL OR verified IS NULL OR verified < :before
    ORDER BY damaged IS NULL, verified, name
"""
_FOREVER: Final = 1 << 62
_SUMMARY = """
    SELECT count(*), count(verified), count(damaged), min(verified), max(verified) FROM verified_items
"""
_DECODER = msgspec.json.Decoder(list[tuple[str, str, str, str, str | None]])


def read_integrity(connection: Connection) -> tuple[IntegritySummary, list[Verification]]:
    """Return the summary of verifications, and the damaged items. A read-only connection is enough."""
    summary = IntegritySummary(*connection.execute(_SUMMARY).fetchone())
    return summary, [_decode_verification(name, *rest) for name, *rest in connection.execute(_DAMAGED).fetchall()]


class SqliteIntegrity:
    """Implements the ports. The database is opened on first use, because most commands never need it."""

    prompt = True

    def __init__(self, path: Path) -> None:
        """`path` is that of the catalogue, which is created on first use if it is missing."""
        self._path, self._lock, self._process = path, Lock(), os.getpid()
        self._queue, self._written = writer_queue(path), 0
        self._connection: Connection | None = None
        self._is_closed = False
        self._waiting: dict[bytes, bytes] = {}
        """Block digests that are not written yet."""
        self._damaged: Mapping[str, Verification] = MappingProxyType({})
        self._looked, self._version, self._number = -_FRESH, -1, -1

    def close(self) -> None:
        if self._process == os.getpid() and self._waiting and not self._is_closed:
            with suppress(StorageError):
                self._write_blocks()
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection, self._is_closed = None, True

    def find_blocks(self, digest: str) -> bytes | None:
        key = bytes.fromhex(digest)
        with suppress(StorageError):
            row = self._waiting.get(key)
            if row is None:
                found = self._ask(lambda connection: connection.execute(_FIND_BLOCKS, (key,)).fetchone())
                row = None if found is None else bytes(found[0])
            return None if row is None else _checked_blocks(digest, row)
        return None

    def keep_blocks(self, digest: str, blocks: bytes) -> None:
        with self._lock:
            self._waiting[bytes.fromhex(digest)] = blocks + _check_sum(digest, blocks)
            while sum(map(len, self._waiting.values())) > _MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]
        with suppress(StorageError):
            self._write_blocks(waits=False)

    def forget_blocks(self, digests: Iterable[str]) -> None:
        keys = [(bytes.fromhex(digest),) for digest in digests]
        with self._lock:
            for (key,) in keys:
                self._waiting.pop(key, None)
        with suppress(StorageError):
            for rows in _groups(keys):
                self._change(partial(_write_all, statement=_FORGET_BLOCKS, rows=rows))

    def _write_blocks(self, *, waits: bool = True) -> None:
        """Write the waiting digests, some per transaction. Without `waits`, leave them while another writes."""
        while self._waiting:
            with self._lock:
                rows = _first_rows(self._waiting)
            if not self._change(partial(_write_all, statement=_KEEP_BLOCKS, rows=rows), waits=waits):
                return
            with self._lock:
                for key, row in rows:
                    if self._waiting.get(key) is row:
                        del self._waiting[key]

    def record(self, name: str, problems: Sequence[Problem], at: int) -> None:
        self.record_all([(name, problems)], at)

    def record_all(self, results: Iterable[tuple[str, Sequence[Problem]]], at: int) -> None:
        rows = [_result_row(name, problems, at) for name, problems in results]

        for group in _groups(rows):
            self._change(partial(_record, rows=group))
        self._write_blocks()

    def note_damage(self, name: str, problem: Problem, at: int) -> bool:
        known = self.damaged_items().get(name)
        if known is not None and any(_is_same(problem, each) for each in known.problems):
            return False
        problems = (*(() if known is None else known.problems), problem)
        # Known at once in this process, even if the disk fails.
        since = at if known is None or known.damaged_since is None else known.damaged_since
        noted = Verification(name, None if known is None else known.verified, since, problems)
        self._damaged = MappingProxyType({**self._damaged, name: noted})
        with suppress(StorageError):
            self._change(partial(_note, row={"name": name, "at": at, "problems": _encode_problems(problems)}))
        return True

    def expect(self, names: Iterable[str]) -> None:
        for rows in _groups((name,) for name in names):
            self._change(partial(_write_all, statement=_EXPECT, rows=rows))

    def forget(self, name: str) -> None:
        self._change(partial(_forget, row={"name": name}))

    def damaged_items(self) -> Mapping[str, Verification]:
        # This runs on event loops: while another thread uses the file, the last known value is returned.
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
        (sent,) = self._ask(lambda connection: connection.execute("SELECT max(sent) FROM damage_letters").fetchone())
        return None if sent is None else int(sent)

    def note_letter(self, at: int) -> None:
        self._change(lambda connection: connection.execute("INSERT OR IGNORE INTO damage_letters VALUES (?)", (at,)))

    def _look(self, connection: Connection) -> None:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:  # the version of the file, which others write as well
            ((number,),) = connection.execute("SELECT number FROM damage_version").fetchall()
            if number != self._number:
                rows = connection.execute(_DAMAGED).fetchall()
                self._damaged = MappingProxyType({name: _decode_verification(name, *rest) for name, *rest in rows})
            self._version, self._number = version, number
        self._looked = monotonic()

    def _change(self, change: Callable[[Connection], object], *, waits: bool = True) -> bool:
        """Run one short transaction. Return false without a change if it would have to wait for another writer.

        The cache is then reloaded, because the file's version only shows changes by other processes.
        """

        def changed(connection: Connection) -> None:
            with transaction(connection):
                change(connection)
            self._version = -1
            self._look(connection)

        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        self._ask(lambda _: None)  # opened before others wait for it
        if not self._queue.take(waits=waits):
            return False
        try:
            self._ask(changed)
        finally:
            self._queue.give_back()
        self._written += 1
        if self._written % CHECKPOINT == 0:
            self._ask(checkpoint)
        return True

    def _ask(self, ask: Callable[[Connection], T]) -> T:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        with self._lock, storage_errors(self._path, CatalogDamaged):
            return ask(self._connect())

    def _connect(self) -> Connection:
        if self._connection is None:
            if self._is_closed:
                raise DiskRefused(path=self._path, reason="it is closed")
            with refusals(DiskRefused, self._path):
                make_directory(self._path.parent)
            self._connection = connect_part(self._path, _PATIENCE)
        return self._connection


def _groups(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield the rows in groups of one transaction each."""
    rest = iter(rows)
    while group := list(islice(rest, MOST_ROWS)):
        yield group


def _first_rows(waiting: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Return the first rows for one transaction: at least one, and no more than its limit."""
    rows: list[tuple[bytes, bytes]] = []
    size = 0
    for key, row in waiting.items():
        size += len(row)
        if rows and (size > MOST_BYTES or len(rows) == MOST_ROWS):
            break
        rows.append((key, row))
    return rows


def _write_all(connection: Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    connection.executemany(statement, rows)


def _record(connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
    connection.executemany(_RECORD, rows)
    connection.executemany(_GRANT, rows)
    connection.execute(_COUNT_DAMAGE)


def _note(connection: Connection, row: Mapping[str, object]) -> None:
    connection.execute(_NOTE, row)
    connection.execute(_COUNT_DAMAGE)


def _forget(connection: Connection, row: Mapping[str, object]) -> None:
    connection.execute("DELETE FROM verified_items WHERE name = :name", row)
    connection.execute(_GRANT, row)
    connection.execute(_COUNT_DAMAGE)


def _check_sum(digest: str, blocks: bytes) -> bytes:
    return sha256(bytes.fromhex(digest) + blocks).digest()[:_CHECK]


def _checked_blocks(digest: str, row: bytes) -> bytes | None:
    """Return the block digests if their checksum is right. Damaged digests would make sound content look damaged."""
    blocks, check_sum = row[:-_CHECK], row[-_CHECK:]
    return blocks if _check_sum(digest, blocks) == check_sum else None


def _is_same(one: Problem, other: Problem) -> bool:
    """Return whether `one` adds nothing to `other`."""
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
        found = ()  # it is known to be damaged; the next verification gives the details
    return Verification(name, verified, damaged, found)
