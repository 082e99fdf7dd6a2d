"""Copies of the state: private, whole, the last three, and none is lost to another of the same second."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from pathlib import Path

import pytest

from ibi.storage.connection import STATE, driver  # type: ignore[attr-defined]  # the SQLite of the stores
from ibi.storage.database import note_change
from ibi.storage.errors import DiskRefused
from ibi.storage.state import open_state
from ibi.storage.state_copies import FOLDER, list_copies, newest_copy_age


def numbers(path: Path) -> list[tuple[str, int]]:
    with closing(driver.connect(str(path))) as copy:
        return list(copy.execute("SELECT name, number FROM change_numbers"))


def test_a_copy_has_what_was_committed_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    with closing(open_state(tmp_path)) as state:
        with state.change() as session:
            note_change(session, "first")
            copy_before_commit = state.copy()
        copy = state.copy()
    assert numbers(copy_before_commit) == []
    assert numbers(copy) == [("first", 1)]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert copy.parent == tmp_path / FOLDER


def test_the_last_three_are_kept(tmp_path: Path) -> None:
    with closing(open_state(tmp_path)) as state:
        made = [state.copy() for _ in range(5)]
    assert len(set(made)) == 5  # also those of one second
    assert list(list_copies(tmp_path)) == list(reversed(made[-3:]))
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir()) == [path.name for path in made[-3:]]


def test_a_copy_can_take_the_place_of_the_database(tmp_path: Path) -> None:
    with closing(open_state(tmp_path)) as state:
        with state.change() as session:
            note_change(session, "kept")
        copy = state.copy()
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"{STATE.file_name}{end}").unlink(missing_ok=True)
    copy.rename(tmp_path / STATE.file_name)
    with closing(open_state(tmp_path)) as state:
        state.examine()
    assert numbers(tmp_path / STATE.file_name) == [("kept", 1)]


def test_what_a_killed_process_left_is_removed_and_what_another_writes_stays(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    left, written = folder / "state-2026.sqlite.new", folder / "state-2027.sqlite.new"
    for path in (left, written):
        path.write_bytes(b"x")
    os.utime(left, (0, 0))
    with closing(open_state(tmp_path)) as state:
        state.copy()
    assert (left.exists(), written.exists()) == (False, True)


def test_a_copy_that_cannot_be_written_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    with closing(open_state(tmp_path)) as state:
        (tmp_path / FOLDER).write_bytes(b"no folder")
        with pytest.raises(DiskRefused):
            state.copy()
    assert (tmp_path / FOLDER).read_bytes() == b"no folder"


def test_the_age_is_that_of_the_newest(tmp_path: Path) -> None:
    assert newest_copy_age(tmp_path, 0.0) is None
    with closing(open_state(tmp_path)) as state:
        first, second = state.copy(), state.copy()
    os.utime(first, (100, 100))
    os.utime(second, (200, 200))
    assert newest_copy_age(tmp_path, 260.0) == 60.0
