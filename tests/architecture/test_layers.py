"""The contracts of pyproject.toml hold, cover every package, and really catch what they forbid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools.import_contracts import place_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ibi"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
PURE = {"model", "ports", "rules", "resources"}
"""The floors without I/O."""


def contract(identity: str) -> dict[str, Any]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = configuration["tool"]["importlinter"]["contracts"]
    return next(one for one in contracts if one["id"] == identity)


def packages() -> set[str]:
    return {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def floors(package: str) -> set[str]:
    inside = PACKAGE / package
    return {path.stem for path in inside.glob("*.py")} - {"__init__"} | {
        p.parent.name for p in inside.glob("*/__init__.py")
    }


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--no-logo"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(root / "src"), str(root)))},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to spoil."""
    for folder in ("src/ibi", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def append(module: Path, code: str) -> None:
    with module.open("a", encoding="utf-8") as file:
        file.write(f"\n\n{code}\n")


def test_the_package_keeps_its_contracts(copied: Path) -> None:
    outcome = lint_imports(copied)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_every_package_is_in_one_group_of_the_order() -> None:
    order = contract("capabilities")
    grouped = [name for group in ("bases", "capabilities", "shells", "top") for name in order[group]]
    assert sorted(grouped) == sorted(packages())


def test_every_capability_is_under_the_contract_of_floors() -> None:
    assert set(contract("floors")["containers"]) == {f"ibi.{name}" for name in contract("capabilities")["capabilities"]}


def test_every_floor_without_io_is_under_the_sans_io_contract() -> None:
    assert set(contract("sans-io")["source_modules"]) == {"ibi.standard", *(f"ibi.*.{floor}" for floor in PURE)}


def test_every_exception_of_the_order_has_a_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    for each in contract("capabilities")["exceptions"]:
        (line,) = [line for line in lines if f'"{each}"' in line]
        assert len(line.partition("#")[2].split()) >= 3, line


@pytest.mark.parametrize(
    ("module", "place"),
    [("ibi", ("", "")), ("ibi.web", ("web", "")), ("ibi.transfers.service.sending", ("transfers", "service"))],
)
def test_a_module_has_a_package_and_a_floor(module: str, place: tuple[str, str]) -> None:
    assert place_of(module) == place


ORDER, FLOORS, PORTS, SANS_IO = "Capabilities: ", "Floors: ", "Ports only: ", "Sans-IO: "
VIOLATIONS = {
    "a module outside every group": (ORDER, "stray.py", "import ibi.standard.errors"),
    "a package outside every group": (ORDER, "stray/__init__.py", "import ibi.standard.errors"),
    "a base that imports a capability": (ORDER, "storage/locks.py", "import ibi.items.model.item"),
    "a base that imports a later base": (ORDER, "standard/clock.py", "import ibi.jobs.limits"),
    "a lower capability that imports a higher one": (ORDER, "items/rules/errors.py", "import ibi.transfers.model"),
    "the same, hidden in a function": (
        ORDER,
        "items/rules/errors.py",
        "def f() -> None:\n    import ibi.transfers.model",
    ),
    "a store of another capability": (ORDER, "transfers/service/sending.py", "import ibi.items.store.ocfl.layout"),
    "a service that imports a shell": (ORDER, "transfers/service/sending.py", "import ibi.web.body"),
    "a service that imports a face": (ORDER, "transfers/service/sending.py", "import ibi.copies.api"),
    "a shell that imports a face": (ORDER, "web/body.py", "import ibi.copies.api"),
    "the composition below the top": (ORDER, "transfers/api.py", "import ibi.app.web"),
    "rules that import their service": (FLOORS, "usage/rules/counting.py", "import ibi.usage.service"),
    "a service that imports its page": (FLOORS, "usage/service.py", "import ibi.usage.pages"),
    "a floor without a name": (FLOORS, "usage/stray.py", "import ibi.usage.model"),
    "a database in a service": (PORTS, "usage/service.py", "from ibi.usage.store import SqliteUsageLog"),
    "a client in a service, hidden in a function": (
        PORTS,
        "minting/service/guard.py",
        "def f() -> None:\n    from ibi.minting.client import ask_identity",
    ),
    "a clock in the core": (SANS_IO, "standard/clock.py", "import time"),
    "a clock in the core, hidden in a function": (
        SANS_IO,
        "standard/clock.py",
        "def f() -> None:\n    from time import sleep",
    ),
    "a socket in the core": (SANS_IO, "standard/pairs.py", "import socket"),
    "chance in the core": (SANS_IO, "standard/label/grammar.py", "import random"),
    "a file system in the core": (SANS_IO, "standard/relation.py", "from os import path"),
    "an event loop in the core": (SANS_IO, "standard/persistent_url.py", "import asyncio"),
    "a database in rules": (SANS_IO, "items/rules/life_cycle.py", "import sqlite3"),
    "a framework in values": (SANS_IO, "items/model/item.py", "import starlette.requests"),
    "a client in ports": (SANS_IO, "transfers/ports.py", "def f() -> None:\n    import aiohttp"),
}


@pytest.mark.parametrize(("broken", "path", "code"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_a_violation_is_caught(copied: Path, broken: str, path: str, code: str) -> None:
    module = copied / "src" / "ibi" / path
    module.parent.mkdir(exist_ok=True)
    append(module, code)
    outcome = lint_imports(copied)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    assert any(line.startswith(broken) and "BROKEN" in line for line in outcome.stdout.splitlines()), outcome.stdout


def test_an_exception_that_is_not_needed_is_refused(copied: Path) -> None:
    configuration = copied / "pyproject.toml"
    text = configuration.read_text(encoding="utf-8")
    configuration.write_text(text.replace("exceptions = [", 'exceptions = [\n    "ibi.a -> ibi.b", # nothing at all'))
    outcome = lint_imports(copied)
    assert outcome.returncode == 1
    assert "the exception is not needed any more" in " ".join(outcome.stdout.split())
