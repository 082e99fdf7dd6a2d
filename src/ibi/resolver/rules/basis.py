"""The basis of an outcome, as cache tags: when a tagged fact changes, the outcome is dropped."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ibi.membership.rules.authority import ArchiveRef, Word
from ibi.resolver.rules.outcome import Outcome, Redirect
from ibi.resolver.rules.trace import Trace
from ibi.standard.label import Label
from ibi.standard.label.search import home_prefix

HOMELESS: Final = "homeless"


class Basis(NamedTuple):
    """The facts on which an outcome rests: if one of them changes, the outcome may change."""

    labels: frozenset[Label] = frozenset()
    """The labels of the items on the way, and of the item that was found."""
    archives: frozenset[ArchiveRef] = frozenset()
    """The Archives that led there."""
    asked: Sequence[Label] = ()
    """The labels that were asked for: their homes decide."""
    homeless: bool = False
    """True if a label on the way has no home: any new Archive may know it better."""
    related: bool = False
    """True if the outcome leads from one item to another. Items between them, unknown here, count as well."""

    def tags(self, absent: Collection[ArchiveRef] = ()) -> frozenset[Hashable]:
        """Return the tags. `absent` are the Archives that were included before and are not included now."""
        tags: set[Hashable] = {*self.labels, *self.archives, *map(prefix_tag, self.asked)}
        if self.related:
            tags.update(map(relations_tag, self.archives))
        if self.homeless:
            tags.update((HOMELESS, *map(absence_tag, absent)))
        return frozenset(tags)

    def told_tags(self) -> Iterator[Hashable]:
        """Yield the tags for news from an Archive about a label: its own answer, and items that it may know better.

        Cached values do not carry these tags, which would be many: they are found by the label.
        """
        for label in self.labels:
            yield from ((archive, label) for archive in self.archives)
            if self.homeless:
                yield HOMELESS, label


def basis_of(trace: Trace, outcome: Outcome) -> Basis:
    """Return the basis for the outcome of a resolution."""
    asked = [hop.label for hop in trace.hops]
    leading = [report for hop in trace.hops for report in hop.leading]
    labels = {*asked, *(label for each in leading if each.said is not None for label in each.said.ibi.labels)}
    # An item that was not found may appear at any Archive at any moment.
    homeless = not isinstance(outcome, Redirect) or any(hop.word is Word.NO_HOME for hop in trace.hops)
    return _basis(outcome, labels, {report.archive for report in leading}, asked, homeless=homeless)


def basis_of_redirect(
    outcome: Outcome, asked: Sequence[Label], archives: Iterable[ArchiveRef], *, homeless: bool
) -> Basis:
    """Return the basis if only one Archive was asked, so that a trace would add nothing."""
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
    """Return the tag for decisions of a home of the label's prefix."""
    return "prefix", home_prefix(label)


def relations_tag(archive: ArchiveRef) -> Hashable:
    """Return the tag for outcomes in which the Archive led from one item to another."""
    return "relations", archive


def absence_tag(archive: ArchiveRef) -> Hashable:
    """Return the tag for outcomes that were found while the Archive was not included."""
    return "absence", archive
