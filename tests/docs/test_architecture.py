"""docs/architecture.md draws the layers that pyproject.toml enforces, and says truly which exist."""

from __future__ import annotations

import re
import tomllib

from tests.docs.tables import ROOT, code_spans, existing_module, rows

PAGE = ROOT / "docs" / "architecture.md"
ROWS = rows(PAGE, ["Layer", "Holds", "State"])


def enforced_layers() -> list[list[str]]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = configuration["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["id"] == "layers")
    return [[name.strip(" ()") for name in layer.split("|")] for layer in layers]


def exists(name: str) -> bool:
    package = ROOT / "src" / "ibi"
    return (package / f"{name}.py").is_file() or (package / name / "__init__.py").is_file()


def test_the_layers_drawn_are_the_layers_enforced() -> None:
    drawn = [re.findall(r"\w+", row["Layer"]) for row in ROWS]
    assert drawn == enforced_layers()


def test_a_layer_is_called_planned_exactly_while_it_does_not_exist() -> None:
    for row in ROWS:
        names = re.findall(r"\w+", row["Layer"])
        planned = names if row["State"] == "planned" else re.findall(r"\w+", row["State"].partition("planned:")[2])
        assert planned == [name for name in names if not exists(name)], row["Layer"]


def test_every_port_stands_in_the_table_of_ports_with_adapters_that_exist() -> None:
    table = rows(PAGE, ["Port", "Holds", "Adapter"])
    ports = {path.stem for path in (ROOT / "src" / "ibi" / "ports").glob("*.py")} - {"__init__"}
    assert {name for row in table for name in code_spans(row["Port"])} == ports
    for row in table:
        for adapter in code_spans(row["Adapter"]):
            assert existing_module(adapter), adapter


def test_every_module_and_file_that_the_page_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    spans = set(re.findall(r"`([^`\s]+)`", text))
    modules = {span for span in spans if re.fullmatch(r"ibi(\.[a-z_0-9]+)+", span)} - {"ibi.css", "ibi.toml"}
    paths = {span for span in spans if re.fullmatch(r"[a-z_]+(/[a-z_0-9]+)*(/|\.py)", span) and span.count("/") > 1}
    paths |= {span for span in spans if re.fullmatch(r"[a-z_]+(/[a-z_0-9]+)+\.py", span)}
    assert len(modules) > 20
    assert len(paths) > 20
    assert [module for module in sorted(modules) if not existing_module(module)] == []
    assert [path for path in sorted(paths) if not any((ROOT / base / path).exists() for base in ("", "src/ibi"))] == []
