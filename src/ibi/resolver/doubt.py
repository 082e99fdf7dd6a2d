"""Whether somebody who was not heard may know better than whoever was believed: that is then not kept for long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ibi.label import Label
from ibi.messages.field import State
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.outcome import Redirect
from ibi.resolver.trace import Hop, Trace, Verdict

__all__ = ["DOUBTFUL_AGE", "is_doubtful"]

DOUBTFUL_AGE: Final = 5
"""Seconds for which such an answer is kept at most, whatever its Archive allows: that one may have an old Copy."""

_LED_ON: Final = (Verdict.CHOSEN, Verdict.FOLLOWED)
_UNHEARD: Final = (Verdict.SILENT, Verdict.FAILED, Verdict.DISBELIEVED)


def is_doubtful(
    trace: Trace, chosen: Redirect, archives: Sequence[ArchiveRef], holder: Callable[[Label], ArchiveRef | None]
) -> bool:
    """Whether, on the way to what was `chosen`, one of the `archives` was not heard that may know of a later edition or
    of a translation, or have the Original of what is a Copy. Where the `holder` led on, nobody knows better."""
    return any(_is_left_open(hop, chosen, archives, holder(hop.label)) for hop in trace.hops)


def _is_left_open(hop: Hop, chosen: Redirect, archives: Sequence[ArchiveRef], holder: ArchiveRef | None) -> bool:
    leading = [report for report in hop.reports if report.verdict in _LED_ON]
    if all(report.archive == holder for report in leading) or not _may_be_bettered(hop, chosen):
        return False
    heard = {report.archive for report in hop.reports if report.verdict not in _UNHEARD}
    return any(archive not in heard for archive in archives)


def _may_be_bettered(hop: Hop, chosen: Redirect) -> bool:
    if hop.relation.begins_with_last_edition or hop.relation.open_translations:
        return True
    is_last = any(report.verdict is Verdict.CHOSEN for report in hop.reports)
    return is_last and chosen.entry.state is not State.ORIGINAL
