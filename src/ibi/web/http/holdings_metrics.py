"""Figures of what an Archive has: items by state, bytes, drafts, room on the disk, and its membership in a resolver.

None of them is counted when it is collected: the catalogue keeps its totals with every change, and the drafts are in
the ledger of their quota.
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Gauge

from ibi.errors import IbiError
from ibi.model.content import HeldTotal
from ibi.model.membership import Membership, Phase
from ibi.services.drafts.drafts import Drafts
from ibi.services.membership.membership import MembershipService
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.http.polled_figures import PolledFigures

_FRESH = 1.0


class HoldingsMetrics(PolledFigures):
    """The figures of one Archive; without a `membership` it is in no resolver."""

    def __init__(
        self, registry: CollectorRegistry, site: ArchiveSite, membership: MembershipService | None = None
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
        self._drafts = None
        if site.item_services is not None:
            self._drafts = _DraftGauges(registry, site.item_services.drafts)

    def read(self) -> None:
        self._set_held(self._site.catalog.holdings())
        self._set_membership(Membership() if self._membership is None else self._membership.read())
        if self._site.feed is not None:
            self._position.set(self._site.feed.position().end)
        if self._drafts is not None:
            self._drafts.read()

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
