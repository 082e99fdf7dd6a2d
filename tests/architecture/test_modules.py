"""Public names: a class name means one thing, and packages alone list what is public."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.docs.tables import ROOT

MODULES = sorted((ROOT / "src" / "ibi").rglob("*.py"))


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
