"""What an outcome of a resolution rests on, as the tags by which it is forgotten when one of that changes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Final, NamedTuple

from ibi.label import Label
from ibi.label.search import home_prefix
from ibi.resolver.authority import ArchiveRef, Word
from ibi.resolver.outcome import Outcome, Redirect
from ibi.resolver.trace import Trace


class Basis(NamedTuple):
    """What an outcome rests on: if one of it changes, the outcome may be another."""

    labels: frozenset[Label] = frozenset()
    """Of the items on the way, and of the one that was found."""
    archives: frozenset[ArchiveRef] = frozenset()
    """Whose word led there."""
    homeless: bool = False
    """Whether a label on the way has no home: any Archive that joins may know it better."""
    related: bool = False
    """Whether it leads from one item to another: also items between the two count, which are not known here."""

    def tags(self, absent: Collection[ArchiveRef] = ()) -> frozenset[Hashable]:
        """`absent` are the Archives that were included before and are not now."""
        tags: set[Hashable] = {*self.labels, *self.archives, *map(prefix_tag, self.labels)}
        for archive in self.archives:
            tags.update((archive, label) for label in self.labels)
        if self.related:
            tags.update(map(relations_tag, self.archives))
        if self.homeless:
            tags.update((HOMELESS, *map(absence_tag, absent), *map(homeless_tag, self.labels)))
        return frozenset(tags)


def basis_of(trace: Trace, outcome: Outcome) -> Basis:
    """What the outcome of a resolution rests on."""
    labels = {hop.label for hop in trace.hops}
    leading = [report for hop in trace.hops for report in hop.leading]
    for report in leading:
        if report.said is not None:
            labels.update(report.said.ibi.labels)
    return basis_of_redirect(outcome, labels, {report.archive for report in leading})._replace(
        # Of what was not found, any Archive may have it the next moment.
        homeless=not isinstance(outcome, Redirect) or any(hop.word is Word.NO_HOME for hop in trace.hops)
    )


def basis_of_redirect(outcome: Outcome, labels: Iterable[Label], archives: Iterable[ArchiveRef]) -> Basis:
    """The same where one Archive alone is asked, and a trace would say no more."""
    found, led, related = set(labels), set(archives), True
    if isinstance(outcome, Redirect):
        led.add(outcome.archive)
        found.update(outcome.answer.ibi.labels)
        found.update(() if outcome.entry.ibi is None else outcome.entry.ibi.labels)
        related = not outcome.entry.relation.is_itself or len(found) > len(outcome.answer.ibi.labels)
    return Basis(frozenset(found), frozenset(led), related=related)


HOMELESS: Final = "homeless"


def prefix_tag(label: Label) -> Hashable:
    """Of what a home of the label's prefix decides."""
    return "prefix", home_prefix(label)


def relations_tag(archive: ArchiveRef) -> Hashable:
    """Of where the Archive led from one item to another."""
    return "relations", archive


def absence_tag(archive: ArchiveRef) -> Hashable:
    """Of what was found while the Archive was not included."""
    return "absence", archive


def homeless_tag(label: Label) -> Hashable:
    """Of what any Archive may know better, the label having no home."""
    return HOMELESS, label
