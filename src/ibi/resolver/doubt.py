"""Whether somebody who was not heard may know better than whoever was believed: that is then not kept for long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ibi.label import Label
from ibi.messages.field import State
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.authority import Word
from ibi.resolver.caching import LONGEST
from ibi.resolver.outcome import Redirect
from ibi.resolver.trace import Hop, Trace, Verdict

__all__ = ["CLAIMED_AGE", "DOUBTFUL_AGE", "longest_age"]

DOUBTFUL_AGE: Final = 5
"""Seconds for which such an answer is kept at most, whatever its Archive allows: that one may have an old Copy."""
CLAIMED_AGE: Final = 60
"""The same for an Original, which somebody may claim who would be believed before."""


def longest_age(
    trace: Trace, chosen: Redirect, archives: Sequence[ArchiveRef], holder: Callable[[Label], ArchiveRef | None]
) -> int:
    """For how many seconds what was `chosen` may be kept: fewer if, on the way to it, one of the `archives` was unheard
    that may know of a later edition or of a translation, have the Original of what is a Copy, or claim it as well and
    be believed before. Where the `holder` led on, nobody knows better. Where a label has a home, its word may be kept,
    a trusted Archive's for a moment, and nothing that was found without either."""
    return min(_longest(hop, chosen, archives, holder(hop.label)) for hop in trace.hops)


def _longest(hop: Hop, chosen: Redirect, archives: Sequence[ArchiveRef], holder: ArchiveRef | None) -> int:
    if hop.word is not Word.NO_HOME:
        return _longest_with_home(hop)
    if all(report.archive == holder for report in hop.leading):
        return LONGEST
    unheard = hop.unheard(archives)
    if unheard and _may_be_bettered(hop, chosen):
        return DOUBTFUL_AGE
    return CLAIMED_AGE if any(each.registered < chosen.archive.registered for each in unheard) else LONGEST


def _longest_with_home(hop: Hop) -> int:
    if hop.word is Word.GIVEN:
        decided = all(report.archive in hop.deciders for report in hop.leading)
        return LONGEST if decided else DOUBTFUL_AGE
    return DOUBTFUL_AGE if hop.word in (Word.SILENT, Word.AWAITED, Word.DELETED) else 0


def _may_be_bettered(hop: Hop, chosen: Redirect) -> bool:
    if hop.relation.begins_with_last_edition or hop.relation.open_translations:
        return True
    is_last = any(report.verdict is Verdict.CHOSEN for report in hop.reports)
    return is_last and chosen.entry.state is not State.ORIGINAL
