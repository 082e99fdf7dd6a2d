"""The foreign Archive and the foreign resolver are written from R's text: they use the standard library and nothing of
this project."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.docs.tables import ROOT

FOREIGN = sorted((ROOT / "tests" / "foreign").glob("*.py"))


def imported(text: str) -> set[str]:
    """The packages that are imported anywhere, by their first names; also by `__import__` and `import_module`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." if node.level else (node.module or "").partition(".")[0])
        elif isinstance(node, ast.Name) and node.id in ("__import__", "exec", "eval"):
            names.add(node.id)
    return names


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_a_foreign_program_imports_the_standard_library_alone(path: object) -> None:
    names = imported(path.read_text(encoding="utf-8"))  # type: ignore[attr-defined]
    assert {name for name in names if name not in sys.stdlib_module_names} == set()
    assert "importlib" not in names


def test_the_archive_and_the_resolver_are_looked_at() -> None:
    assert {"archive.py", "resolver.py"} <= {path.name for path in FOREIGN}
