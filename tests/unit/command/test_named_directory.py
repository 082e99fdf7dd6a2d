"""The data directory as pages and the start of a server name it in commands."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from ibi.app.server.front import named_directory


def test_the_usual_directory_needs_no_name() -> None:
    assert named_directory(Path("./ibi-data")) is None


def test_another_directory_is_named_whole_and_quoted_for_a_shell(tmp_path: Path) -> None:
    assert named_directory(tmp_path / "my data") == f"'{tmp_path}/my data'"
    assert named_directory(Path("elsewhere")) == quote(str(Path.cwd() / "elsewhere"))
