"""A lock that processes which want it all the time get in turn."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import groupby
from pathlib import Path
from threading import Barrier, Thread

import pytest

from ibi.storage.locks import DataLock, FairLock, shared_lock

TURNS = 80
WORK = 0.002
"""Seconds for which the lock is held: as long as a commit, in which the other comes to wait."""


@contextmanager
def _clock_lock(directory: Path) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    with closing(DataLock(directory)) as lock:

        @contextmanager
        def held() -> Iterator[None]:
            lock.acquire()
            try:
                yield
            finally:
                lock.release()

        yield held


@contextmanager
def _fair_lock(directory: Path) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    with closing(FairLock(directory / "lock")) as lock:
        yield lambda: lock


Opened = Callable[[Path], AbstractContextManager[Callable[[], AbstractContextManager[None]]]]


def _take_turns(opened: Opened, directory: Path, name: bytes, log: int, go: int) -> None:
    with opened(directory) as lock:
        os.read(go, 1)
        for _ in range(TURNS):
            with lock():
                os.write(log, name)
                time.sleep(WORK)


@pytest.mark.parametrize("opened", [_fair_lock, _clock_lock])
def test_two_processes_take_turns_as_long_as_both_want_it(tmp_path: Path, opened: Opened) -> None:
    (tmp_path / "mint").mkdir()
    log = os.open(tmp_path / "log", os.O_CREAT | os.O_RDWR | os.O_APPEND)
    reader, writer = os.pipe()
    pids = []
    for name in (b"a", b"b"):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                _take_turns(opened, tmp_path, name, log, reader)
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    os.write(writer, b"..")
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0, 0]
    for each in (reader, writer, log):
        os.close(each)
    runs = [(name, len(list(run))) for name, run in groupby((tmp_path / "log").read_bytes())]
    assert sum(length for _, length in runs) == 2 * TURNS
    # One of them may have begun before the other, and one goes on after the other has ended.
    assert len(runs) > TURNS


def test_a_lock_that_was_closed_can_be_taken_again(tmp_path: Path) -> None:
    lock = FairLock(tmp_path / "lock")
    for _ in range(2):
        with lock:
            pass
        lock.close()
    lock.close()


def test_two_threads_take_turns_as_long_as_both_want_it(tmp_path: Path) -> None:
    order: list[str] = []
    begun = Barrier(2)

    def take_turns(name: str) -> None:
        begun.wait()
        for _ in range(TURNS):
            with shared_lock(tmp_path / "lock"):
                order.append(name)
                time.sleep(WORK)

    threads = [Thread(target=take_turns, args=(name,)) for name in "ab"]
    with closing(shared_lock(tmp_path / "lock")):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(order) == 2 * TURNS
    assert len(list(groupby(order))) > TURNS


def test_a_lock_that_another_has_is_not_waited_for_by_who_does_not_want_to_wait(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with closing(FairLock(path)) as other, closing(shared_lock(path)) as lock:
        for held in (other, lock):
            with held:
                assert not lock.take(waits=False)
        assert lock.take(waits=False)
        lock.give_back()
        with other:
            pass
    assert shared_lock(path) is lock
    assert shared_lock(tmp_path / "another") is not lock
