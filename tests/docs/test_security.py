"""docs/security.md and SECURITY.md speak of the scopes, files, settings and bounds that there are."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from ibi.items.rules.rights import TABLE, ItemAct, Whose
from ibi.people.model.account import Scope
from ibi.people.store.tokens import SqliteTokens
from ibi.server import connection, connection_bounds, protocol
from ibi.settings import SETTINGS
from ibi.standard import pairs
from ibi.standard.messages import url_list
from ibi.standard.persistent_url import MAX_LENGTH
from ibi.storage.connection import STATE
from ibi.web import body
from tests.docs.tables import ROOT, code_spans, rows

PAGE = ROOT / "docs" / "security.md"
POLICY = ROOT / "SECURITY.md"


def test_the_scopes_are_those_there_are_in_their_order() -> None:
    assert [code_spans(row["Scope"]) for row in rows(PAGE, ["Scope", "Allows"])] == [[str(scope)] for scope in Scope]


def test_the_modes_are_those_of_a_new_data_directory(tmp_path: Path) -> None:
    told = {row["Place"]: code_spans(row["Mode"])[:1] for row in rows(PAGE, ["Place", "Holds", "Mode"])}
    SqliteTokens(tmp_path / "data").close()
    assert told["data directory"] == [mode(tmp_path / "data")]
    assert told[f"`{STATE.file_name}`, with `-wal` and `-shm`"] == [mode(tmp_path / "data" / STATE.file_name)]


def test_the_policy_tells_the_rights_that_are_enforced() -> None:
    """Each row names the least scope; `copy` stands beside the others."""
    acts = {act.value: act for act in ItemAct}
    told = rows(POLICY, ["Act", "Own", "Another's"])
    assert {"changing it", "deleting it", "purging it", "making it more visible"} <= {row["Act"] for row in told}
    for row in told:
        for column, whose in (("Own", Whose.OWN), ("Another's", Whose.ANOTHERS)):
            allowed = TABLE[acts[row["Act"]], whose]
            least = [next(scope for scope in Scope if scope in allowed and scope is not Scope.COPY)]
            beside = [Scope.COPY] if Scope.COPY in allowed else []
            assert code_spans(row[column]) == [str(scope) for scope in (*least, *beside)], row


def test_the_policy_names_settings_that_exist() -> None:
    named = {
        name for name in code_spans(POLICY.read_text(encoding="utf-8")) if re.fullmatch(r"[a-z]+[._][a-z_.]+", name)
    }
    assert len(named) >= 8
    assert named <= {one.name for one in SETTINGS}


def test_the_policy_tells_the_bounds_that_are_enforced() -> None:
    bounds = {row["What"]: row["Bound"] for row in rows(POLICY, ["What", "Bound"])}
    head = (
        f"{protocol.MOST_HEAD >> 10} KiB and {protocol.MOST_FIELDS} headers in {connection.HEAD_PATIENCE:.0f} seconds"
    )
    assert head in bounds["a request"]
    assert f"{body.MOST >> 10} KiB or 1 MiB in {body.PATIENCE:.0f} seconds" in bounds["a request"]
    waiting = bounds["bytes that wait in memory for slow clients"]
    assert waiting.startswith(f"{connection_bounds.MOST_WAITING >> 20} MiB")
    answer = f"{pairs.LIMIT >> 10} KiB, {pairs.MOST} pairs, {url_list.MOST_ENTRIES} relations"
    assert bounds["an answer of an Archive"].startswith(answer)
    assert bounds["a persistent URL"] == f"{MAX_LENGTH} characters"


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"
