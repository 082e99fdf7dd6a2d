"""The directory of locks is shared with everybody on the machine, friend or not."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ibi.storage.errors import LockRefused
from ibi.storage.locks import LockDirectory


def test_the_directory_of_locks_is_made_for_all_users(tmp_path: Path) -> None:
    directory = LockDirectory(tmp_path / "a" / "locks")
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o1777
    descriptor = directory.open("one")
    assert stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o022 == 0
    os.close(descriptor)
    directory.close()
    LockDirectory(directory.path).close()


def test_without_a_wish_it_is_the_first_usable_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    places = (tmp_path / "missing" / "ibi", tmp_path / "ibi", tmp_path / "unused")
    directory = LockDirectory(places=places)
    assert directory.path == tmp_path / "ibi"
    directory.close()
    fallback = LockDirectory(places=(tmp_path / "missing" / "ibi",))
    assert fallback.path == tmp_path / "ibi-locks"
    fallback.close()


@pytest.mark.parametrize("target", ["there", "missing"])
def test_a_link_in_its_place_is_not_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "locks"
    link.symlink_to(tmp_path / target)
    with pytest.raises(LockRefused, match="symbolic link"):
        LockDirectory(link)
    with pytest.raises(LockRefused, match="symbolic link"):
        LockDirectory(places=(link,))
    assert not (tmp_path / "missing").exists()


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "locks").touch()
    with pytest.raises(LockRefused):
        LockDirectory(tmp_path / "locks")


def test_where_others_may_remove_files_is_no_place(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(LockRefused, match="sticky"):
        LockDirectory(tmp_path)
    tmp_path.chmod(0o1777)
    LockDirectory(tmp_path).close()


def test_a_link_instead_of_a_file_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("dear")
    directory = LockDirectory(tmp_path / "locks")
    (directory.path / "linked").symlink_to(precious)
    (directory.path / "dangling").symlink_to(tmp_path / "made by us")
    (directory.path / "hard").hardlink_to(precious)
    (directory.path / "folder").mkdir()
    os.mkfifo(directory.path / "pipe")
    for name in ("linked", "dangling", "hard", "folder", "pipe"):
        with pytest.raises(LockRefused):
            directory.open(name)
    directory.close()
    assert precious.read_text() == "dear"
    assert not (tmp_path / "made by us").exists()


def test_a_directory_exchanged_after_opening_leads_no_process_astray(tmp_path: Path) -> None:
    directory = LockDirectory(tmp_path / "locks")
    (tmp_path / "trap").mkdir()
    (tmp_path / "locks").rename(tmp_path / "away")
    (tmp_path / "locks").symlink_to(tmp_path / "trap")
    os.close(directory.open("one"))
    directory.close()
    assert (tmp_path / "away" / "one").exists()
    assert not list((tmp_path / "trap").iterdir())
