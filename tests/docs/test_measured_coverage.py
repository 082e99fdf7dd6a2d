"""The README's figure of coverage is one that `make check` enforces: the run fails when less is measured."""

from __future__ import annotations

import re
import tomllib

from tests.docs.tables import ROOT

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def recipe(target: str) -> str:
    found = re.search(rf"^{target}:.*\n((?:\t.+\n)+)", MAKEFILE, re.MULTILINE)
    assert found
    return found[1]


def test_the_readme_tells_no_more_than_is_enforced() -> None:
    figures = re.findall(r"cover (\d+) %", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [int(figure) for figure in figures] == [CONFIGURATION["report"]["fail_under"]]


def test_the_whole_package_is_measured() -> None:
    assert CONFIGURATION["run"]["source_pkgs"] == ["ibi"]
    assert "omit" not in {*CONFIGURATION["run"], *CONFIGURATION["report"]}


def test_only_the_check_measures() -> None:
    assert "--cov" in recipe("check")
    assert "--cov" not in recipe("test")
    assert not any("cov" in option for option in pytest_options())


def pytest_options() -> list[str]:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(pyproject["tool"]["pytest"]["ini_options"]["addopts"])
