"""Jobs that make Copies, in `state`: their tasks and outcomes.

The Copies themselves, and partial files, lie elsewhere. A job's token for another Archive is deleted when the job ends.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from ibi.copies.model import CopyJob, ItemOutcome, JobItem, JobState
from ibi.copies.ports import WantedCopies
from ibi.standard.label import parse
from ibi.storage.database import DatabaseSession
from ibi.storage.locks import WorkerLock
from ibi.storage.state import StateStore

_RUNNER: Final = "copies.runner"

MIGRATIONS: Final = (
    """
    CREATE TABLE copy_jobs (
        number {identity},
        id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        begun BIGINT NOT NULL,
        ended BIGINT,
        who TEXT NOT NULL,
        account TEXT,
        source TEXT,
        token TEXT,
        labels BIGINT NOT NULL
    );
    CREATE TABLE copy_job_items (
        job BIGINT NOT NULL REFERENCES copy_jobs (number),
        number BIGINT NOT NULL,
        label TEXT NOT NULL,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL,
        code TEXT NOT NULL,
        size BIGINT NOT NULL,
        PRIMARY KEY (job, number)
    );
    CREATE TABLE copy_job_counts (
        job BIGINT NOT NULL,
        outcome TEXT NOT NULL,
        items BIGINT NOT NULL,
        size BIGINT NOT NULL,
        PRIMARY KEY (job, outcome)
    )
    """,
)
_JOB = "SELECT number, id, state, begun, ended, who, account, source, labels FROM copy_jobs"
_ITEM = """
    SELECT i.number, i.label, i.outcome, i.reason, i.code, i.size
    FROM copy_job_items i JOIN copy_jobs j ON i.job = j.number WHERE j.id = ?
"""
_COUNT = """
    INSERT INTO copy_job_counts (job, outcome, items, size) VALUES (?, ?, 1, ?)
    ON CONFLICT (job, outcome) DO UPDATE
    SET items = copy_job_counts.items + 1, size = copy_job_counts.size + excluded.size
"""
_ENDED = ("done", "cancelled")


class SqliteCopyJobs(StateStore):
    """Implements the port `CopyJobs` on one data directory."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self._runner = WorkerLock(data / _RUNNER)
        self.hold = self._runner.hold

    def create(self, wanted: WantedCopies, now: int) -> CopyJob:
        job = secrets.token_hex(8)

        def write(session: DatabaseSession) -> None:
            said = (job, JobState.WAITING, now, wanted.who, wanted.account, wanted.source, wanted.token)
            number = session.execute(
                "INSERT INTO copy_jobs (id, state, begun, who, account, source, token, labels) VALUES (?,?,?,?,?,?,?,?)"
                " RETURNING number",
                (*said, len(wanted.labels)),
            ).fetchall()[0][0]
            rows = ((number, each, label.spelling) for each, label in enumerate(wanted.labels, 1))
            session.executemany(
                "INSERT INTO copy_job_items (job, number, label, outcome, reason, code, size)"
                " VALUES (?, ?, ?, 'pending', '', '', 0)",
                rows,
            )

        self._write(write)
        found = self.find(job)
        assert found is not None  # just written
        return found

    def find(self, job: str) -> CopyJob | None:
        return next(iter(self._jobs(f"{_JOB} WHERE id = ?", job)), None)

    def latest(self, most: int, before: str | None = None) -> list[CopyJob]:
        if before is None:
            return self._jobs(f"{_JOB} ORDER BY number DESC LIMIT ?", most)
        where = "WHERE number < (SELECT number FROM copy_jobs WHERE id = ?)"
        return self._jobs(f"{_JOB} {where} ORDER BY number DESC LIMIT ?", before, most)

    def items(self, job: str, after: int, most: int) -> list[JobItem]:
        return self._items("i.number > ?", job, after, most)

    def pending(self, job: str, most: int) -> list[JobItem]:
        return self._items("i.outcome = 'pending' AND i.number > ?", job, 0, most)

    def token(self, job: str) -> str | None:
        rows = self._ask("SELECT token FROM copy_jobs WHERE id = ?", job)
        return str(rows[0][0]) if rows and rows[0][0] is not None else None

    def next_job(self) -> CopyJob | None:
        return next(iter(self._jobs(f"{_JOB} WHERE state NOT IN (?, ?) ORDER BY number LIMIT 1", *_ENDED)), None)

    def record(self, job: str, outcomes: Sequence[JobItem]) -> None:
        def write(session: DatabaseSession) -> None:
            rows = session.execute("SELECT number FROM copy_jobs WHERE id = ?", (job,)).fetchall()
            if not rows:
                return
            session.execute("UPDATE copy_jobs SET state = 'running' WHERE id = ? AND state = 'waiting'", (job,))
            for each in outcomes:
                said = (each.outcome, each.reason[:2000], each.code, each.size, rows[0][0], each.number)
                changed = session.execute(
                    "UPDATE copy_job_items SET outcome = ?, reason = ?, code = ?, size = ?"
                    " WHERE job = ? AND number = ? AND outcome = 'pending'",
                    said,
                ).rowcount
                if changed:
                    session.execute(_COUNT, (rows[0][0], each.outcome, each.size))

        self._write(write)

    def end(self, job: str, now: int, *, cancelled: bool = False) -> bool:
        state = JobState.CANCELLED if cancelled else JobState.DONE

        def write(session: DatabaseSession) -> bool:
            statement = "UPDATE copy_jobs SET state = ?, ended = ?, token = NULL WHERE id = ? AND state NOT IN (?, ?)"
            return bool(session.execute(statement, (state, now, job, *_ENDED)).rowcount)

        has_token = self.token(job) is not None
        has_ended = bool(self._write(write))
        if has_token and has_ended:
            self._database.erase()
        return has_ended

    def forget(self, before: int, most: int) -> None:
        def write(session: DatabaseSession) -> None:
            old = session.execute(
                "SELECT number FROM copy_jobs WHERE state IN (?, ?) AND (ended < ? OR number NOT IN"
                " (SELECT number FROM copy_jobs ORDER BY number DESC LIMIT ?))",
                (*_ENDED, before, most),
            ).fetchall()
            for table, column in (("copy_job_items", "job"), ("copy_job_counts", "job"), ("copy_jobs", "number")):
                session.executemany(f"DELETE FROM {table} WHERE {column} = ?", old)  # noqa: S608 - names of ours

        self._write(write)

    def close(self) -> None:
        super().close()
        self._runner.release()

    def _items(self, where: str, job: str, after: int, most: int) -> list[JobItem]:
        rows = self._ask(f"{_ITEM} AND {where} ORDER BY i.number LIMIT ?", job, after, most)
        return [JobItem(row[0], parse(row[1]).spelling, ItemOutcome(row[2]), *row[3:]) for row in rows]

    def _jobs(self, statement: str, *parameters: object) -> list[CopyJob]:
        return [self._job(row) for row in self._ask(statement, *parameters)]

    def _job(self, row: tuple[Any, ...]) -> CopyJob:
        number, job, state, begun, ended, who, account, source, labels = row
        counted = {
            outcome: (items, size)
            for outcome, items, size in self._ask(
                "SELECT outcome, items, size FROM copy_job_counts WHERE job = ?", number
            )
        }
        told = {
            name: counted.get(name, (0, 0))[0] for name in ("copied", "refreshed", "unchanged", "deleted", "refused")
        }
        size = sum(each for _, each in counted.values())
        return CopyJob(job, JobState(state), begun, who, labels, source, ended, **told, size=size, account=account)

    def _ask(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._database.read() as session:
            return session.execute(statement, parameters).fetchall()

    def _write(self, change: Callable[[DatabaseSession], Any]) -> Any:
        with self._database.change() as session:
            return change(session)
