"""docs/architecture.md draws the order that pyproject.toml enforces, and names modules and files that exist."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from tests.docs.tables import ROOT, code_spans, existing_module, rows

PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
GROUPS = {"base": "bases", "capability": "capabilities", "shell": "shells", "top": "top"}


def order() -> dict[str, Any]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = configuration["tool"]["importlinter"]["contracts"]
    return next(one for one in contracts if one["id"] == "capabilities")


def test_the_packages_drawn_are_the_packages_enforced_in_their_order() -> None:
    drawn: dict[str, list[str]] = {group: [] for group in GROUPS.values()}
    for row in rows(PAGE, ["Group", "Package", "Holds"]):
        drawn[GROUPS[row["Group"]]] += code_spans(row["Package"])
    assert drawn == {group: order()[group] for group in GROUPS.values()}


def test_the_floors_drawn_are_the_floors_enforced() -> None:
    named = {name for row in rows(PAGE, ["Floor", "Holds", "May import"]) for name in code_spans(row["Floor"])}
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = configuration["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["id"] == "floors")
    assert named == {name for layer in layers for name in re.findall(r"\w+", layer)}


def test_every_port_stands_in_the_table_of_ports_with_adapters_that_exist() -> None:
    table = rows(PAGE, ["Ports", "Hold", "Adapters"])
    source = ROOT / "src"
    paths = [*source.glob("ibi/*/ports.py"), *source.glob("ibi/*/ports/*.py")]
    modules = {".".join(path.relative_to(source).with_suffix("").parts) for path in paths if path.stem != "__init__"}
    assert {name for row in table for name in code_spans(row["Ports"])} == modules
    for row in table:
        for adapter in code_spans(row["Adapters"]):
            assert existing_module(adapter), adapter


def test_every_module_and_file_that_the_page_names_exists() -> None:
    spans = set(re.findall(r"`([^`\s]+)`", TEXT))
    modules = {span for span in spans if re.fullmatch(r"ibi(\.[a-z_0-9]+)+", span)} - {"ibi.css", "ibi.toml"}
    paths = {span for span in spans if re.fullmatch(r"[a-z_]+(/[a-z_0-9]+)*(/|\.py)", span) and span.count("/") > 1}
    paths |= {span for span in spans if re.fullmatch(r"[a-z_]+(/[a-z_0-9]+)+\.py", span)}
    assert len(modules) > 20
    assert len(paths) > 20
    assert [module for module in sorted(modules) if not existing_module(module)] == []
    assert [path for path in sorted(paths) if not any((ROOT / base / path).exists() for base in ("", "src/ibi"))] == []


def test_every_module_in_a_diagram_exists() -> None:
    diagrams = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    assert len(diagrams) >= 4
    named = {name for diagram in diagrams for name in re.findall(r"\bibi(?:\.[a-z_0-9]+)+", diagram)}
    assert len(named) > 20
    assert [name for name in sorted(named) if not existing_module(name)] == []


@pytest.mark.parametrize("walk", ["A cold link", "A deposit", "A transfer"])
def test_each_long_walk_has_its_diagram(walk: str) -> None:
    assert re.search(rf"^### {walk}\n(?:(?!^#|^```).*\n)*```text\n", TEXT, re.MULTILINE)
