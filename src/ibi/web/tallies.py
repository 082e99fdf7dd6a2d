"""Counts that an event loop keeps as plain numbers, and Prometheus is told when it asks.

The library's own may be counted by several threads at a time, each behind a lock: for what happens at every request
that costs more than all that is counted of it. What is told is the same, line for line.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import inf

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

__all__ = ["CounterTally", "HistogramTally"]


class CounterTally(Collector):
    """How often, by the values of its labels. All of them come from one thread, which is also the one that tells."""

    def __init__(self, name: str, words: str, labels: Sequence[str], *, registry: CollectorRegistry) -> None:
        self._name, self._words, self._labels = name, words, tuple(labels)
        self._counts: dict[tuple[object, ...], int] = {}
        self._began: dict[tuple[object, ...], float] = {}
        registry.register(self)

    def add(self, *values: object) -> None:
        """Once more, for those values of the labels in their order."""
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

    describe = collect  # the registry sees to it that a name is given once


class HistogramTally(Collector):
    """How many were not above each of the `buckets`, and the sum of all; from one thread, as above."""

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
