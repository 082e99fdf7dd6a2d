"""docs/spec/coverage.md has a row for every clause of the standard, and names only what exists."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.docs.tables import ROOT, code_spans, existing_module, existing_test, rows

COVERAGE = ROOT / "docs" / "spec" / "coverage.md"

GENERATION = {
    "": ["1", "2", "3", "4", "5", "6", "7"],
    "Table": ["6.1", "6.2", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6"],
    "Figure": ["5.1"],
    "Algorithm": ["1", "2", "3", "4", "5", "6", "7"],
    "Example": ["1", "2"],
    "Appendix": ["A"],
}
RESOLUTION = {
    "": [
        *("1", "2", "3", "4", "5", "5.1", "5.2", "6", "6.1", "6.2", "7", "7.1", "7.2"),
        *("8", "8.1", "8.2", "9", "9.1", "9.2", "10", "10.1", "10.2"),
    ],
    "Table": [
        *("6.1", "6.2", "7.1", "7.2"),
        *(f"8.{number}" for number in range(1, 12)),
        *(f"9.{number}" for number in range(1, 6)),
        "B.1",
    ],
    "Figure": ["5.1", "5.2", "5.3", "5.4", "7.1", "8.1"],
    "Algorithm": ["1", "2"],
    "Example": [
        *("6.1", "6.2", "7.1", "7.2", "7.3", "7.4"),
        *(f"8.{number}" for number in range(1, 10)),
        *(f"9.{number}" for number in range(1, 13)),
    ],
    "Appendix": ["A", "B"],
}
CLAUSES = [
    " ".join(part for part in (standard, kind, number) if part)
    for standard, kinds in (("G", GENERATION), ("R", RESOLUTION))
    for kind, numbers in kinds.items()
    for number in numbers
]
SENTENCES = rows(COVERAGE, ["Section", "Sentence", "Implemented in", "Tested in"])
NORMATIVE = [
    tuple(line.split(" | "))
    for line in (ROOT / "tests" / "docs" / "normative_sentences.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
"""The sentences of R's prose that ask for something: section, first words, and the beginning of the row of each."""
ROWS = rows(COVERAGE, ["Clause", "What", "Implemented in", "Tested in"])


def test_every_clause_of_the_standard_has_exactly_one_row() -> None:
    assert sorted(row["Clause"] for row in ROWS) == sorted(CLAUSES)


@pytest.mark.parametrize("normative", NORMATIVE, ids=lambda normative: normative[1][:40])
def test_every_normative_sentence_has_one_row_in_its_section(normative: tuple[str, str, str]) -> None:
    section, _, begins = normative
    found = [row for row in SENTENCES if row["Section"] == section and row["Sentence"].startswith(begins)]
    assert len(found) == 1


def test_every_row_is_of_a_sentence_and_no_sentence_is_listed_twice() -> None:
    assert max(Counter(NORMATIVE).values()) == 1
    begins = {(section, words) for section, _, words in NORMATIVE}
    orphans = [
        row["Sentence"]
        for row in SENTENCES
        if not any(row["Section"] == section and row["Sentence"].startswith(words) for section, words in begins)
    ]
    assert orphans == []
    assert len({row["Sentence"] for row in SENTENCES}) == len(SENTENCES)


@pytest.mark.parametrize("row", [*ROWS, *SENTENCES], ids=lambda row: row.get("Clause") or row["Sentence"][:40])
def test_a_row_names_only_what_exists(row: dict[str, str]) -> None:
    modules = code_spans(row["Implemented in"])
    tests = code_spans(row["Tested in"])
    assert [name for name in modules if not existing_module(name)] == []
    assert [path for path in tests if not existing_test(path)] == []


@pytest.mark.parametrize("row", [*ROWS, *SENTENCES], ids=lambda row: row.get("Clause") or row["Sentence"][:40])
def test_a_row_without_names_says_why(row: dict[str, str]) -> None:
    for column in ("Implemented in", "Tested in"):
        cell = row[column]
        assert code_spans(cell) or cell == "not yet" or cell.startswith("–")
    assert row.get("What") or row["Sentence"]


def conformance_tests() -> list[Path]:
    folders = [ROOT / "tests" / "conformance" / name for name in ("generation", "resolution")]
    return sorted(path.relative_to(ROOT) for folder in folders for path in folder.rglob("test_*.py"))


@pytest.mark.parametrize("path", conformance_tests(), ids=str)
def test_every_conformance_test_stands_in_a_row(path: Path) -> None:
    named = {Path(name.partition("::")[0]) for row in ROWS for name in code_spans(row["Tested in"])}
    assert {path, *path.parents} & named
