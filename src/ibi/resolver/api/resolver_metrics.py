"""The counters of a resolver: links, replies of Archives, acknowledgments, refusals and false claims."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from ibi.jobs.limits import LimitExceeded, TooManyLinks
from ibi.membership.model.membership import STANDING_IN
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.memory import NewClaim
from ibi.resolver.rules.outcome import Redirect
from ibi.resolver.service.disputes import Disputes
from ibi.resolver.service.resolution_runner import Resolved
from ibi.resolver.service.standby import KeptRegister
from ibi.standard.messages.url_list import Deletion
from ibi.standard.reply import Answered, Reply
from ibi.standard.vocabulary import State
from ibi.web.metrics import PolledFigures
from ibi.web.request_middleware import CounterTally, HistogramTally

MOST_ARCHIVES: Final = 500
"""Largest number of Archives with a label of their own. An Archive with a new address at every inclusion must not fill
the memory."""
_OTHER: Final = "other"
_WAITS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class ResolverMetrics:
    """A `Watcher` of `ibi.resolver.service.resolver_service`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._outcomes = CounterTally(
            "ibi_resolutions", "Resolutions by how they ended.", ["outcome", "kept"], registry=registry
        )
        self._seconds = HistogramTally(
            "ibi_resolution_seconds", "Time a resolution took.", buckets=_WAITS, registry=registry
        )
        self._replies = CounterTally(
            "ibi_archive_replies", "Replies of Archives that were asked.", ["archive", "reply"], registry=registry
        )
        self._reply_seconds = HistogramTally(
            "ibi_archive_reply_seconds", "Time Archives took to reply.", buckets=_WAITS, registry=registry
        )
        self._thanks = CounterTally(
            "ibi_acknowledgments", "Acknowledgments sent to Archives.", ["result"], registry=registry
        )
        self._turned_away = Counter(
            "ibi_traces_refused",
            "Traces refused because there were too many, by the bound.",
            ["bound"],
            registry=registry,
        )
        self._links_refused = Counter(
            "ibi_links_refused",
            "Links refused because too many led to nothing kept here, by the bound.",
            ["bound"],
            registry=registry,
        )
        self._claims = Counter(
            "ibi_false_claims",
            "Claims of Archives that the home of the item contradicts, by what they claim; each counted once.",
            ["claim"],
            registry=registry,
        )
        self._held_back = Counter(
            "ibi_links_held_back",
            "Links that waited for a turn because their network had too many that led to nothing kept.",
            registry=registry,
        )
        self._failovers = Counter(
            "ibi_failovers",
            "Resolutions that led to a Copy because the home of the item was silent; not those that were kept.",
            registry=registry,
        )
        self._known: set[str] = set()

    def on_resolved(self, resolved: Resolved) -> None:
        self._outcomes.add(resolved.outcome_name, "yes" if resolved.was_kept else "no")
        self._seconds.observe(resolved.seconds)
        if not resolved.was_kept and _is_copy(resolved) and any(hop.is_failover for hop in resolved.trace.hops):
            self._failovers.inc()

    def on_turned_away(self, refusal: LimitExceeded) -> None:
        refused = self._links_refused if isinstance(refusal, TooManyLinks) else self._turned_away
        refused.labels(refusal.bound.value).inc()

    def on_claimed(self, claim: NewClaim) -> None:
        self._claims.labels(claim.kind.value).inc()

    def on_held_back(self) -> None:
        self._held_back.inc()

    def on_replied(self, archive: ArchiveRef, reply: Reply, seconds: float) -> None:
        self._replies.add(self._name(archive), _reply_name(reply))
        self._reply_seconds.observe(seconds)

    def on_acknowledged(self, result: str) -> None:
        """Count an acknowledgment as `received`, `lost` or `dropped`."""
        self._thanks.add(result)

    def _name(self, archive: ArchiveRef) -> str:
        address = archive.address.lower()
        if address not in self._known:
            if len(self._known) >= MOST_ARCHIVES:
                return _OTHER
            self._known.add(address)
        return address


def _is_copy(resolved: Resolved) -> bool:
    outcome = resolved.outcome
    return isinstance(outcome, Redirect) and outcome.entry.state is State.COPY


def _reply_name(reply: Reply) -> str:
    if not isinstance(reply, Answered):
        return reply.name.lower()
    if reply.answer is None:
        return "empty"
    return "deleted" if isinstance(reply.answer, Deletion) else "found"


class DisputeMetrics(PolledFigures):
    """The number of open disputes over Originals."""

    def __init__(self, registry: CollectorRegistry, disputes: Disputes) -> None:
        super().__init__(10.0, is_prompt=disputes.prompt)
        self._disputes = disputes
        self._open = Gauge(
            "ibi_disputes_open",
            "Claims to an Original beside its known holder that are not settled.",
            registry=registry,
        )

    def read(self) -> None:
        self._open.set(self._disputes.count_open())


class StandbyMetrics(PolledFigures):
    """The gauge of an Archive that resolves in place of its resolver, as of the last look."""

    def __init__(self, registry: CollectorRegistry, register: KeptRegister) -> None:
        super().__init__(1.0, is_prompt=True)
        self._register = register
        self._standing_in = Gauge(
            "ibi_standing_in", "1 while this Archive resolves links in the place of its resolver.", registry=registry
        )
        self._reason = Gauge("ibi_standing_in_reason", "1 for the reason why it does.", ["reason"], registry=registry)

    def read(self) -> None:
        standing = self._register.standing
        self._standing_in.set(standing is not None)
        for each in STANDING_IN:
            self._reason.labels(each.value).set(each is standing)
