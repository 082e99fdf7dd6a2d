"""Counts kept as plain numbers: what Prometheus is told is what its own library would have told."""

from __future__ import annotations

import re

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from ibi.web.request_middleware import CounterTally, HistogramTally

BUCKETS = (0.0001, 0.001, 0.25, 1, 10)
VALUES = (0.0, 1e-9, 0.0001, 0.00010001, 0.25, 0.3, 1, 9.99, 10, 11.5)


def told(registry: CollectorRegistry) -> str:
    """All that is told, but for when the counting began."""
    return re.sub(r"(_created(?:\{.*\})?) .*", r"\1", generate_latest(registry).decode())


@pytest.mark.parametrize("counted", [[], [("GET", 302)], [("GET", 302), ('a "b"\n\\c', 200), ("GET", 302)]])
def test_counters_are_told_line_for_line(counted: list[tuple[str, int]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally = CounterTally("answers", "Answers.", ["method", "status"], registry=ours)
    counter = Counter("answers", "Answers.", ["method", "status"], registry=theirs)
    for values in counted:
        tally.add(*values)
        counter.labels(*values).inc()
    assert told(ours) == told(theirs)
    assert told(ours).count("answers_created{") == len(set(counted))


@pytest.mark.parametrize("number", [0, 1, len(VALUES)])
def test_histograms_are_told_line_for_line(number: int) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally = HistogramTally("seconds", "Seconds.", BUCKETS, registry=ours)
    histogram = Histogram("seconds", "Seconds.", buckets=BUCKETS, registry=theirs)
    for value in VALUES[:number]:
        tally.observe(value)
        histogram.observe(value)
    assert told(ours) == told(theirs)
    assert f"seconds_count {float(number)}" in told(ours).splitlines()


def test_a_name_is_given_once() -> None:
    registry = CollectorRegistry()
    CounterTally("answers", "Answers.", ["method"], registry=registry)
    HistogramTally("seconds", "Seconds.", BUCKETS, registry=registry)
    with pytest.raises(ValueError, match="answers"):
        Counter("answers", "Answers.", ["method"], registry=registry)
    with pytest.raises(ValueError, match="seconds"):
        HistogramTally("seconds", "Seconds.", BUCKETS, registry=registry)
