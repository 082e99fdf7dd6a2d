"""Usage counts in SQLite: the file `usage.sqlite` of a data directory.

Each count is taken in memory. Once a second, a thread that exists only while there is something to write adds the
counts to the file: a thousand downloads of an item cost one row and one commit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeAlias, TypeVar

from ibi.standard.label import RepositoryName
from ibi.standard.storage_errors import StorageError, StoreDamaged
from ibi.storage.columns import label_key, repository_name
from ibi.storage.connection import (
    USAGE,
    Connection,
    DatabaseError,
    connect,
    refuse_lost,
    set_aside,
    storage_errors,
    transaction,
)
from ibi.storage.directory_record import note_begun
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked
from ibi.storage.machine import make_directory, refusals
from ibi.usage.model import ReferrerClass, Usage, UsageDay, UsageKind, UsageOrigin, month_of

_NONE = Usage()
_Counted: TypeAlias = tuple[UsageDay, ReferrerClass]


class MemoryUsageLog:
    """Implements the port `UsageLog` in memory."""

    def __init__(self) -> None:
        self._counts: dict[_Counted, Usage] = {}
        self._lock = Lock()

    def count(self, day: UsageDay, kind: UsageKind, referrer: ReferrerClass = ReferrerClass.UNKNOWN) -> None:
        self.add((day, referrer), Usage.one(kind))

    def add(self, counted: _Counted, usage: Usage) -> None:
        with self._lock:
            self._counts[counted] = self._counts.get(counted, _NONE) + usage

    def days(
        self, rep: RepositoryName, first: int | None = None, last: int | None = None
    ) -> tuple[tuple[UsageDay, Usage], ...]:
        found = [(day, usage) for day, usage in self.counts(first, last).items() if day.rep == rep]
        return tuple(sorted(found, key=lambda entry: entry[0].day))

    def totals(self, first: int | None = None, last: int | None = None) -> Iterator[tuple[RepositoryName, Usage]]:
        return iter(sorted(sum_by_item(self.counts(first, last)).items()))

    def counts(self, first: int | None = None, last: int | None = None) -> dict[UsageDay, Usage]:
        """Return the counts of a period."""
        with self._lock:
            counts = list(self._counts.items())
        found: dict[UsageDay, Usage] = {}
        for (day, _), usage in counts:
            if (first is None or first <= day.day) and (last is None or day.day <= last):
                found[day] = found.get(day, _NONE) + usage
        return found

    def origins(self, first: int, last: int) -> tuple[tuple[UsageOrigin, Usage], ...]:
        with self._lock:
            counts = dict(self._counts)
        return tuple(sorted((each, usage) for each, usage in _by_origin(counts) if first <= each.month <= last))

    def walk(self, first: int, last: int) -> Iterator[tuple[UsageDay, Usage]]:
        return iter(sorted(self.counts(first, last).items(), key=lambda entry: (entry[0].rep, entry[0].day)))

    def most_used(self, month: int, most: int) -> tuple[tuple[RepositoryName, Usage], ...]:
        counts = {day: usage for day, usage in self.counts().items() if month_of(day.day) == month}
        return tuple(sorted(sum_by_item(counts).items(), key=_popularity)[:most])

    def take(self) -> dict[_Counted, Usage]:
        """Remove and return all counts."""
        with self._lock:
            taken, self._counts = self._counts, {}
            return taken

    def watch(self, on_count: Callable[[], object]) -> None:
        """Do nothing: there is nothing to write."""

    def flush(self) -> None:
        """Do nothing: there is no disk."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def sum_by_item(counts: Mapping[UsageDay, Usage]) -> dict[RepositoryName, Usage]:
    sums: dict[RepositoryName, Usage] = {}
    for day, usage in counts.items():
        sums[day.rep] = sums.get(day.rep, _NONE) + usage
    return sums


def _by_origin(counts: Mapping[_Counted, Usage]) -> Iterable[tuple[UsageOrigin, Usage]]:
    sums: dict[UsageOrigin, Usage] = {}
    for (day, referrer), usage in counts.items():
        origin = UsageOrigin(month_of(day.day), day.rep.prefix, referrer)
        sums[origin] = sums.get(origin, _NONE) + usage
    return sums.items()


def _popularity(used: tuple[RepositoryName, Usage]) -> tuple[int, RepositoryName]:
    return -used[1].downloads - used[1].resolutions, used[0]


FILE_NAME: Final = USAGE.file_name

_EVER: Final = (-(1 << 62), 1 << 62)

T = TypeVar("T")

OnDamage = Callable[[StorageError, Path | None], None]
"""Called with the damage and the new name of the file that was set aside; None if there was no file."""

_MIGRATIONS: Final = (
    """
    CREATE TABLE usage (
        rep BLOB NOT NULL,
        day INTEGER NOT NULL,
        resolutions INTEGER NOT NULL,
        downloads INTEGER NOT NULL,
        robot_resolutions INTEGER NOT NULL,
        robot_downloads INTEGER NOT NULL,
        PRIMARY KEY (rep, day)
    ) WITHOUT ROWID
    """,
    # Sums by month, so that a report costs the same for ten items and a million. There are sums of each item, and of
    # all items by the Archive of their labels and by the readers' origin. A month is the number of months since the
    # year 0. The key of an item ends with a zero and the prefix of its label (`label_key`).
    """
    CREATE TABLE item_months (
        month INTEGER NOT NULL,
        rep BLOB NOT NULL,
        resolutions INTEGER NOT NULL,
        downloads INTEGER NOT NULL,
        robot_resolutions INTEGER NOT NULL,
        robot_downloads INTEGER NOT NULL,
        PRIMARY KEY (month, rep)
    ) WITHOUT ROWID;
    CREATE INDEX most_used ON item_months (month, resolutions + downloads);
    CREATE TABLE origin_months (
        month INTEGER NOT NULL,
        archive TEXT NOT NULL,
        referrer TEXT NOT NULL,
        resolutions INTEGER NOT NULL,
        downloads INTEGER NOT NULL,
        robot_resolutions INTEGER NOT NULL,
        robot_downloads INTEGER NOT NULL,
        PRIMARY KEY (month, archive, referrer)
    ) WITHOUT ROWID;
    INSERT INTO item_months
        SELECT strftime('%Y', day * 86400, 'unixepoch') * 12 + strftime('%m', day * 86400, 'unixepoch') - 1 AS month,
            rep, sum(resolutions), sum(downloads), sum(robot_resolutions), sum(robot_downloads)
        FROM usage GROUP BY month, rep;
    INSERT INTO origin_months
        SELECT month, CAST(substr(rep, 6 + instr(substr(rep, 6), x'00')) AS TEXT) AS archive, 'unknown',
            sum(resolutions), sum(downloads), sum(robot_resolutions), sum(robot_downloads)
        FROM item_months GROUP BY month, archive
    """,
)
_ADD = """
    INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (rep, day) DO UPDATE SET
        resolutions = resolutions + excluded.resolutions, downloads = downloads + excluded.downloads,
        robot_resolutions = robot_resolutions + excluded.robot_resolutions,
        robot_downloads = robot_downloads + excluded.robot_downloads
"""
_ADD_MONTH = """
    INSERT INTO item_months VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (month, rep) DO UPDATE SET
        resolutions = resolutions + excluded.resolutions, downloads = downloads + excluded.downloads,
        robot_resolutions = robot_resolutions + excluded.robot_resolutions,
        robot_downloads = robot_downloads + excluded.robot_downloads
"""
_ADD_ORIGIN = """
    INSERT INTO origin_months VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (month, archive, referrer) DO UPDATE SET
        resolutions = resolutions + excluded.resolutions, downloads = downloads + excluded.downloads,
        robot_resolutions = robot_resolutions + excluded.robot_resolutions,
        robot_downloads = robot_downloads + excluded.robot_downloads
"""
_ORIGINS = "SELECT * FROM origin_months WHERE month BETWEEN ? AND ?"
_MOST_USED = """
    SELECT rep, resolutions, downloads, robot_resolutions, robot_downloads FROM item_months
    WHERE month = ? AND resolutions + downloads > 0 ORDER BY resolutions + downloads DESC LIMIT ?
"""
_WALK = """
    SELECT rep, day, resolutions, downloads, robot_resolutions, robot_downloads FROM usage
    WHERE (rep, day) > (?, ?) AND day BETWEEN ? AND ? ORDER BY rep, day LIMIT 2000
"""
_DAYS = """
    SELECT rep, day, resolutions, downloads, robot_resolutions, robot_downloads FROM usage
    WHERE rep = ? AND day BETWEEN ? AND ?
"""
_TOTALS = """
    SELECT rep, sum(resolutions), sum(downloads), sum(robot_resolutions), sum(robot_downloads) FROM usage
    WHERE day BETWEEN ? AND ? GROUP BY rep
"""


def _ignore() -> None:
    """Do nothing: counts are written on demand."""


class SqliteUsageLog:
    """Implements the port `UsageLog` on one file."""

    def __init__(self, path: Path, *, on_damage: OnDamage | None = None) -> None:
        """Open or begin the counts in the file `path`.

        With `on_damage`, a damaged file is set aside and counts begin anew, now or when the damage is noticed, because
        counts are no reason to stop the server. Without it, damage raises an error.
        """
        self._path = path
        self._process = os.getpid()
        self._pending = MemoryUsageLog()
        self._writing = Lock()
        self._on_count: Callable[[], object] = _ignore
        self._is_told = False
        """True if the watcher already knows of unwritten counts."""
        self._on_damage = on_damage
        with refusals(DiskRefused, path):
            make_directory(path.parent)
        self._connection: Connection | None = self._begin()

    def count(self, day: UsageDay, kind: UsageKind, referrer: ReferrerClass = ReferrerClass.UNKNOWN) -> None:
        self._open()
        self._pending.count(day, kind, referrer)
        if not self._is_told:
            self._is_told = True
            self._on_count()

    def watch(self, on_count: Callable[[], object]) -> None:
        self._on_count = on_count

    def days(
        self, rep: RepositoryName, first: int | None = None, last: int | None = None
    ) -> tuple[tuple[UsageDay, Usage], ...]:
        with self._writing:
            rows = self._ask(_DAYS, label_key(rep), *_period(first, last))
            found = {UsageDay(rep, row[1]): Usage(*row[2:]) for row in rows}
            _add(found, dict(self._pending.days(rep, first, last)))
        return tuple(sorted(found.items(), key=lambda entry: entry[0].day))

    def totals(self, first: int | None = None, last: int | None = None) -> Iterator[tuple[RepositoryName, Usage]]:
        with self._writing:
            rows = self._ask(_TOTALS, *_period(first, last))
            found = {repository_name(row[0]): Usage(*row[1:]) for row in rows}
            _add(found, sum_by_item(self._pending.counts(first, last)))
        return iter(sorted(found.items()))

    def origins(self, first: int, last: int) -> tuple[tuple[UsageOrigin, Usage], ...]:
        with self._writing:
            rows = self._ask(_ORIGINS, first, last)
            found = {UsageOrigin(row[0], row[1], _class_named(row[2])): Usage(*row[3:]) for row in rows}
            _add(found, dict(self._pending.origins(first, last)))
        return tuple(sorted(found.items(), key=lambda entry: entry[0]))

    def walk(self, first: int, last: int) -> Iterator[tuple[UsageDay, Usage]]:
        self.flush()
        place: tuple[bytes, int] = (b"", 0)
        while rows := self._walk(place, first, last):
            yield from ((UsageDay(repository_name(row[0]), row[1]), Usage(*row[2:])) for row in rows)
            place = rows[-1][0], rows[-1][1]

    def _walk(self, place: tuple[bytes, int], first: int, last: int) -> list[tuple[Any, ...]]:
        with self._writing:
            return self._ask(_WALK, *place, first, last)

    def most_used(self, month: int, most: int) -> tuple[tuple[RepositoryName, Usage], ...]:
        with self._writing:
            pending = dict(self._pending.most_used(month, 1 << 62))
            # Unwritten counts may have moved an item up, so that many more rows are read.
            rows = self._ask(_MOST_USED, month, most + len(pending))
            found = {repository_name(row[0]): Usage(*row[1:]) for row in rows}
            _add(found, pending)
        return tuple(sorted(found.items(), key=_popularity)[:most])

    def flush(self) -> None:
        self._is_told = False  # first, so that a later count is announced again
        with self._writing:
            self._flush(self._open())

    def close(self) -> None:
        if self._connection is None or self._process != os.getpid():
            return
        try:
            self.flush()
        finally:
            with self._writing:
                connection, self._connection = self._connection, None
                if connection is not None:
                    connection.close()

    def _begin(self) -> Connection:
        try:
            if self._on_damage is not None:
                refuse_lost(self._path, USAGE)
            connection = connect(self._path, _MIGRATIONS, kind=USAGE)
        except StorageError as error:
            if self._on_damage is None:
                raise
            self._on_damage(error, set_aside(self._path))
            connection = connect(self._path, _MIGRATIONS, kind=USAGE)
        try:
            note_begun(self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _open(self) -> Connection:
        if self._process != os.getpid():
            raise StoreForked(path=self._path)
        if self._connection is None:
            raise StoreClosed(path=self._path)
        return self._connection

    def _ask(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        connection = self._open()
        with storage_errors(self._path, USAGE.damaged):
            return connection.execute(statement, parameters).fetchall()

    def _flush(self, connection: Connection) -> None:
        """Write the pending counts. Readers wait meanwhile: a count is either still pending or in the file."""
        taken = self._pending.take()
        if not taken:
            return
        try:
            with storage_errors(self._path, USAGE.damaged), transaction(connection):
                _write(connection, taken)
        except BaseException as error:
            for counted, usage in taken.items():
                self._pending.add(counted, usage)
            if isinstance(error, StoreDamaged) and self._on_damage is not None:
                self._flush(self._begin_anew(connection, error, self._on_damage))
                return
            raise

    def _begin_anew(self, damaged: Connection, error: StoreDamaged, on_damage: OnDamage) -> Connection:
        """Set a damaged file aside while this process runs, and begin another."""
        aside = set_aside(self._path)
        self._connection = connection = connect(self._path, _MIGRATIONS, kind=USAGE)
        with suppress(DatabaseError):
            damaged.close()  # SQLite notices that its file was moved, and leaves the log of the new one alone
        on_damage(error, aside)
        return connection


def _period(first: int | None, last: int | None) -> tuple[int, int]:
    return _EVER[0] if first is None else first, _EVER[1] if last is None else last


def _write(connection: Connection, taken: Mapping[_Counted, Usage]) -> None:
    days: dict[tuple[bytes, int], Usage] = {}
    months: dict[tuple[int, bytes], Usage] = {}
    for (day, _), usage in taken.items():
        key = label_key(day.rep)
        _add(days, {(key, day.day): usage})
        _add(months, {(month_of(day.day), key): usage})
    connection.executemany(_ADD, ((*key, *_numbers(usage)) for key, usage in days.items()))
    connection.executemany(_ADD_MONTH, ((*key, *_numbers(usage)) for key, usage in months.items()))
    origins = ((each.month, each.archive, each.referrer.value, *_numbers(usage)) for each, usage in _by_origin(taken))
    connection.executemany(_ADD_ORIGIN, origins)


def _numbers(usage: Usage) -> tuple[int, int, int, int]:
    return usage.resolutions, usage.downloads, usage.robot_resolutions, usage.robot_downloads


def _class_named(text: str) -> ReferrerClass:
    """Return the referrer class of that name. A class of a later version counts as any other site."""
    return ReferrerClass(text) if text in _CLASSES else ReferrerClass.WEB


_CLASSES: Final = frozenset(each.value for each in ReferrerClass)


def _add(found: dict[T, Usage], others: Mapping[T, Usage]) -> None:
    for key, usage in others.items():
        found[key] = found.get(key, Usage()) + usage
