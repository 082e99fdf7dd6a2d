"""Short: the figures of a server under `/metrics`, for tests of the pages and samples that name them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ibi.items.service.integrity.integrity import Integrity
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.jobs.runner import JobRunner
from ibi.membership.client.register_client import RegisterClient
from ibi.resolver.api.resolver_metrics import DisputeMetrics, ResolverMetrics, StandbyMetrics
from ibi.resolver.service.disputes import Disputes
from ibi.resolver.service.standby import KeptRegister
from ibi.web.metrics import FollowMetrics, HoldingsMetrics, IntegrityMetrics, JobCollector
from ibi.web.request_middleware import Metrics
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.registers import MemoryRegisterStore
from tests.support.memory.registry import MemoryRegistry
from tests.support.records_app import records_app


@dataclass(frozen=True)
class Figure:
    """One family of figures."""

    name: str
    kind: str
    labels: frozenset[str]

    def series(self) -> set[str]:
        """The names of its series, as queries have them."""
        ends = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(self.kind, ("",))
        return {self.name + end for end in ends}


async def server_figures(place: Path) -> list[Figure]:
    """All that a server with an Archive, a resolver and subscriptions tells."""
    registry = Metrics().registry
    ResolverMetrics(registry)
    DisputeMetrics(registry, Disputes(MemoryRegistry(), MemoryBeliefs()))
    gateway = RegisterClient("http://resolver.example.org")
    StandbyMetrics(registry, KeptRegister(gateway, MemoryRegisterStore(), "http://resolver.example.org"))
    async with records_app(place / "data") as app:
        HoldingsMetrics(registry, app.site, None, app.drafts)
    with closing(SqliteIntegrity(place / "catalogue.sqlite")) as ledger:
        IntegrityMetrics(registry, Integrity(ledger))
    FollowMetrics(registry, list, list)
    registry.register(JobCollector(JobRunner()))
    collectors = registry._names_to_collectors
    return [
        Figure(family.name, family.type, _labels(collectors[family.name]))
        for family in registry.collect()
        if family.name.startswith("ibi_")
    ]


def _labels(collector: object) -> frozenset[str]:
    names = getattr(collector, "_labelnames", None) or getattr(collector, "_labels", None)
    return frozenset(names) if isinstance(names, tuple) else frozenset()
