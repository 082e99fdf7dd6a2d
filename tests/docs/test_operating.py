"""docs/operating.md names every figure that a server tells, and no other."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ibi.services.integrity.integrity import Integrity
from ibi.services.resolving.disputes import Disputes
from ibi.storage.sqlite.integrity import SqliteIntegrity
from ibi.web.http.follow_metrics import FollowMetrics
from ibi.web.http.holdings_metrics import HoldingsMetrics
from ibi.web.http.polled_figures import IntegrityMetrics
from ibi.web.http.request_middleware import Metrics
from ibi.web.resolver.resolver_metrics import DisputeMetrics, ResolverMetrics
from tests.docs.tables import ROOT, code_spans, rows
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.registry import MemoryRegistry
from tests.support.records_app import records_app


async def test_every_figure_is_explained(tmp_path: Path) -> None:
    explained = rows(ROOT / "docs" / "operating.md", ["Figure", "Tells"])
    registry = Metrics().registry
    ResolverMetrics(registry)
    DisputeMetrics(registry, Disputes(MemoryRegistry(), MemoryBeliefs()))
    async with records_app(tmp_path / "data") as app:
        HoldingsMetrics(registry, app.site)
    with closing(SqliteIntegrity(tmp_path / "integrity.sqlite")) as ledger:
        IntegrityMetrics(registry, Integrity(ledger))
    FollowMetrics(registry, list, list)
    told = [family.name for family in registry.collect() if family.name.startswith("ibi_")]
    assert sorted(name for row in explained for name in code_spans(row["Figure"])) == sorted(told)
