"""docs/glossary.md explains words that the code uses, each once."""

from __future__ import annotations

import re

from tests.docs.tables import ROOT, code_spans, rows

PAGE = ROOT / "docs" / "glossary.md"
OF_THE_STANDARD = [row["In the code"] for row in rows(PAGE, ["In the code", "In the standard", "What it is"])]
OF_OUR_OWN = [row["Word"] for row in rows(PAGE, ["Word", "What it is"])]


def defined_names() -> set[str]:
    """Classes and aliases of types in the package."""
    found: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        found.update(re.findall(r"^(?:class )?([A-Z]\w+)\b(?:\(|:| =)", file.read_text(encoding="utf-8"), re.MULTILINE))
    return found


def test_every_class_in_the_glossary_exists() -> None:
    named = {span for cell in [*OF_THE_STANDARD, *OF_OUR_OWN] for span in code_spans(cell) if span[0].isupper()}
    assert len(named) > 15
    assert named - defined_names() == set()


def test_no_word_is_explained_twice() -> None:
    words = [word.strip(" `") for cell in [*OF_THE_STANDARD, *OF_OUR_OWN] for word in cell.split(",")]
    assert sorted(words) == sorted(set(words))
