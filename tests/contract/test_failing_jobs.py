"""Which background jobs fail, as processes of one data directory tell each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ibi.jobs.failing_job import FailingJob
from ibi.jobs.failing_jobs_file import FILE, FailingJobsFile
from ibi.jobs.ports import FailureBoard
from ibi.standard.storage_errors import StorageError


def failing(name: str, failures: int = 1) -> FailingJob:
    return FailingJob(name, 1, 2, failures, f"OSError: {name}\n\u00e9\0")


@pytest.fixture
def board(tmp_path: Path) -> FailureBoard:
    return FailingJobsFile(tmp_path)


def test_a_directory_in_which_nothing_fails_gets_no_file(board: FailureBoard, tmp_path: Path) -> None:
    assert board.all() == ()
    board.remove("texts")
    assert not (tmp_path / FILE).exists()


def test_a_job_is_told_until_it_works_again(board: FailureBoard, tmp_path: Path) -> None:
    board.put(failing("texts"))
    board.put(failing("dump"))
    board.put(failing("texts", 2))
    assert FailingJobsFile(tmp_path).all() == (failing("dump"), failing("texts", 2))
    board.remove("texts")
    assert board.all() == (failing("dump"),)
    board.remove("dump")
    assert not (tmp_path / FILE).exists()


def test_several_writers_lose_nothing(tmp_path: Path) -> None:
    boards = [FailingJobsFile(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: boards[number % 4].put(failing(f"job {number:02}")), range(20)))
    assert [each.name for each in boards[0].all()] == [f"job {number:02}" for number in range(20)]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'[["texts", "x", 1, 1, ""]]', b"\xff\x00"])
def test_a_file_that_cannot_be_understood_is_written_anew(board: FailureBoard, tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert board.all() == ()
    board.put(failing("texts"))
    assert board.all() == (failing("texts"),)


def test_a_directory_that_is_gone_is_an_error_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        FailingJobsFile(tmp_path / "gone").put(failing("texts"))
