"""Jobs that make Copies, in SQLite: the file `copies.sqlite` of a data directory, for its owner alone.

It holds what is to be done and what became of it; the Copies themselves, and what has come of files, lie elsewhere. The
token that a job shows to another Archive is kept while the job is not at its end.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Final

from ibi.label import parse
from ibi.model.copies import CopyJob, ItemOutcome, JobItem, JobState
from ibi.ports.copies import WantedCopies
from ibi.ports.errors import StorageError
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import WorkerLock
from ibi.storage.machine import make_directory, refusals
from ibi.storage.sqlite.connection import (
    COPY_JOBS,
    Connection,
    connect,
    set_aside,
    storage_errors,
    transaction,
)
from ibi.storage.sqlite.guarded import empty_log, keep_private

FILE_NAME: Final = COPY_JOBS.file_name
_RUNNER: Final = "copies.runner"

_MIGRATIONS: Final = (
    """
    CREATE TABLE jobs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        begun INTEGER NOT NULL,
        ended INTEGER,
        who TEXT NOT NULL,
        account TEXT,
        source TEXT,
        token TEXT,
        labels INTEGER NOT NULL
    );
    CREATE TABLE job_items (
        job INTEGER NOT NULL REFERENCES jobs (number),
        number INTEGER NOT NULL,
        label TEXT NOT NULL,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL,
        code TEXT NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (job, number)
    ) WITHOUT ROWID;
    CREATE TABLE job_counts (
        job INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        items INTEGER NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (job, outcome)
    ) WITHOUT ROWID
    """,
)
_JOB = "SELECT number, id, state, begun, ended, who, account, source, labels FROM jobs"
_ITEM = """
    SELECT i.number, i.label, i.outcome, i.reason, i.code, i.size FROM job_items i JOIN jobs j ON i.job = j.number
    WHERE j.id = ?
"""
_COUNT = """
    INSERT INTO job_counts VALUES (?, ?, 1, ?)
    ON CONFLICT (job, outcome) DO UPDATE SET items = items + 1, size = size + excluded.size
"""
_ENDED = ("done", "cancelled")

OnJobsDamaged = Callable[[StorageError, Path | None], None]


class SqliteCopyJobs:
    """The port `CopyJobs` on one file."""

    def __init__(self, data: Path, on_damage: OnJobsDamaged | None = None) -> None:
        """With `on_damage`, a file that cannot be used is set aside: Copies are there without it."""
        self._path, self._lock = data / FILE_NAME, RLock()
        self._runner = WorkerLock(data / _RUNNER)
        self.hold = self._runner.hold
        with refusals(DiskRefused, self._path):
            make_directory(data)
        try:
            self._connection = self._connect()
        except StorageError as error:
            if on_damage is None:
                raise
            on_damage(error, set_aside(self._path))
            self._connection = self._connect()

    def _connect(self) -> Connection:
        keep_private(self._path)  # it may hold a token
        return connect(self._path, _MIGRATIONS, kind=COPY_JOBS)

    def create(self, wanted: WantedCopies, now: int) -> CopyJob:
        job = secrets.token_hex(8)

        def write(connection: Connection) -> None:
            said = (job, JobState.WAITING, now, wanted.who, wanted.account, wanted.source, wanted.token)
            number = connection.execute(
                "INSERT INTO jobs (id, state, begun, who, account, source, token, labels) VALUES (?,?,?,?,?,?,?,?)"
                " RETURNING number",
                (*said, len(wanted.labels)),
            ).fetchall()[0][0]
            rows = ((number, each, label.spelling) for each, label in enumerate(wanted.labels, 1))
            connection.executemany("INSERT INTO job_items VALUES (?, ?, ?, 'pending', '', '', 0)", rows)

        self._write(write)
        found = self.find(job)
        assert found is not None  # it was just written
        return found

    def find(self, job: str) -> CopyJob | None:
        return next(iter(self._jobs(f"{_JOB} WHERE id = ?", job)), None)

    def latest(self, most: int, before: str | None = None) -> list[CopyJob]:
        if before is None:
            return self._jobs(f"{_JOB} ORDER BY number DESC LIMIT ?", most)
        where = "WHERE number < (SELECT number FROM jobs WHERE id = ?)"
        return self._jobs(f"{_JOB} {where} ORDER BY number DESC LIMIT ?", before, most)

    def items(self, job: str, after: int, most: int) -> list[JobItem]:
        return self._items("i.number > ?", job, after, most)

    def pending(self, job: str, most: int) -> list[JobItem]:
        return self._items("i.outcome = 'pending' AND i.number > ?", job, 0, most)

    def token(self, job: str) -> str | None:
        rows = self._ask("SELECT token FROM jobs WHERE id = ?", job)
        return str(rows[0][0]) if rows and rows[0][0] is not None else None

    def next_job(self) -> CopyJob | None:
        return next(iter(self._jobs(f"{_JOB} WHERE state NOT IN (?, ?) ORDER BY number LIMIT 1", *_ENDED)), None)

    def record(self, job: str, outcomes: Sequence[JobItem]) -> None:
        def write(connection: Connection) -> None:
            rows = connection.execute("SELECT number FROM jobs WHERE id = ?", (job,)).fetchall()
            if not rows:
                return
            connection.execute("UPDATE jobs SET state = 'running' WHERE id = ? AND state = 'waiting'", (job,))
            for each in outcomes:
                said = (each.outcome, each.reason[:2000], each.code, each.size, rows[0][0], each.number)
                changed = connection.execute(
                    "UPDATE job_items SET outcome = ?, reason = ?, code = ?, size = ?"
                    " WHERE job = ? AND number = ? AND outcome = 'pending'",
                    said,
                ).rowcount
                if changed:
                    connection.execute(_COUNT, (rows[0][0], each.outcome, each.size))

        self._write(write)

    def end(self, job: str, now: int, *, cancelled: bool = False) -> bool:
        state = JobState.CANCELLED if cancelled else JobState.DONE

        def write(connection: Connection) -> bool:
            statement = "UPDATE jobs SET state = ?, ended = ?, token = NULL WHERE id = ? AND state NOT IN (?, ?)"
            return bool(connection.execute(statement, (state, now, job, *_ENDED)).rowcount)

        has_token = self.token(job) is not None
        has_ended = bool(self._write(write))
        if has_token and has_ended:
            with self._lock:
                empty_log(self._connection)
        return has_ended

    def forget(self, before: int, most: int) -> None:
        def write(connection: Connection) -> None:
            old = connection.execute(
                "SELECT number FROM jobs WHERE state IN (?, ?) AND (ended < ? OR number NOT IN"
                " (SELECT number FROM jobs ORDER BY number DESC LIMIT ?))",
                (*_ENDED, before, most),
            ).fetchall()
            for table, column in (("job_items", "job"), ("job_counts", "job"), ("jobs", "number")):
                connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", old)  # noqa: S608 - names of ours

        self._write(write)

    def close(self) -> None:
        with self._lock:
            self._connection.close()
            self._runner.release()

    def _items(self, where: str, job: str, after: int, most: int) -> list[JobItem]:
        rows = self._ask(f"{_ITEM} AND {where} ORDER BY i.number LIMIT ?", job, after, most)
        return [JobItem(row[0], parse(row[1]).spelling, ItemOutcome(row[2]), *row[3:]) for row in rows]

    def _jobs(self, statement: str, *parameters: object) -> list[CopyJob]:
        with self._lock:
            rows = self._ask(statement, *parameters)
            return [self._job(row) for row in rows]

    def _job(self, row: tuple[Any, ...]) -> CopyJob:
        number, job, state, begun, ended, who, account, source, labels = row
        counted = {
            outcome: (items, size)
            for outcome, items, size in self._ask("SELECT outcome, items, size FROM job_counts WHERE job = ?", number)
        }
        told = {
            name: counted.get(name, (0, 0))[0] for name in ("copied", "refreshed", "unchanged", "deleted", "refused")
        }
        size = sum(each for _, each in counted.values())
        return CopyJob(job, JobState(state), begun, who, labels, source, ended, **told, size=size, account=account)

    def _ask(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._lock, storage_errors(self._path, COPY_JOBS.damaged):
            return self._connection.execute(statement, parameters).fetchall()

    def _write(self, change: Callable[[Connection], Any]) -> Any:
        with self._lock, storage_errors(self._path, COPY_JOBS.damaged), transaction(self._connection):
            return change(self._connection)
