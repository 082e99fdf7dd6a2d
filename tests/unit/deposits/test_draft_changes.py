"""Changed drafts as processes tell each other: whatever becomes of the file, none is missed without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.deposits.service.drafts import new_draft_id
from ibi.deposits.store import draft_bytes
from ibi.deposits.store.draft_bytes import DraftChanges


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".changes"


def opened(path: Path) -> tuple[DraftChanges, DraftChanges]:
    """One that writes, and one that reads and knows what there is."""
    writer, reader = DraftChanges(path), DraftChanges(path)
    writer.note(new_draft_id())
    assert reader.read_others() is None
    return writer, reader


def test_each_draft_is_told_to_others_and_not_to_who_changed_it(path: Path) -> None:
    writer, reader = opened(path)
    drafts = [new_draft_id() for _ in range(5)]
    for draft in (*drafts, *drafts):
        writer.note(draft)
    assert writer.read_others() is None
    assert sorted(reader.read_others() or ()) == sorted(drafts)
    reader.note(drafts[0])
    assert list(reader.read_others() or ()) == []
    assert list(writer.read_others() or ()) == [drafts[0]]


def test_a_file_begun_anew_has_all_drafts_looked_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = opened(path)
    monkeypatch.setattr(draft_bytes, "_MOST", 320)
    for _ in range(11):
        writer.note(new_draft_id())
    assert path.stat().st_size < 320
    assert reader.read_others() is None
    assert list(reader.read_others() or ()) == []
    late = new_draft_id()
    writer.note(late)
    assert list(reader.read_others() or ()) == [late]


def test_what_is_noted_in_a_file_that_was_replaced_is_noted_in_the_new_one(path: Path) -> None:
    writer, reader = opened(path)
    other = path.with_name("other")
    other.touch()
    other.replace(path)
    assert reader.read_others() is None
    draft = new_draft_id()
    writer.note(draft)
    assert list(reader.read_others() or ()) == [draft]


@pytest.mark.parametrize("spoilt", [b"half a record", b"x" * 32, b"\xff" * 320])
def test_a_record_that_cannot_be_read_has_all_drafts_looked_at(path: Path, spoilt: bytes) -> None:
    writer, reader = opened(path)
    with path.open("ab") as file:
        file.write(spoilt)
    writer.note(new_draft_id())
    assert reader.read_others() is None
    assert reader.read_others() is None  # the file is another one now
    draft = new_draft_id()
    writer.note(draft)
    assert list(reader.read_others() or ()) == [draft]


def test_a_file_that_was_emptied_or_removed_has_all_drafts_looked_at(path: Path) -> None:
    writer, reader = opened(path)
    path.write_bytes(b"")
    assert reader.read_others() is None
    path.unlink()
    assert reader.read_others() is None
    assert list(reader.read_others() or ()) == []
    writer.note(new_draft_id())
    assert reader.read_others() is None


def test_where_nothing_can_be_written_nothing_is_refused(tmp_path: Path) -> None:
    changes = DraftChanges(tmp_path / "absent" / ".changes")
    changes.note(new_draft_id())
    assert changes.read_others() is None
    assert list(changes.read_others() or ()) == []
