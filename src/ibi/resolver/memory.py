"""Who answered lately: routing that learns from every resolution (E20, E31, E32).

It is learned about a label only that was asked for: what an answer says of another form is the word of one Archive,
and nobody gets an item remembered as his by naming it beside one that he has. And it is learned for good only of
whoever nobody could contradict: an Archive that is quicker than the others does not become the holder by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ibi.label import Label
from ibi.messages.field import State
from ibi.messages.label_forms import LabelForms
from ibi.messages.url_list import UrlList
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.kept import Kept
from ibi.resolver.origin import Homes, Origin, origin_of
from ibi.resolver.outcome import Outcome, Redirect
from ibi.resolver.trace import Hop, Report, Trace, Verdict

__all__ = ["MOST_LABELS", "MOST_PREFIXES", "PROVISIONAL_AGE", "Memory"]

MOST_LABELS: Final = 20_000
MOST_PREFIXES: Final = 4_000
PROVISIONAL_AGE: Final = 300.0
"""Seconds for which somebody is asked first who had an item while others were silent: one of them may be its holder."""

_FOREVER: Final = float("inf")


class _Likely(NamedTuple):
    archive: ArchiveRef
    until: float


class Memory:
    """A `Routing`. What it says may be out of date; whoever answers decides, and is remembered."""

    def __init__(self, most_labels: int = MOST_LABELS, most_prefixes: int = MOST_PREFIXES) -> None:
        self._by_label: Kept[Label, _Likely] = Kept(most_labels)
        self._by_origin: Kept[Origin, ArchiveRef] = Kept(most_prefixes)
        self._holders: Kept[Label, ArchiveRef] = Kept(most_labels)
        self._holders_by_origin: Kept[Origin, ArchiveRef] = Kept(most_prefixes)
        self._archives: Sequence[ArchiveRef] = ()
        self._homes = Homes()
        self._by_service: dict[LabelForms, ArchiveRef] = {}

    def include(self, archives: Sequence[ArchiveRef]) -> None:
        """Who there is now. Between two changes it should be the very same sequence."""
        if archives is not self._archives:
            self._archives, self._homes = archives, Homes(archives)
            self._by_service = {archive.service: archive for archive in archives}

    def _as_it_is_now(self, archive: ArchiveRef | None) -> ArchiveRef | None:
        """One that has moved, or may be dialled elsewhere, is the same: what is known of it stays true."""
        return None if archive is None else self._by_service.get(archive.service, archive)

    # --- what is known ---

    def likely(self, label: Label, now: float) -> Sequence[ArchiveRef]:
        """Who had the item last, then who had one of the same origin."""
        likely, other = self._by_label.find(label), self._by_origin.find(origin_of(label))
        last = None if likely is None or likely.until <= now else likely.archive
        known = map(self._as_it_is_now, (last, other))
        return tuple(dict.fromkeys(archive for archive in known if archive is not None))

    def holder(self, label: Label) -> ArchiveRef | None:
        return self._as_it_is_now(self._holders.find(label))

    def home(self, label: Label) -> ArchiveRef | None:
        return self._homes.of(label)

    def believed(self, label: Label) -> ArchiveRef | None:
        """Whose word counts before anyone else's (E55)."""
        return self.holder(label) or self.home(label)

    def expected(self, label: Label) -> ArchiveRef | None:
        """Without whom "not found" means little: who holds the Original, or one of the same origin (E24)."""
        return self.believed(label) or self._as_it_is_now(self._holders_by_origin.find(origin_of(label)))

    # --- learning ---

    def learn(self, trace: Trace, outcome: Outcome, now: float) -> None:
        """Take in how a resolution went."""
        chosen = outcome if isinstance(outcome, Redirect) else None
        for hop in trace.hops:
            until = _FOREVER if self._is_beyond_doubt(hop) else now + PROVISIONAL_AGE
            for report in hop.reports:
                self._learn_from(hop.label, report, until)
            if chosen is not None and until == _FOREVER and _has_chosen(hop):
                self._learn_holder(hop, chosen)

    def _is_beyond_doubt(self, hop: Hop) -> bool:
        """Whether whoever led on is the holder, or nobody was unheard who could have outranked it: of an Original those
        who have been there longer, of anything else everybody."""
        holder = self.believed(hop.label)
        return all(report.archive == holder or not self._could_be_outranked(report, hop) for report in hop.leading)

    def _could_be_outranked(self, leading: Report, hop: Hop) -> bool:
        unheard = hop.unheard(self._archives)
        if _state(leading) is State.ORIGINAL:
            return any(archive.registered < leading.archive.registered for archive in unheard)
        return bool(unheard)

    def _learn_from(self, label: Label, report: Report, until: float) -> None:
        archive = report.archive
        if report.verdict is Verdict.EMPTY:
            self._forget(label, archive)
        elif _has_a_copy(report) and self.holder(label) == archive:
            self._holders.forget(label)  # it was transferred, and a Copy kept
        if report.verdict.leads_on:
            self._by_label.keep(label, _Likely(archive, until))
            if until == _FOREVER:
                self._by_origin.keep(origin_of(label), archive)

    def _forget(self, label: Label, archive: ArchiveRef) -> None:
        """R §5.2: an Archive that has nothing under a label has transferred the item away, or never had it."""
        likely = self._by_label.find(label)
        if likely is not None and self._as_it_is_now(likely.archive) == archive:
            self._by_label.forget(label)
        if self.holder(label) == archive:
            self._holders.forget(label)

    def _learn_holder(self, hop: Hop, chosen: Redirect) -> None:
        """Whoever was chosen with the Original, unless the holder was known to be another.

        Two that claim it do not make the holder forgotten: it would be enough to claim an item to have its holder lose
        it.
        """
        if chosen.entry.state is not State.ORIGINAL or not chosen.entry.relation.is_itself:
            return
        if self.holder(hop.label) in (None, chosen.archive):
            self._holders.keep(hop.label, chosen.archive)
            self._holders_by_origin.keep(origin_of(hop.label), chosen.archive)


def _has_chosen(hop: Hop) -> bool:
    return any(report.verdict is Verdict.CHOSEN for report in hop.reports)


def _state(report: Report) -> State | None:
    """Of the item itself, as an Archive gives it."""
    entry = report.said.entry() if isinstance(report.said, UrlList) else None
    return None if entry is None else entry.state


def _has_a_copy(report: Report) -> bool:
    return report.verdict is not Verdict.DISBELIEVED and _state(report) is State.COPY
