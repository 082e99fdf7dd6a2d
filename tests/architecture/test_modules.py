"""A reader opens few files: none is too small to be worth it without a reason, none too long to be one idea."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from tests.docs.tables import ROOT

LEAST, MOST = 60, 450
"""Lines of a module."""
MODULES = sorted((ROOT / "src" / "ibi").rglob("*.py"))


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_module_is_too_long_to_be_one_idea() -> None:
    assert [(path.name, lines(path)) for path in MODULES if lines(path) > MOST] == []


def test_a_short_module_says_why_it_is_one() -> None:
    """A package tells what is in it, and is no module to open."""
    short = [path for path in MODULES if lines(path) < LEAST and path.name != "__init__.py"]
    assert [str(path.relative_to(ROOT)) for path in short if "Short" not in docstring(path)] == []


def test_no_public_class_name_means_two_things() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert len(places) > 500
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_what_is_public_is_said_in_packages_alone() -> None:
    named = [path for path in MODULES if "__all__ =" in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(ROOT)) for path in named if path.name != "__init__.py"] == []
