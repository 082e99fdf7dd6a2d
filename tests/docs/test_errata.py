"""docs/spec/errata.md has a row for every decision, and names only tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.tables import ROOT, code_spans, existing_test, rows

LAST_OF_THE_DIGEST = 35
ROWS = rows(ROOT / "docs" / "spec" / "errata.md", ["#", "Matter", "Decision", "Pinned by"])
PINNED_BY = {row["#"]: code_spans(row["Pinned by"]) for row in ROWS}


def test_the_errata_are_numbered_without_gap() -> None:
    numbers = [row["#"] for row in ROWS]
    assert numbers == [f"E{number}" for number in range(1, len(numbers) + 1)]
    assert len(numbers) >= LAST_OF_THE_DIGEST


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["#"])
def test_an_erratum_names_tests_that_exist_or_says_not_yet(row: dict[str, str]) -> None:
    assert row["Matter"]
    assert row["Decision"]
    assert PINNED_BY[row["#"]] or row["Pinned by"] == "not yet"
    assert [path for path in PINNED_BY[row["#"]] if not existing_test(path)] == []


def test_every_test_of_an_erratum_stands_in_its_row() -> None:
    for path in (ROOT / "tests" / "conformance" / "errata").glob("test_e*.py"):
        number = re.fullmatch(r"test_e(\d+)(_\w+)?", path.stem)
        assert number, path
        assert path.relative_to(ROOT).as_posix() in PINNED_BY[f"E{number[1]}"]


def source_files() -> list[Path]:
    return sorted((ROOT / "src").rglob("*.py"))


def test_every_erratum_cited_in_the_code_has_a_row() -> None:
    cited = {name for path in source_files() for name in re.findall(r"\bE[1-9]\d?\b", path.read_text(encoding="utf-8"))}
    assert cited <= set(PINNED_BY)
