"""docs/dependencies.md argues every dependency of pyproject.toml, and no other; the locks hold them all, hashed."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.tables import ROOT, code_spans, rows

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = CONFIGURATION["project"]["optional-dependencies"]
GROUPS: dict[str, list[str]] = {
    "run": CONFIGURATION["project"]["dependencies"],
    **EXTRAS,
    **CONFIGURATION["dependency-groups"],
}
LOCKS = {"run": ("run", "build"), "dev": ("run", "build", "dev")}
PACKAGES = {
    "argon2": "argon2-cffi",
    "citeproc": "citeproc-py",
    "markdown_it": "markdown-it-py",
}
"""What is imported under another name than it is installed by."""
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==[^ ;]+( ; [^\\]+)?( --hash=sha256:[0-9a-f]{64})+")


def names(group: str) -> list[str]:
    return [re.split(r"[^a-z0-9-]", requirement, maxsplit=1)[0] for requirement in GROUPS[group]]


def pins(lock: str) -> list[str]:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    return re.sub(r" *\\\n *", " ", text).splitlines()


def test_every_dependency_is_argued() -> None:
    argued = rows(ROOT / "docs" / "dependencies.md", ["Package", "For", "Why this one"])
    # Lists, so that a package which is declared or argued twice is found.
    assert sorted(name for row in argued for name in code_spans(row["Package"])) == sorted(
        dict.fromkeys(name for group in GROUPS for name in names(group))
    )
    assert all(row["For"] and row["Why this one"] for row in argued)


@pytest.mark.parametrize("group", GROUPS)
def test_no_dependency_is_declared_twice(group: str) -> None:
    assert names(group) == sorted(set(names(group)))


def imported_roots(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name.partition(".")[0] for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]


def test_the_package_imports_nothing_that_is_not_declared() -> None:
    imported = {root for file in (ROOT / "src").rglob("*.py") for root in imported_roots(file)}
    third_party = imported - sys.stdlib_module_names - {"ibi"}
    assert {PACKAGES.get(root, root.replace("_", "-")) for root in third_party} <= {
        name for group in ("run", *EXTRAS) for name in names(group)
    }


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_is_names_versions_markers_and_hashes_only(lock: str) -> None:
    assert [line for line in pins(lock) if not PIN.fullmatch(line)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_every_dependency(lock: str) -> None:
    locked = {line.partition("==")[0] for line in pins(lock)}
    assert {name for group in LOCKS[lock] for name in names(group)} <= locked


def test_the_development_lock_contains_the_run_lock() -> None:
    # Its markers may be wider: a tool can need a package on more platforms.
    run, dev = ({re.sub(r" ; .+? --hash", " --hash", line) for line in pins(lock)} for lock in ("run", "dev"))
    assert run <= dev


def test_continuous_integration_runs_what_the_contributor_runs() -> None:
    script = Path(ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in script
