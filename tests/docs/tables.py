"""Reads the tables of the Markdown pages, and looks for what their cells name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
_CODE_SPAN = re.compile(r"`([^`]+)`")
_BORDER = re.compile(r"(?<!\\)\|")


def rows(page: Path, header: list[str]) -> list[dict[str, str]]:
    """The rows of every table of `page` with this header, in order."""
    found: list[dict[str, str]] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace(r"\|", "|") for cell in _BORDER.split(line)[1:-1]]
        if inside and cells:
            assert len(cells) == len(header), f"{page.name}: {line}"
            found.append(dict(zip(header, cells, strict=True)))
        inside = bool(cells) and (inside or cells == header)
    return [row for row in found if set(row[header[0]]) - set("-:")]


def code_spans(cell: str) -> list[str]:
    return _CODE_SPAN.findall(cell)


def existing_module(name: str) -> bool:
    """Whether `name` is a module of the package, or something defined in one (`ibi.standard.clock.next_tick`)."""
    module, _, attribute = name.rpartition(".")
    if not name.startswith("ibi."):
        return False
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return existing_module(module) and hasattr(import_module(module), attribute)
    return True


def existing_test(name: str) -> bool:
    """Whether `name` is a file of tests, a folder of such, or one test in a file (`path::test`)."""
    path, _, function = name.partition("::")
    place = ROOT / path
    if not path.startswith("tests/"):
        return False
    if place.is_dir():
        return any(place.rglob("test_*.py"))
    return place.is_file() and (not function or f"def {function}(" in place.read_text(encoding="utf-8"))
