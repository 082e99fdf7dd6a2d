"""The name of a test is a sentence that means something alone: a failure is read without the test before it.

Tests inside a class are held to the same, because a report names them without their class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
LEANING = frozenset({"and", "but", "it", "its", "nor", "or", "so", "that", "then", "they"})
"""A name that begins with one of these leans on another name."""


def names() -> Iterator[tuple[str, str]]:
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield file.relative_to(TESTS).as_posix(), node.name


def test_no_name_of_a_test_leans_on_another() -> None:
    found = list(names())
    assert len(found) > 1000
    assert [(file, name) for file, name in found if name.split("_")[1] in LEANING] == []
