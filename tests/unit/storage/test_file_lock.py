"""Locks on files: private, told of when they are waited for, and given up in the end."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.storage.errors import LockHeld
from ibi.storage.locks import alone, hold_lock, open_lock


class Told(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.heard = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.message = record.getMessage()
        self.heard.set()


@pytest.fixture
def told() -> Iterator[Told]:
    handler, log = Told(), logging.getLogger("ibi.storage")
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def held(path: Path) -> Iterator[int]:
    """Held as another process would."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield descriptor
    os.close(descriptor)


def is_free(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_the_file_of_a_lock_is_for_its_owner_alone(path: Path) -> None:
    for _ in range(2):
        os.close(open_lock(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)  # as earlier versions left it


def test_a_lock_is_no_link(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        open_lock(path)


def test_a_free_lock_is_taken_at_once(path: Path) -> None:
    descriptor = open_lock(path)
    assert hold_lock(descriptor, path) == descriptor
    assert not is_free(path)
    os.close(descriptor)


def test_who_waits_says_so_and_gets_it_in_turn(path: Path, held: int, told: Told) -> None:
    found: list[int] = []
    descriptor = open_lock(path)
    waiting = threading.Thread(target=lambda: found.append(hold_lock(descriptor, path, quiet=0.01)))
    waiting.start()
    assert told.heard.wait(30)
    assert str(path) in told.message
    fcntl.flock(held, fcntl.LOCK_UN)
    waiting.join(30)
    assert not is_free(path)
    os.close(found[0])
    assert is_free(path)


def test_who_has_waited_too_long_gives_up_for_good(path: Path, held: int, told: Told) -> None:
    descriptor = open_lock(path)
    with pytest.raises(LockHeld, match="lock"):
        hold_lock(descriptor, path, patience=0.02, quiet=0.01)
    assert told.heard.is_set()
    fcntl.flock(held, fcntl.LOCK_UN)
    # Whoever gave up may still be next in the queue, and lets go at once.
    assert os.close(hold_lock(descriptor, path)) is None  # type: ignore[func-returns-value]


def test_a_caller_that_is_interrupted_just_as_it_is_its_turn_keeps_no_other_out(
    path: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            fcntl.flock(held, fcntl.LOCK_UN)
            assert super().wait(30)
            raise KeyboardInterrupt

    monkeypatch.setattr("ibi.storage.locks.Event", Interrupted)
    with pytest.raises(KeyboardInterrupt), alone(path):
        pass
    assert is_free(path)


def test_a_lock_is_held_within_a_block(path: Path) -> None:
    with alone(path):
        assert not is_free(path)
    assert is_free(path)


def test_many_take_turns(path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with alone(path):
                inside += 1
                most = max(most, inside)
                time.sleep(0)  # whoever could come in now would
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == 1
