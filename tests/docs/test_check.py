"""docs/check.md lists the checks there are, and every clause is checked or said not to be visible."""

from __future__ import annotations

from ibi.check.rules.checking import CheckLevel, ConformanceCheck
from ibi.check.rules.examination import ALL_CHECKS
from tests.docs.tables import ROOT, rows

PAGE = ROOT / "docs" / "check.md"
COVERAGE = ROOT / "docs" / "spec" / "coverage.md"


def row_of(check: ConformanceCheck) -> str:
    marks = ("*" if check.level is CheckLevel.FULL else "") + ("+" if check.changes else "")
    role = "both" if check.role is None else check.role.value
    return f"| {check.clause}{marks} | {role} | {check.sentence} |"


def test_the_page_lists_every_check_in_order() -> None:
    table = [row_of(check) for check in ALL_CHECKS]
    listed = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(("| G ", "| R "))]
    assert [line for line in listed if line.count("|") == 4] == table, "\n".join(table)


def test_a_clause_is_checked_or_said_not_to_be_visible() -> None:
    implemented = {
        row["Clause"]
        for row in rows(COVERAGE, ["Clause", "What", "Implemented in", "Tested in"])
        if not row["Implemented in"].startswith("–")
    }
    unseen = {clause for row in rows(PAGE, ["Clause", "Why"]) for clause in row["Clause"].split(", ")}
    checked = {check.clause for check in ALL_CHECKS}
    assert implemented == checked | unseen
    assert not checked & unseen
