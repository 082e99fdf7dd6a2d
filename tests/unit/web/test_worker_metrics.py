"""The metrics of several workers are their sum, and never fall."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ibi.jobs.runner import JobHealth, JobRunner
from ibi.server.worker_state import WorkerState
from ibi.web.metrics import JobCollector, WorkerMetrics
from ibi.web.request_middleware import CounterTally


@pytest.fixture
def state() -> Iterator[WorkerState]:
    found = WorkerState(2)
    yield found
    found.close()


class Worker:
    def __init__(self, state: WorkerState, slot: int) -> None:
        registry = CollectorRegistry()
        self.tally = CounterTally("clicks", "Clicks.", ["place"], registry=registry)
        self.counter = Counter("labels", "Labels.", registry=registry)
        self.histogram = Histogram("waits", "Waits.", buckets=(1, 2), registry=registry)
        self.gauge = Gauge("items", "Items.", registry=registry)
        self.memory = Gauge("process_open_fds", "Open files.", registry=registry)
        state.occupy(slot)
        self.metrics = WorkerMetrics(state, slot, registry, self.tally.total)


def values(text: bytes) -> dict[str, float]:
    found = re.findall(r"^([^#\s]+) (\S+)$", text.decode(), re.MULTILINE)
    return {name: float(value) for name, value in found if "_created" not in name}


def test_counters_are_added_up_and_gauges_are_not(state: WorkerState) -> None:
    one, other = Worker(state, 0), Worker(state, 1)
    for worker in (one, other):
        worker.tally.add("here")
        worker.counter.inc(2)
        worker.histogram.observe(1.5)
        worker.gauge.set(7)
        worker.memory.set(10)
    other.tally.add("there")

    async def ask() -> bytes:
        other.metrics.start()
        try:
            return await one.metrics.text()
        finally:
            await other.metrics.stop()

    found = values(asyncio.run(ask()))
    assert found['clicks_total{place="here"}'] == 2
    assert found['clicks_total{place="there"}'] == 1
    assert found["labels_total"] == 4
    assert (found['waits_bucket{le="2.0"}'], found["waits_count"], found["waits_sum"]) == (2, 2, 3)
    assert (found["items"], found["process_open_fds"]) == (7, 20)


def test_what_a_worker_counted_stays_when_it_is_gone_and_goes_on_with_the_next(state: WorkerState) -> None:
    one, other = Worker(state, 0), Worker(state, 1)
    other.tally.add("here")
    other.memory.set(10)
    other.metrics.publish()
    state.vacate(1)
    after = values(asyncio.run(one.metrics.text()))
    assert (after['clicks_total{place="here"}'], after["process_open_fds"]) == (1, 0)
    following = Worker(state, 1)
    following.tally.add("here")
    following.metrics.publish()
    assert values(asyncio.run(one.metrics.text()))['clicks_total{place="here"}'] == 2
    state.vacate(1)
    Worker(state, 1).metrics.publish()
    assert values(asyncio.run(one.metrics.text()))['clicks_total{place="here"}'] == 2


def test_a_worker_that_does_not_answer_is_not_waited_for_for_long(state: WorkerState) -> None:
    one, silent = Worker(state, 0), Worker(state, 1)
    silent.tally.add("here")
    silent.metrics.publish()
    silent.tally.add("here")
    assert values(asyncio.run(one.metrics.text()))['clicks_total{place="here"}'] == 1


def test_figures_are_published_when_something_was_counted(state: WorkerState) -> None:
    one = Worker(state, 0)
    for _ in range(2):
        one.metrics.publish_if_busy()
        one.metrics.publish_if_busy()
        one.tally.add("here")
    assert state.figures.version(0) == 2


class _Runner(JobRunner):
    """Says how jobs do."""

    def __init__(self, *health: JobHealth) -> None:
        super().__init__()
        self.said = health

    def health(self) -> tuple[JobHealth, ...]:
        return self.said


def test_of_jobs_failures_are_added_up_and_the_latest_success_counts_also_that_of_a_worker_that_is_gone(
    state: WorkerState,
) -> None:
    workers = []
    for slot, (failures, success) in enumerate([(1, None), (2, 50.0)]):
        registry = CollectorRegistry()
        registry.register(JobCollector(_Runner(JobHealth("texts", True, failures, None, success, ""))))
        state.occupy(slot)
        workers.append(WorkerMetrics(state, slot, registry, lambda: 0))
    workers[1].publish()
    state.vacate(1)
    found = values(asyncio.run(workers[0].text()))
    assert found['ibi_job_failures_total{job="texts"}'] == 3
    assert found['ibi_job_last_success_seconds{job="texts"}'] == 50
    registry = CollectorRegistry()
    registry.register(JobCollector(_Runner(JobHealth("texts", True, 0, None, 40.0, ""))))
    state.occupy(1)
    WorkerMetrics(state, 1, registry, lambda: 0).publish()
    assert values(asyncio.run(workers[0].text()))['ibi_job_last_success_seconds{job="texts"}'] == 50
