"""The record of a data directory: what was begun, which keys are in use, and what the notes of layout 1 told."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ibi.storage.directory_record import (
    LAYOUT,
    NOTES,
    RECORD,
    begun_before,
    forget_begun,
    layout_of,
    note_begun,
    note_key,
    note_layout,
    noted_key,
    was_begun,
)
from ibi.storage.errors import DirectoryRecordDamaged


def test_a_file_is_noted_once_and_forgotten_on_purpose(tmp_path: Path) -> None:
    path = tmp_path / "data" / "state.sqlite"
    assert not was_begun(path)
    note_begun(path)
    first = begun_before(path)
    assert first is not None
    note_begun(path)
    assert begun_before(path) == first
    assert not was_begun(path.with_name("other"))
    forget_begun(path)
    assert begun_before(path) is None
    forget_begun(path)


def test_the_key_in_use_is_noted(tmp_path: Path) -> None:
    assert noted_key(tmp_path, "archive") is None
    note_key(tmp_path, "archive", "one")
    note_key(tmp_path, "resolver", "two")
    note_key(tmp_path, "archive", "three")
    assert (noted_key(tmp_path, "archive"), noted_key(tmp_path, "resolver")) == ("three", "two")


def test_the_record_is_for_its_owner_alone_and_a_question_writes_nothing(tmp_path: Path) -> None:
    assert layout_of(tmp_path) == LAYOUT
    assert not was_begun(tmp_path / "state.sqlite")
    assert list(tmp_path.iterdir()) == []
    note_begun(tmp_path / "state.sqlite")
    assert stat.S_IMODE((tmp_path / RECORD).stat().st_mode) == 0o600
    written = (tmp_path / RECORD).stat().st_mtime_ns
    note_begun(tmp_path / "state.sqlite")
    assert (tmp_path / RECORD).stat().st_mtime_ns == written


def test_notes_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: note_begun(tmp_path / f"{number}.sqlite"), range(32)))
    assert all(was_begun(tmp_path / f"{number}.sqlite") for number in range(32))


def test_a_change_of_the_layout_keeps_the_rest(tmp_path: Path) -> None:
    note_begun(tmp_path / "state.sqlite")
    note_layout(tmp_path, LAYOUT - 1)
    assert layout_of(tmp_path) == LAYOUT - 1
    assert was_begun(tmp_path / "state.sqlite")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"layout": 2}', '{"layout": "2", "begun": {}, "keys": {}}', '{"layout": 2, "begun": []}'],
)
def test_a_damaged_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD).write_text(text)
    for refused in (
        lambda: layout_of(tmp_path),
        lambda: was_begun(tmp_path / "state.sqlite"),
        lambda: note_begun(tmp_path / "state.sqlite"),
        lambda: note_key(tmp_path, "archive", "one"),
    ):
        with pytest.raises(DirectoryRecordDamaged, match=RECORD):
            refused()
    assert (tmp_path / RECORD).read_text() == text


def test_the_notes_of_layout_1_are_read_until_there_is_a_record(tmp_path: Path) -> None:
    (tmp_path / NOTES).mkdir()
    (tmp_path / NOTES / "people.sqlite").write_text("people.sqlite was begun before 2026-01-02T03:04:05Z\n")
    (tmp_path / NOTES / "archive.key").write_text("the key\n")
    assert layout_of(tmp_path) == LAYOUT - 1
    assert begun_before(tmp_path / "people.sqlite") == "2026-01-02T03:04:05Z"
    assert noted_key(tmp_path, "archive") == "the key"
    note_begun(tmp_path / "new.sqlite")  # this writes a record, with all of it
    assert layout_of(tmp_path) == LAYOUT - 1
    assert json.loads((tmp_path / RECORD).read_text())["begun"].keys() == {"people.sqlite", "new.sqlite"}
    assert noted_key(tmp_path, "archive") == "the key"


@pytest.mark.parametrize("name", ["accounts.sqlite", "people.sqlite", "registry.sqlite"])
def test_a_directory_from_before_the_notes_is_of_layout_1(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert layout_of(tmp_path) == LAYOUT - 1
    assert not was_begun(tmp_path / name)
