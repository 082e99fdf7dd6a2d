"""docs/monitoring.md names every figure that a server tells, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.figures import server_figures
from tests.docs.tables import ROOT, code_spans, rows


async def test_every_figure_is_explained(tmp_path: Path) -> None:
    explained = rows(ROOT / "docs" / "monitoring.md", ["Figure", "Tells"])
    told = [figure.name for figure in await server_figures(tmp_path)]
    assert sorted(name for row in explained for name in code_spans(row["Figure"])) == sorted(told)


def test_every_part_of_readiness_is_named_and_no_other() -> None:
    sources = (path.read_text() for path in (ROOT / "src" / "ibi").rglob("*.py"))
    parts = {name for text in sources for name in re.findall(r'(?:ReadinessCheck|CheckedPart)\("([^"]+)"', text)}
    said = (ROOT / "docs" / "monitoring.md").read_text()
    named = re.search(r"each part that was looked at \(([^)]*)\)", said)
    assert named is not None
    assert set(code_spans(named[1])) == parts
