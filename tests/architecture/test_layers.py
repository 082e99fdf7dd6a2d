"""The contracts of pyproject.toml hold, cover every layer, and really catch what they forbid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ibi"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


def contract(identity: str) -> dict[str, Any]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = configuration["tool"]["importlinter"]["contracts"]
    return next(one for one in contracts if one["id"] == identity)


def layers() -> list[list[str]]:
    """Top first; the names that share a layer together."""
    return [[name.strip(" ()") for name in layer.split("|")] for layer in contract("layers")["layers"]]


def names_in(package: Path) -> set[str]:
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in package.glob("*/__init__.py")}


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--no-logo"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to spoil."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "ibi", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def append(module: Path, code: str) -> None:
    with module.open("a", encoding="utf-8") as file:
        file.write(f"\n\n{code}\n")


def test_the_package_keeps_its_contracts(copied: Path) -> None:
    outcome = lint_imports(copied)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_every_sans_io_layer_that_exists_is_under_the_sans_io_contract() -> None:
    order = layers()
    lowest_with_io = next(index for index, layer in enumerate(order) if "storage" in layer)
    below = {name for layer in order[lowest_with_io + 1 :] for name in layer}
    assert {f"ibi.{name}" for name in below & names_in(PACKAGE)} == set(contract("sans-io")["source_modules"])


LAYERS, PORTS, SANS_IO = "Layers: ", "Ports only: ", "Sans-IO: "
VIOLATIONS = {
    "a module outside every layer": (LAYERS, "stray.py", "ONE = 1"),
    "an import upward": (LAYERS, "errors.py", "import ibi.instant"),
    "an import upward, hidden in a function": (LAYERS, "errors.py", "def f() -> None:\n    import ibi.instant"),
    "an import between siblings": (LAYERS, "clock.py", "import ibi.pairs"),
    "a database in a service": (PORTS, "services/readiness.py", "from ibi.storage.sqlite.catalog import SqliteCatalog"),
    "a client in a service, hidden in a function": (
        PORTS,
        "services/minting/mint_guard.py",
        "def f() -> None:\n    from ibi.transport.identity_probe import ask_identity",
    ),
    "a clock in the core": (SANS_IO, "clock.py", "import time"),
    "a clock in the core, hidden in a function": (SANS_IO, "clock.py", "def f() -> None:\n    from time import sleep"),
    "a socket in the core": (SANS_IO, "pairs.py", "import socket"),
    "chance in the core": (SANS_IO, "label/numerals.py", "import random"),
    "a file system in the core": (SANS_IO, "relation.py", "from os import path"),
    "an event loop in the core": (SANS_IO, "persistent_url.py", "import asyncio"),
    "a database in the core": (SANS_IO, "errors.py", "import sqlite3"),
    "a framework in the core": (SANS_IO, "clock.py", "import starlette.requests"),
    "a client in the core": (SANS_IO, "pairs.py", "def f() -> None:\n    import aiohttp"),
}


@pytest.mark.parametrize(("broken", "path", "code"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_a_violation_is_caught(copied: Path, broken: str, path: str, code: str) -> None:
    append(copied / "src" / "ibi" / path, code)
    outcome = lint_imports(copied)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    assert any(line.startswith(broken) and "BROKEN" in line for line in outcome.stdout.splitlines()), outcome.stdout
