"""docs/monitoring.md names every figure that a server tells, and no other."""

from __future__ import annotations

from pathlib import Path

from tests.docs.figures import server_figures
from tests.docs.tables import ROOT, code_spans, rows


async def test_every_figure_is_explained(tmp_path: Path) -> None:
    explained = rows(ROOT / "docs" / "monitoring.md", ["Figure", "Tells"])
    told = [figure.name for figure in await server_figures(tmp_path)]
    assert sorted(name for row in explained for name in code_spans(row["Figure"])) == sorted(told)
