"""The sizes of a draft's files are looked at once each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ibi.deposits.store.draft_bytes import DraftSizes


def test_what_is_known_is_not_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = DraftSizes()
    looked_at: list[str] = []
    for name in ("before", "later", "coming"):
        (tmp_path / name).write_bytes(b"12345")
    sizes.learn("draft", lambda: {"before": 5})
    sizes.learn("draft", lambda: pytest.fail("it is read once"))
    sizes.add("draft", "later", 5)
    stat = os.stat

    def watched(path: str) -> os.stat_result:
        looked_at.append(Path(path).name)
        return stat(path)

    monkeypatch.setattr(os, "stat", watched)
    assert sizes.look("draft", str(tmp_path)) == {"before": 5, "later": 5, "coming": 5}
    assert looked_at == ["coming"]


def test_what_is_still_coming_grows_and_what_has_gone_is_gone(tmp_path: Path) -> None:
    sizes = DraftSizes()
    sizes.learn("draft", lambda: {"gone": 7})
    (tmp_path / "coming").write_bytes(b"1")
    assert sizes.look("draft", str(tmp_path)) == {"coming": 1}
    (tmp_path / "coming").write_bytes(b"12")
    assert sizes.look("draft", str(tmp_path)) == {"coming": 2}
    assert sizes.look("draft", str(tmp_path / "nowhere")) == {}


def test_of_a_draft_that_was_not_counted_every_file_is_looked_at(tmp_path: Path) -> None:
    sizes = DraftSizes()
    sizes.add("draft", "a", 99)
    (tmp_path / "a").write_bytes(b"1")
    assert sizes.look("draft", str(tmp_path)) == {"a": 1}
