"""`make install` on a machine that lacks something says in one line what; nothing here reaches the network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # A make above this one would hand down its flags.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def own_lines(outcome: subprocess.CompletedProcess[str]) -> list[str]:
    """What was printed, without what make says of itself."""
    lines = (outcome.stdout + outcome.stderr).splitlines()
    return [line for line in lines if not re.match(r"make(\[\d+\])?: ", line)]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def interpreter(folder: Path, *, refuses: str) -> Path:
    """A Python that fails on code that mentions `refuses`."""
    script = folder / "some-python"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *{refuses}*) exit 1;; esac\nexec "{sys.executable}" "$@"\n', encoding="utf-8"
    )
    script.chmod(0o755)
    return script


def test_without_venv_it_names_the_package_to_install(clone: Path) -> None:
    outcome = make(clone, "install", f"PYTHON={interpreter(clone, refuses='ensurepip')}")
    assert outcome.returncode
    assert len(own_lines(outcome)) == 1
    assert "apt-get install python3-venv" in own_lines(outcome)[0]
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("python", ["an old one", "none"])
def test_without_a_new_enough_python_it_says_which(clone: Path, python: str) -> None:
    path = interpreter(clone, refuses="version_info") if python == "an old one" else clone / "missing"
    outcome = make(clone, "install", f"PYTHON={path}")
    assert outcome.returncode
    assert len(own_lines(outcome)) == 1
    assert "Python 3.11 or newer" in own_lines(outcome)[0]
    assert not (clone / ".venv").exists()


def test_every_target_meant_for_people_is_in_the_help(clone: Path) -> None:
    phony = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert phony
    listed = {line.split()[1] for line in make(clone, "help").stdout.splitlines() if line.startswith("make ")}
    assert listed == set(phony[1].split())


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda page: page.name)
def test_every_target_a_page_names_exists(page: Path) -> None:
    commands = re.findall(r"(?:^|`)make (?:[A-Z]+=\S* )*([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in commands if not re.search(rf"^{name}:", MAKEFILE, re.MULTILINE)] == []


def test_nothing_is_built_from_source_but_the_package_itself() -> None:
    """Every command that fetches packages takes wheels alone; the package itself is built from here, without others."""
    recipes = MAKEFILE.replace("\\\n", " ")
    fetching = re.findall(r"^.*\bpip (?:install|sync|compile)\b.*$", recipes, re.MULTILINE)
    assert len(fetching) == 4
    for command in fetching:
        assert "$(WHEELS)" in command or ("--no-deps --no-build-isolation --editable ." in command), command
    assert re.search(r"^WHEELS := --only-binary :all:$", MAKEFILE, re.MULTILINE)


def test_the_environment_has_no_installer_that_ages() -> None:
    """What `make dev` made, in which these tests run."""
    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("not in the environment of the Makefile")
    found = {path.name.partition("-")[0] for path in Path(sys.prefix).glob("lib/python3*/site-packages/*.dist-info")}
    assert "ibi" in found
    assert found.isdisjoint({"pip", "setuptools"})
