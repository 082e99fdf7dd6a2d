"""What an outcome of a resolution rests on, as the tags by which it is forgotten when one of that changes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ibi.label import Label
from ibi.label.search import home_prefix
from ibi.resolver.authority import ArchiveRef, Word
from ibi.resolver.outcome import Outcome, Redirect
from ibi.resolver.trace import Trace

HOMELESS: Final = "homeless"


class Basis(NamedTuple):
    """What an outcome rests on: if one of it changes, the outcome may be another."""

    labels: frozenset[Label] = frozenset()
    """Of the items on the way, and of the one that was found."""
    archives: frozenset[ArchiveRef] = frozenset()
    """Whose word led there."""
    asked: Sequence[Label] = ()
    """Those of the labels that were asked for: their homes decide."""
    homeless: bool = False
    """Whether a label on the way has no home: any Archive that joins may know it better."""
    related: bool = False
    """Whether it leads from one item to another: also items between the two count, which are not known here."""

    def tags(self, absent: Collection[ArchiveRef] = ()) -> frozenset[Hashable]:
        """`absent` are the Archives that were included before and are not now."""
        tags: set[Hashable] = {*self.labels, *self.archives, *map(prefix_tag, self.asked)}
        if self.related:
            tags.update(map(relations_tag, self.archives))
        if self.homeless:
            tags.update((HOMELESS, *map(absence_tag, absent)))
        return frozenset(tags)

    def told_tags(self) -> Iterator[Hashable]:
        """What an Archive may tell of a label: its own word about it, and what it may know better. Values have no such
        tags, which would be many: they are found by the label."""
        for label in self.labels:
            yield from ((archive, label) for archive in self.archives)
            if self.homeless:
                yield HOMELESS, label


def basis_of(trace: Trace, outcome: Outcome) -> Basis:
    """What the outcome of a resolution rests on."""
    asked = [hop.label for hop in trace.hops]
    leading = [report for hop in trace.hops for report in hop.leading]
    labels = {*asked, *(label for each in leading if each.said is not None for label in each.said.ibi.labels)}
    # Of what was not found, any Archive may have it the next moment.
    homeless = not isinstance(outcome, Redirect) or any(hop.word is Word.NO_HOME for hop in trace.hops)
    return _basis(outcome, labels, {report.archive for report in leading}, asked, homeless=homeless)


def basis_of_redirect(
    outcome: Outcome, asked: Sequence[Label], archives: Iterable[ArchiveRef], *, homeless: bool
) -> Basis:
    """The same where one Archive alone is asked, and a trace would say no more."""
    return _basis(outcome, set(asked), set(archives), asked, homeless=homeless)


def _basis(
    outcome: Outcome, labels: set[Label], archives: set[ArchiveRef], asked: Sequence[Label], *, homeless: bool
) -> Basis:
    related = True
    if isinstance(outcome, Redirect):
        archives.add(outcome.archive)
        of_item = outcome.answer.ibi.labels
        labels.update(of_item)
        if outcome.entry.ibi is not None:
            labels.update(outcome.entry.ibi.labels)
        related = not outcome.entry.relation.is_itself or len(labels) > len(of_item)
    return Basis(frozenset(labels), frozenset(archives), asked, homeless, related)


def prefix_tag(label: Label) -> Hashable:
    """Of what a home of the label's prefix decides."""
    return "prefix", home_prefix(label)


def relations_tag(archive: ArchiveRef) -> Hashable:
    """Of where the Archive led from one item to another."""
    return "relations", archive


def absence_tag(archive: ArchiveRef) -> Hashable:
    """Of what was found while the Archive was not included."""
    return "absence", archive
