"""What takes room in a data directory beside the items, and the note of its last backup."""

from __future__ import annotations

from pathlib import Path

from ibi.backup.model.data_files import BackupNote
from ibi.backup.store.data_files import NOTE, DataDirectoryFiles
from ibi.standard.instant import Instant


def test_databases_and_logs_are_listed_with_what_lies_beside_them(tmp_path: Path) -> None:
    files = DataDirectoryFiles(tmp_path)
    assert files.files() == ()
    for name, size in {"a.sqlite": 10, "a.sqlite-wal": 5, "notes.txt": 99, "mint/mint.log": 20}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size)
    (tmp_path / "b.sqlite").symlink_to("/etc/passwd")
    (tmp_path / "c.sqlite").mkdir()
    assert [(each.name, each.size) for each in files.files()] == [("mint/mint.log", 20), ("a.sqlite", 15)]
    assert all(each.changed > 0 for each in files.files())


def test_the_disk_has_no_more_free_than_there_is(tmp_path: Path) -> None:
    free, total = DataDirectoryFiles(tmp_path).disk()
    assert 0 <= free <= total


def test_a_backup_is_noted_and_a_note_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    files, note = DataDirectoryFiles(tmp_path), BackupNote(Instant(1_800_000_000), 7, 1)
    assert files.last_backup() is None
    files.note_backup(note)
    assert files.last_backup() == note
    for spoiled in (b"", b"[]", b'{"at": 1}', b'{"at":"x","items":1,"damaged":0}', b"\xff"):
        (tmp_path / NOTE).write_bytes(spoiled)
        assert files.last_backup() is None
