"""The Python samples of the pages: they print what the page shows, and a strict type check accepts them."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ibi
from tests.docs.tables import ROOT, code_spans, rows

LIBRARY = ROOT / "docs" / "library.md"
PAGES = [ROOT / "README.md", LIBRARY]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL), 1)
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_of_samples_has_some(page: Path) -> None:
    assert any(str(block.id).startswith(f"{page.stem}-") for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_sample_prints_what_its_page_shows(block: str) -> None:
    example = doctest.DocTestParser().get_doctest(block, {}, "sample", None, 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(example, out=said.append).failed == 0, "".join(said)


def test_the_samples_pass_a_strict_type_check(tmp_path: Path) -> None:
    parser = doctest.DocTestParser()
    for number, block in enumerate(BLOCKS):
        (text,) = block.values
        source = "".join(each.source for each in parser.get_examples(str(text)))
        (tmp_path / f"sample_{number}.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache")]
    files = sorted(map(str, tmp_path.glob("*.py")))
    checked = subprocess.run([*command, *cache, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_page_of_the_library_has_a_row_for_every_export() -> None:
    named = [name for row in rows(LIBRARY, ["Name", "What it is"]) for name in code_spans(row["Name"])]
    assert sorted(named) == sorted(ibi.__all__)
