"""The port `CopyJobs`, on its one adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.copies.model import ItemOutcome, JobItem, JobState
from ibi.copies.ports import CopyJobs, WantedCopies
from ibi.copies.store.copy_jobs import SqliteCopyJobs
from ibi.standard.label import parse
from ibi.storage.connection import STATE
from ibi.storage.errors import StateDamaged

LABELS = tuple(parse(f"lab.br/arq/2009/07.21.14.{minute}") for minute in range(10, 14))
WANTED = WantedCopies(LABELS, "http://archive.example.org", "secret", "ana", "person:ana")


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[SqliteCopyJobs]:
    found = SqliteCopyJobs(tmp_path)
    yield found
    found.close()


def test_a_job_is_told_from_its_beginning_to_its_end(jobs: CopyJobs) -> None:
    job = jobs.create(WANTED, 1000)
    assert (job.state, job.labels, job.settled, job.source) == (JobState.WAITING, 4, 0, WANTED.source)
    assert jobs.token(job.id) == "secret"
    first, second = jobs.pending(job.id, 2)
    copied = first._replace(outcome=ItemOutcome.COPIED, size=10)
    refused = second._replace(outcome=ItemOutcome.REFUSED, reason="because", code="not-wanted")
    jobs.record(job.id, [copied, refused])
    jobs.record(job.id, [copied])  # a second time counts nothing
    now = jobs.find(job.id)
    assert now is not None
    assert (now.state, now.copied, now.refused, now.size, now.settled) == (JobState.RUNNING, 1, 1, 10, 2)
    assert jobs.items(job.id, 0, 10)[:2] == [copied, refused]
    assert [item.number for item in jobs.pending(job.id, 10)] == [3, 4]
    assert jobs.items(job.id, 3, 10) == [JobItem(4, str(LABELS[3]))]
    assert jobs.end(job.id, 2000)
    assert not jobs.end(job.id, 3000, cancelled=True)
    ended = jobs.find(job.id)
    assert ended is not None
    assert (ended.state, ended.ended) == (JobState.DONE, 2000)
    assert jobs.token(job.id) is None


def test_the_oldest_job_is_next_and_the_newest_is_listed_first(jobs: CopyJobs) -> None:
    first, second = jobs.create(WANTED, 1), jobs.create(WANTED, 2)
    assert jobs.next_job() == first
    assert jobs.latest(10) == [second, first]
    assert jobs.latest(10, second.id) == [first]
    jobs.end(first.id, 3, cancelled=True)
    assert jobs.next_job() == second
    jobs.end(second.id, 4)
    assert jobs.next_job() is None


def test_jobs_that_ended_long_ago_are_forgotten(jobs: CopyJobs) -> None:
    made = [jobs.create(WANTED, number) for number in range(4)]
    for number, job in enumerate(made[:3]):
        jobs.end(job.id, 10 * number)
    jobs.forget(before=5, most=2)
    assert [job.id for job in jobs.latest(10)] == [made[3].id, made[2].id]
    assert jobs.items(made[0].id, 0, 10) == []


def test_what_was_written_is_there_for_the_next_process(tmp_path: Path) -> None:
    first = SqliteCopyJobs(tmp_path)
    job = first.create(WANTED, 1)
    assert first.hold()
    other = SqliteCopyJobs(tmp_path)
    assert other.find(job.id) == job
    assert not other.hold()
    first.close()
    assert other.hold()
    other.close()
    assert (tmp_path / STATE.file_name).stat().st_mode & 0o077 == 0


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / STATE.file_name).write_bytes(b"no database" * 1000)
    with pytest.raises(StateDamaged, match="state-copies"):
        SqliteCopyJobs(tmp_path)
