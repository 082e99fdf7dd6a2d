"""Who answered lately: routing that learns from every resolution (E20, E31, E32).

It is learned about a label only that was asked for: what an answer says of another form is the word of one Archive,
and nobody gets an item remembered as his by naming it beside one that he has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.label import Label
from ibi.messages.field import State
from ibi.messages.url_list import UrlList
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.kept import Kept
from ibi.resolver.outcome import OriginalDisputed, Outcome, Redirect
from ibi.resolver.trace import Hop, Report, Trace, Verdict

__all__ = ["MOST_LABELS", "MOST_PREFIXES", "Memory"]

MOST_LABELS: Final = 20_000
MOST_PREFIXES: Final = 4_000

_LED_ON: Final = (Verdict.CHOSEN, Verdict.FOLLOWED)


class Memory:
    """A `Routing`. What it says may be out of date; whoever answers decides, and is remembered."""

    def __init__(self, most_labels: int = MOST_LABELS, most_prefixes: int = MOST_PREFIXES) -> None:
        self._by_label: Kept[Label, ArchiveRef] = Kept(most_labels)
        self._by_prefix: Kept[tuple[str, str], ArchiveRef] = Kept(most_prefixes)
        self._holders: Kept[Label, ArchiveRef] = Kept(most_labels)
        self._homes: Kept[tuple[str, str], ArchiveRef] = Kept(most_prefixes)

    # --- what is known ---

    def likely(self, label: Label) -> Sequence[ArchiveRef]:
        """Who had the item last, then who had one of the same origin."""
        found = (self._by_label.find(label), self._by_prefix.find(_origin(label)))
        return tuple(dict.fromkeys(archive for archive in found if archive is not None))

    def holder(self, label: Label) -> ArchiveRef | None:
        return self._holders.find(label)

    def home(self, label: Label) -> ArchiveRef | None:
        """Without whom "not found" means little: who holds the Original, or one of the same origin (E24)."""
        return self.holder(label) or self._homes.find(_origin(label))

    # --- learning ---

    def learn(self, trace: Trace, outcome: Outcome) -> None:
        """Take in how a resolution went."""
        for hop in trace.hops:
            for report in hop.reports:
                self._learn_from(hop.label, report)
        if isinstance(outcome, Redirect):
            self._learn_holder(trace, outcome)
        elif isinstance(outcome, OriginalDisputed):
            self._holders.forget(outcome.label)  # whoever it was: somebody has to look into it

    def _learn_from(self, label: Label, report: Report) -> None:
        archive = report.archive
        if report.verdict is Verdict.EMPTY:
            self._forget(label, archive)
        elif report.verdict in _LED_ON:
            self._by_label.keep(label, archive)
            self._by_prefix.keep(_origin(label), archive)

    def _forget(self, label: Label, archive: ArchiveRef) -> None:
        """R §5.2: an Archive that has nothing under a label has transferred the item away, or never had it."""
        for known in (self._by_label, self._holders):
            if known.find(label) == archive:
                known.forget(label)

    def _learn_holder(self, trace: Trace, chosen: Redirect) -> None:
        """Only the Original that was chosen, that nobody else claims, and whose holder was not known to be another."""
        if chosen.entry.state is not State.ORIGINAL or not chosen.entry.relation.is_itself:
            return
        hop = next((each for each in trace.hops if _has_chosen(each)), None)
        if hop is None or any(map(_claims_original, _others(hop, chosen.archive))):
            return
        if self._holders.find(hop.label) in (None, chosen.archive):
            self._holders.keep(hop.label, chosen.archive)
            self._homes.keep(_origin(hop.label), chosen.archive)


def _origin(label: Label) -> tuple[str, str]:
    return label.form, label.prefix.lower()


def _has_chosen(hop: Hop) -> bool:
    return any(report.verdict is Verdict.CHOSEN for report in hop.reports)


def _others(hop: Hop, archive: ArchiveRef) -> list[Report]:
    return [report for report in hop.reports if report.archive != archive and report.verdict is not Verdict.DISBELIEVED]


def _claims_original(report: Report) -> bool:
    entry = report.said.entry() if isinstance(report.said, UrlList) else None
    return entry is not None and entry.state is State.ORIGINAL
