"""Metrics that are read from a store when `/metrics` is requested, instead of being counted as things happen.

Reading them is cheap: the catalogue updates its totals with every change, and the ledger of the quota has the drafts.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ibi.deposits.service.drafts import Drafts
from ibi.following.service.subscriptions import FollowListing, WebhookListing
from ibi.items.model.content import HeldTotal, Problem
from ibi.items.service.integrity.integrity import Integrity
from ibi.jobs.promptness import beside
from ibi.jobs.runner import JobRunner
from ibi.membership.model.membership import Membership, Phase
from ibi.membership.service.membership import MembershipService
from ibi.server.worker_state import WorkerState
from ibi.standard.errors import IbiError
from ibi.standard.storage_errors import StorageError
from ibi.standard.vocabulary import State
from ibi.web.sites import ArchiveSite


class PolledFigures(ABC):
    """Figures that are read again when they are collected, at most once in `fresh` seconds."""

    def __init__(self, fresh: float, *, is_prompt: bool) -> None:
        """Without `is_prompt` the store is slow, and a report does not wait for it."""
        self._fresh, self._is_prompt = fresh, is_prompt
        self._looked = -fresh
        self._reading: asyncio.Task[None] | None = None

    async def refresh(self) -> None:
        """Update the figures. Call it before they are collected."""
        if time.monotonic() < self._looked + self._fresh:
            return
        self._looked = time.monotonic()
        if self._is_prompt:
            await self._look()
        else:  # the earlier figures stay until these are known
            self._reading = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            await (asyncio.to_thread(self.read) if self._is_prompt else beside(self.read))
        except StorageError:
            return  # the earlier figures stay

    def expire(self) -> None:
        """Read the figures again before the next collection."""
        self._looked = -self._fresh

    @abstractmethod
    def read(self) -> None:
        """Read the store and set the figures. This call blocks."""


class IntegrityMetrics(PolledFigures):
    def __init__(
        self,
        registry: CollectorRegistry,
        integrity: Integrity,
        now: Callable[[], float] = time.time,
        holdings: Callable[[], Mapping[State, HeldTotal]] = dict,
    ) -> None:
        super().__init__(60.0, is_prompt=integrity.is_prompt)  # counting a million items takes a moment
        self._integrity, self._now, self._holdings = integrity, now, holdings
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

    def read(self) -> None:
        summary = self._integrity.summary().among(self._holdings().values())
        self._damaged.set(summary.damaged)
        self._unverified.set(summary.never_verified)
        self._last.set(summary.newest or 0)
        self._age.set(0 if summary.oldest is None else max(0, self._now() - summary.oldest))

    def _count(self, name: str, problem: Problem) -> None:
        self._found.inc()
        self.expire()


_FRESH = 1.0
LAST_SUCCESS: Final = "ibi_job_last_success_seconds"


class HoldingsMetrics(PolledFigures):
    """The figures of one Archive. Without a `membership`, it is in no resolver; without `drafts`, it is read-only."""

    def __init__(
        self,
        registry: CollectorRegistry,
        site: ArchiveSite,
        membership: MembershipService | None,
        drafts: Drafts | None,
    ) -> None:
        super().__init__(_FRESH, is_prompt=site.catalog.prompt)
        self._site, self._membership = site, membership
        self._items = Gauge("ibi_items", "Items, by what they are in this Archive.", ["state"], registry=registry)
        self._files = Gauge("ibi_item_files", "Files of the present versions of items.", ["state"], registry=registry)
        self._bytes = Gauge("ibi_item_bytes", "Bytes of these files.", ["state"], registry=registry)
        self._phase = Gauge(
            "ibi_membership",
            "1 for the phase of this Archive's membership in its resolver, 0 for the others.",
            ["phase"],
            registry=registry,
        )
        self._confirmed = Gauge(
            "ibi_membership_confirmed", "1 if the resolver got through when it called back.", registry=registry
        )
        self._position = Gauge("ibi_changes", "Number of the last entry of the feed of changes.", registry=registry)
        self._doubt = Gauge(
            "ibi_archive_in_doubt",
            "1 while no item may be changed because the Archive may have been put back from a backup.",
            registry=registry,
        )
        self._unheard = Gauge(
            "ibi_archive_unheard", "Servers that did not say yet what was given away since.", registry=registry
        )
        self._open = Gauge(
            "ibi_open_items",
            "Items whose releases and state do not agree, by what is missing.",
            ["stage"],
            registry=registry,
        )
        self._drafts = None if drafts is None else _DraftGauges(registry, drafts)

    def read(self) -> None:
        self._set_held(self._site.catalog.holdings())
        self._set_membership(Membership() if self._membership is None else self._membership.read())
        self._set_doubt()
        if self._site.feed is not None:
            self._position.set(self._site.feed.position().end)
        if self._drafts is not None:
            self._drafts.read()

    def _set_doubt(self) -> None:
        tracking = self._site.tracking
        self._doubt.set(tracking is not None and tracking.is_silent)
        self._unheard.set(0 if tracking is None else len(tracking.unheard))
        for problem, count in ({} if tracking is None else tracking.open_items.count()).items():
            self._open.labels(problem.value).set(count)

    def _set_held(self, holdings: Mapping[State, HeldTotal]) -> None:
        for state in State:
            total, name = holdings.get(state, HeldTotal()), state.value.lower()
            self._items.labels(name).set(total.items)
            self._files.labels(name).set(total.files)
            self._bytes.labels(name).set(total.size)

    def _set_membership(self, membership: Membership) -> None:
        for phase in Phase:
            self._phase.labels(phase.value).set(phase is membership.phase)
        self._confirmed.set(membership.phase is Phase.INCLUDED and membership.confirmed)


class _DraftGauges:
    def __init__(self, registry: CollectorRegistry, drafts: Drafts) -> None:
        self._drafts = drafts
        self._number = Gauge("ibi_drafts", "Drafts that are not published.", registry=registry)
        self._bytes = Gauge("ibi_draft_bytes", "Bytes of their files, those on their way included.", registry=registry)
        self._free = Gauge("ibi_disk_free_bytes", "Bytes that the disk of the data has left.", registry=registry)
        self._reserve = Gauge(
            "ibi_disk_reserve_bytes",
            "Bytes of the disk that drafts leave free, as the settings say.",
            registry=registry,
        )
        self._refused = Gauge(
            "ibi_deposits_refused_for_space", "1 while the disk has no room for another draft.", registry=registry
        )

    def read(self) -> None:
        held = self._drafts.total()
        self._number.set(held.drafts)
        self._bytes.set(held.size)
        self._free.set(self._drafts.free_space())
        self._reserve.set(self._drafts.rules.quota.reserve)
        self._refused.set(self._is_refused())

    def _is_refused(self) -> bool:
        try:
            self._drafts.check_space()
        except IbiError:
            return True
        return False


class FollowMetrics(PolledFigures):
    def __init__(self, registry: CollectorRegistry, follows: FollowListing, webhooks: WebhookListing) -> None:
        super().__init__(5.0, is_prompt=True)
        self._follows, self._webhooks = follows, webhooks
        named = ["follow", "source"]
        self._behind = Gauge(
            "ibi_follow_behind",
            "Changes of the source that are not taken in, and items that wait to be brought.",
            named,
            registry=registry,
        )
        self._refused = Gauge("ibi_follow_refused", "Items that could not be brought so far.", named, registry=registry)
        self._failing = Gauge(
            "ibi_follow_failing", "1 while the source does not answer as an Archive does.", named, registry=registry
        )
        self._undelivered = Gauge(
            "ibi_webhook_behind", "Changes after the last one that was delivered.", ["webhook"], registry=registry
        )
        self._disabled = Gauge(
            "ibi_webhook_disabled", "1 for a webhook that is not told any more.", ["webhook"], registry=registry
        )

    def read(self) -> None:
        follows, webhooks = self._follows(), self._webhooks()
        for gauge in (self._behind, self._refused, self._failing, self._undelivered, self._disabled):
            gauge.clear()
        for follow in follows:
            name = follow.id, follow.source
            self._behind.labels(*name).set(follow.behind)
            self._refused.labels(*name).set(follow.refused)
            self._failing.labels(*name).set(follow.failing_since is not None)
        for webhook in webhooks:
            self._undelivered.labels(webhook.id).set(webhook.behind)
            self._disabled.labels(webhook.id).set(webhook.disabled is not None)


EVENT_LOOP: Final = "event loop"
"""The label of errors that no job raised."""


class JobCollector(Collector):
    """The failures and successes of this process's background jobs."""

    _labelnames: Final = ("job",)

    def __init__(self, runner: JobRunner) -> None:
        self._runner = runner

    def describe(self) -> tuple[CounterMetricFamily, GaugeMetricFamily]:
        return (
            CounterMetricFamily("ibi_job_failures", "Steps of background jobs that failed.", labels=self._labelnames),
            GaugeMetricFamily(
                LAST_SUCCESS,
                "When a background job was done last without a failure, in seconds since 1970.",
                labels=self._labelnames,
            ),
        )

    def collect(self) -> Iterator[Metric]:
        failures, success = self.describe()
        failures.add_metric([EVENT_LOOP], self._runner.loop_failures)
        for job in self._runner.health():
            failures.add_metric([job.name], job.failures)
            if job.last_success is not None:
                success.add_metric([job.name], job.last_success)
        yield failures
        yield success


_PATIENCE: Final = 0.25
"""Seconds in which the other workers must publish. For a late worker, its earlier figures are used."""
_LOOK: Final = 0.002
_SUMMED: Final = frozenset({"counter", "histogram", "summary"})
_OF_PROCESSES: Final = frozenset({"process_virtual_memory_bytes", "process_resident_memory_bytes", "process_open_fds"})
"""Gauges of one process, which are added up over all running ones. All other gauges are of the whole server."""
_LATEST: Final = frozenset({LAST_SUCCESS})
"""Gauges of times. The latest of all processes counts, including those that have ended."""
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
    """Return the present figures of a registry."""
    return {
        metric.name: Family(
            metric.type,
            metric.documentation,
            [(sample.name, dict(sample.labels), sample.value) for sample in metric.samples],
        )
        for metric in registry.collect()
    }


def add_figures(own: Families, others: Iterable[Families], *, with_gauges: bool) -> Families:
    """Add up the figures of all workers.

    Counters are summed. Gauges of processes are summed if `with_gauges`. Of times, the latest counts. Other gauges are
    `own`.
    """
    found = dict(own)
    for families in others:
        for name, family in families.items():
            if family.kind in _SUMMED or name in _LATEST or (with_gauges and name in _OF_PROCESSES):
                known = found.get(name)
                found[name] = family if known is None else _add(known, family)
    return found


def _add(one: Family, other: Family) -> Family:
    values = one.values()
    for key, value in other.values().items():
        before = values.get(key)
        if before is None:
            values[key] = value
        elif key[0] in _LATEST:
            values[key] = max(before, value)
        else:  # of two creation times, the earlier one counts
            values[key] = min(before, value) if key[0].endswith(_CREATED) else before + value
    return Family(one.kind, one.words, [(name, dict(labels), value) for (name, labels), value in values.items()])


class _Figures(CollectorRegistry):
    """Figures in the form of a registry, to be written as one."""

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
    """The figures of one worker, and the sum over all workers. For its event loop.

    Each worker publishes its figures every second while it has work, and whenever another worker is asked for the
    metrics. The figures of an ended worker stay, and the next one in its slot continues from them: no counter ever
    falls. The sum contains published figures only.
    """

    def __init__(self, state: WorkerState, slot: int, registry: CollectorRegistry, count: Callable[[], int]) -> None:
        """`count` returns another number after each request."""
        self._state, self._board, self._slot, self._registry = state, state.figures, slot, registry
        before = self._board.read(slot)
        self._before = add_figures({}, [] if before is None else [_decode(before)], with_gauges=False)
        """Counts of earlier workers in this slot."""
        self._count, self._counted = count, -1
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to answer other workers. Call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._board.calls(self._slot), self._answer)

    async def stop(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._board.calls(self._slot))
        self.publish()

    def publish_if_busy(self) -> None:
        """Publish if anything was counted since the last time. Call it every second."""
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
        """Return the sum of all workers in the format of Prometheus."""
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
