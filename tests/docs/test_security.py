"""docs/security.md speaks of the scopes and files that there are."""

from __future__ import annotations

import stat
from pathlib import Path

from ibi.model.account import Scope
from ibi.storage.sqlite.tokens import FILE_NAME, SqliteTokens
from tests.docs.tables import ROOT, code_spans, rows

PAGE = ROOT / "docs" / "security.md"


def test_the_scopes_are_those_there_are_in_their_order() -> None:
    assert [code_spans(row["Scope"]) for row in rows(PAGE, ["Scope", "Allows"])] == [[str(scope)] for scope in Scope]


def test_the_modes_are_those_of_a_new_data_directory(tmp_path: Path) -> None:
    told = {row["Place"]: code_spans(row["Mode"])[:1] for row in rows(PAGE, ["Place", "Holds", "Mode"])}
    SqliteTokens(tmp_path / "data").close()
    assert told["data directory"] == [mode(tmp_path / "data")]
    assert told[f"`{FILE_NAME}`, with `-wal` and `-shm`"] == [mode(tmp_path / "data" / FILE_NAME)]


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"
