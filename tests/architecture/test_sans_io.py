"""What the import contracts cannot see: built-ins, attributes and submodules that lead out of the core."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FORBIDDEN_CALLS = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}
FORBIDDEN_ATTRIBUTES = {
    ("date", "today"),
    ("datetime", "now"),
    ("datetime", "today"),
    ("datetime", "utcnow"),
    ("sys", "argv"),
    ("sys", "stderr"),
    ("sys", "stdin"),
    ("sys", "stdout"),
}
FORBIDDEN_SUBMODULES = {"importlib", "urllib.error", "urllib.request", "urllib.response", "urllib.robotparser"}


def core_files() -> list[Path]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = configuration["tool"]["importlinter"]["contracts"]
    sources = next(one["source_modules"] for one in contracts if one["id"] == "sans-io")
    places = [place for name in sources for place in (ROOT / "src").glob(name.replace(".", "/"))]
    modules = [file for name in sources for file in (ROOT / "src").glob(f"{name.replace('.', '/')}.py")]
    return sorted({*modules, *(file for place in places for file in place.rglob("*.py"))})


def reaches(tree: ast.AST) -> Iterator[str]:
    """Each way out of the core found in `tree`, with its line."""
    for node in ast.walk(tree):
        for name in names_used(node):
            yield f"line {getattr(node, 'lineno', 0)}: {name}"


def names_used(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
            yield f"{name}()"
        case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name):
            if (owner, name) in FORBIDDEN_ATTRIBUTES:
                yield f"{owner}.{name}"
        case ast.Import(names=aliases):
            yield from (alias.name for alias in aliases if is_forbidden(alias.name))
        case ast.ImportFrom(module=str(module), names=aliases):
            imported = [module, *(f"{module}.{alias.name}" for alias in aliases)]
            yield from (name for name in imported if is_forbidden(name))
        case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            yield "async"


def is_forbidden(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in FORBIDDEN_SUBMODULES)


@pytest.mark.parametrize("file", core_files(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_the_core_does_no_io(file: Path) -> None:
    assert list(reaches(ast.parse(file.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    [
        "open('x')",
        "print(1)",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.utcnow()",
        "import urllib.request",
        "from urllib import request",
        "from urllib.request import urlopen",
        "import importlib.resources",
        "import sys\nsys.stdin.read()",
        "async def f(): ...",
    ],
)
def test_a_way_out_is_caught(code: str) -> None:
    assert list(reaches(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["from urllib.parse import unquote", "re.compile('x')", "datetime.fromtimestamp(0, UTC)"]
)
def test_what_is_harmless_is_not(code: str) -> None:
    assert not list(reaches(ast.parse(code)))
