"""The metrics of a server of several workers: whichever is asked gives the sum of all.

Each worker publishes its figures every second while it has work, and when another is asked for the metrics. What a
worker has published stays when it ends, and the next one in its slot goes on from there: no counter ever falls. Nothing
is shown that was not published before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric

from ibi.storage.worker_state import WorkerState

_PATIENCE: Final = 0.25
"""Seconds that the others have to publish; of one that does not, the figures of a moment ago are taken."""
_LOOK: Final = 0.002
_SUMMED: Final = frozenset({"counter", "histogram", "summary"})
_OF_PROCESSES: Final = frozenset({"process_virtual_memory_bytes", "process_resident_memory_bytes", "process_open_fds"})
"""Gauges that tell of one process: those of all that run are added up. All others tell of the whole server."""
_CREATED: Final = "_created"

SampleKey: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]


class Family(msgspec.Struct):
    """One metric: its samples by their names and labels."""

    kind: str
    words: str
    samples: list[tuple[str, dict[str, str], float]]

    def values(self) -> dict[SampleKey, float]:
        return {(name, tuple(labels.items())): value for name, labels, value in self.samples}


Families: TypeAlias = dict[str, Family]
_decode: Final[Callable[[bytes], Families]] = msgspec.json.Decoder(Families).decode


def take_figures(registry: CollectorRegistry) -> Families:
    """What a registry has at the moment."""
    return {
        metric.name: Family(
            metric.type,
            metric.documentation,
            [(sample.name, dict(sample.labels), sample.value) for sample in metric.samples],
        )
        for metric in registry.collect()
    }


def add_figures(own: Families, others: Iterable[Families], *, with_gauges: bool) -> Families:
    """What is counted by all; of gauges, those of processes are added up if they are wanted and others are `own`."""
    found = dict(own)
    for families in others:
        for name, family in families.items():
            if family.kind in _SUMMED or (with_gauges and name in _OF_PROCESSES):
                known = found.get(name)
                found[name] = family if known is None else _add(known, family)
    return found


def _add(one: Family, other: Family) -> Family:
    values = one.values()
    for key, value in other.values().items():
        before = values.get(key)
        if before is None:
            values[key] = value
        else:  # what was begun twice was begun when it was begun first
            values[key] = min(before, value) if key[0].endswith(_CREATED) else before + value
    return Family(one.kind, one.words, [(name, dict(labels), value) for (name, labels), value in values.items()])


class _Figures(CollectorRegistry):
    """Figures to be written as a registry is."""

    def __init__(self, families: Families) -> None:
        super().__init__()
        self._families = families

    def collect(self) -> Iterator[Metric]:
        for name, family in self._families.items():
            metric = Metric(name, family.words, family.kind)
            for sample, labels, value in family.samples:
                metric.add_sample(sample, labels, value)
            yield metric


class WorkerMetrics:
    """The figures of one worker, and the sum that it gives. For its event loop."""

    def __init__(self, state: WorkerState, slot: int, registry: CollectorRegistry, count: Callable[[], int]) -> None:
        """`count` is another number after each request."""
        self._state, self._board, self._slot, self._registry = state, state.figures, slot, registry
        before = self._board.read(slot)
        self._before = add_figures({}, [] if before is None else [_decode(before)], with_gauges=False)
        """What the workers counted that had this slot before."""
        self._count, self._counted = count, -1
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Answer other workers; on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._board.calls(self._slot), self._answer)

    async def stop(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._board.calls(self._slot))
        self.publish()

    def publish_if_busy(self) -> None:
        """Publish if anything was counted since the last time; to be called every second."""
        counted = self._count()
        if counted != self._counted:
            self._counted = counted
            self.publish()

    def publish(self) -> Families:
        own = add_figures(take_figures(self._registry), [self._before], with_gauges=False)
        self._board.publish(self._slot, msgspec.json.encode(own))
        return own

    def _answer(self) -> None:
        calls = self._board.calls(self._slot)
        calls.setblocking(False)
        try:
            while calls.recv(1):
                pass
        except BlockingIOError:
            self.publish()

    async def text(self) -> bytes:
        """The sum, as Prometheus reads it."""
        others = [slot for slot in self._state.used() if slot != self._slot]
        await self._have_published([slot for slot in others if self._state.is_live(slot)])
        own = self.publish()
        live: list[Families] = []
        gone: list[Families] = []
        for slot in others:
            content = self._board.read(slot)
            if content is not None:
                (live if self._state.is_live(slot) else gone).append(_decode(content))
        found = add_figures(own, live, with_gauges=True)
        return generate_latest(_Figures(add_figures(found, gone, with_gauges=False)))

    async def _have_published(self, slots: list[int]) -> None:
        waited = {slot: self._board.version(slot) for slot in slots}
        for slot in slots:
            self._board.ask(slot)
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        while waited and asyncio.get_running_loop().time() < deadline:
            waited = {slot: version for slot, version in waited.items() if self._board.version(slot) == version}
            if waited:
                await asyncio.sleep(_LOOK)
