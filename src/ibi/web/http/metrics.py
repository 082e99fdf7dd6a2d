"""`GET /metrics` for Prometheus. Every label has a handful of values; none comes from a request's own words.

The library's own counters take a lock for each count, because several threads may use them: at every request that would
cost more than the rest of the counting. The output is the same, line for line.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import inf
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import IbiError
from ibi.model.content import Problem
from ibi.ports.errors import StorageError
from ibi.services.integrity.integrity import Integrity
from ibi.services.minting.mint_queue import MintGroup
from ibi.services.readiness import Readiness, clock_refusal
from ibi.web.http.errors import ANSWERS


class CounterTally(Collector):
    """A counter by the values of its labels. Counted and collected in one thread."""

    def __init__(self, name: str, words: str, labels: Sequence[str], *, registry: CollectorRegistry) -> None:
        self._name, self._words, self._labels = name, words, tuple(labels)
        self._counts: dict[tuple[object, ...], int] = {}
        self._began: dict[tuple[object, ...], float] = {}
        registry.register(self)

    def add(self, *values: object) -> None:
        """Count one more for these values of the labels, in their order."""
        try:
            self._counts[values] += 1
        except KeyError:
            self._counts[values] = 1
            self._began[values] = time.time()

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(self._name, self._words, labels=self._labels)
        for values, number in self._counts.items():
            family.add_metric([*map(str, values)], number, created=self._began[values])
        yield family

    describe = collect  # the registry checks that each name is given once


class HistogramTally(Collector):
    """A histogram: the number of values up to each of the `buckets`, and the sum of all. For one thread, as above."""

    def __init__(self, name: str, words: str, buckets: Sequence[float], *, registry: CollectorRegistry) -> None:
        self._name, self._words, self._bounds = name, words, (*map(float, buckets), inf)
        self._counts, self._sum = [0] * len(self._bounds), 0.0
        self._began = time.time()
        registry.register(self)

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._words)
        totals = accumulate(self._counts)
        written = map(floatToGoString, self._bounds)
        buckets = [*zip(written, totals, strict=True)]
        family.add_metric([], buckets, self._sum)
        family.add_sample(f"{self._name}_created", {}, self._began)
        yield family

    describe = collect


_FRESH: Final = 10.0
"""Seconds for which the figures are reused: counting a million items takes a moment."""


class IntegrityMetrics:
    def __init__(self, registry: CollectorRegistry, integrity: Integrity, now: Callable[[], float] = time.time) -> None:
        self._integrity, self._now, self._counted = integrity, now, -_FRESH
        self._found = Counter("ibi_damage_found", "Times that kept content was found damaged.", registry=registry)
        self._damaged = Gauge("ibi_items_damaged", "Items of which something kept is damaged.", registry=registry)
        self._unverified = Gauge(
            "ibi_items_never_verified", "Items that no verification has read since they were kept.", registry=registry
        )
        self._last = Gauge(
            "ibi_last_verification_seconds", "When an item was verified last, in seconds since 1970.", registry=registry
        )
        self._age = Gauge(
            "ibi_oldest_verification_age_seconds",
            "Time since that item was verified which has waited longest.",
            registry=registry,
        )
        integrity.watch(self._count)

    async def refresh(self) -> None:
        """Update the figures; called before they are collected."""
        if time.monotonic() < self._counted + _FRESH:
            return
        self._counted = time.monotonic()
        try:
            summary = await asyncio.to_thread(self._integrity.summary)
        except StorageError:
            return  # the earlier figures stay
        self._damaged.set(summary.damaged)
        self._unverified.set(summary.items - summary.verified)
        self._last.set(summary.newest or 0)
        self._age.set(0 if summary.oldest is None else max(0, self._now() - summary.oldest))

    def _count(self, name: str, problem: Problem) -> None:
        self._found.inc()
        self._counted = -_FRESH


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "other"
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_WAITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class Metrics:
    """Counters of one server, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)
        self._labels = Counter("ibi_labels_minted", "Labels minted by this server.", registry=registry)
        self._requests = Counter(
            "ibi_mint_requests", "Requests for labels, by what became of them.", ["outcome"], registry=registry
        )
        self._group = Histogram(
            "ibi_mint_group_requests", "Requests that shared one commit.", buckets=_GROUPS, registry=registry
        )
        self._commit = Histogram("ibi_mint_commit_seconds", "Time a commit took.", buckets=_WAITS, registry=registry)
        self._failures = Counter("ibi_mint_commit_failures", "Commits that failed.", registry=registry)
        self._latency = Histogram(
            "ibi_mint_seconds",
            "Time from a request for labels to their being ready, waits for their dates included.",
            buckets=_WAITS,
            registry=registry,
        )
        self.clock_refused = Gauge(
            "ibi_clock_refused", "1 while nothing is minted because of this machine's clock.", registry=registry
        )
        self._answers = CounterTally(
            "ibi_http_requests",
            "Requests by route, method and status.",
            ["route", "method", "status"],
            registry=registry,
        )
        self._connections_refused = Counter(
            "ibi_connections_refused",
            "Connections refused because their client, or the server, had too many.",
            ["reason"],
            registry=registry,
        )
        self._connections_broken = Counter(
            "ibi_connections_broken",
            "Connections broken because too much waited for them, or others needed their places.",
            ["reason"],
            registry=registry,
        )
        for reason in ("client", "server"):
            self._connections_refused.labels(reason)
        for reason in ("unread", "displaced"):
            self._connections_broken.labels(reason)
        self._descriptors_exhausted = Counter(
            "ibi_descriptors_exhausted", "Seconds in which no file could be opened.", registry=registry
        )
        self._uploads_refused = Counter(
            "ibi_uploads_refused",
            "Files sent to drafts and refused, by the code of the error.",
            ["code"],
            registry=registry,
        )
        self._misdirected = Counter(
            "ibi_misdirected_requests", "Requests refused because they named a host not served here.", registry=registry
        )
        self._minted = self._requests.labels("minted")

    def count_group(self, group: MintGroup) -> None:
        """A commit was made, or failed."""
        self._group.observe(group.requests)
        self._commit.observe(group.seconds)
        if group.minted:
            self._labels.inc(group.minted)
        if group.failure is not None:
            self._failures.inc()

    def count_served(self, seconds: float) -> None:
        self._minted.inc()
        self._latency.observe(seconds)

    def count_refused(self, error: IbiError) -> None:
        self._requests.labels(error.code if error.code in ANSWERS else _OTHER).inc()

    def count_connection_refused(self, reason: str) -> None:
        self._connections_refused.labels(reason).inc()

    def count_connection_broken(self, reason: str) -> None:
        self._connections_broken.labels(reason).inc()

    def count_descriptors_exhausted(self) -> None:
        self._descriptors_exhausted.inc()

    def count_upload_refused(self, code: str) -> None:
        self._uploads_refused.labels(code if code in ANSWERS else _OTHER).inc()

    def count_misdirected(self) -> None:
        self._misdirected.inc()

    def count_answer(self, route: str | None, method: str, status: int) -> None:
        """Count an answer. `route` is a pattern of ours, None where no route matched."""
        self._answers.add(route or _OTHER, method if method in _METHODS else _OTHER, status)


class MetricsPage:
    def __init__(self, metrics: Metrics, readiness: Readiness, integrity: IntegrityMetrics | None = None) -> None:
        self._metrics, self._readiness, self._integrity = metrics, readiness, integrity

    async def get(self, _: Request) -> Response:
        refusal = clock_refusal(await self._readiness.reasons())
        self._metrics.clock_refused.set(refusal is not None)
        if self._integrity is not None:
            await self._integrity.refresh()
        return Response(
            generate_latest(self._metrics.registry),
            headers={"cache-control": "no-store"},
            media_type=CONTENT_TYPE_LATEST,
        )
