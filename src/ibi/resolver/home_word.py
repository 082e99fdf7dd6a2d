"""Whether "not found" may be said: not without the word of those who would know (E24)."""

from __future__ import annotations

from collections.abc import Callable

from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.outcome import Missing, NoArchiveAnswered, NotFound, Outcome, RelatedItemMissing, Silence
from ibi.resolver.trace import Failure, Report, Trace

__all__ = ["judged"]


def judged(
    outcome: Outcome,
    trace: Trace,
    *,
    expected: Callable[[Label], ArchiveRef | None],
    own: ArchiveRef | None,
    away: Callable[[Label], LabelForms | None],
) -> Outcome:
    """What is said instead if an item is nowhere, and the Archive that is `expected` to know it could not be asked, or
    nobody could but our `own`: what was asked for, or what it led to.

    `away` gives the service of the Archive of a label's own origin, if that one is registered and switched off.
    """
    if isinstance(outcome, NotFound):
        label, silence = outcome.label, outcome.silence
    elif isinstance(outcome, RelatedItemMissing) and outcome.missing is Missing.ITEM:
        label, silence = outcome.at, outcome.silence
    else:
        return outcome
    switched_off, home = away(label), expected(label)
    if switched_off is not None:
        return NoArchiveAnswered(label, silence, None, timed_out=False, away=switched_off)
    if silence.is_complete:
        return outcome
    if home not in silence.silent if home is not None else _was_another_heard(silence, own):
        return outcome
    missed = silence.silent if home is None else (home,)
    reports = [report for hop in trace.hops for report in hop.reports if report.archive in missed]
    return NoArchiveAnswered(label, silence, home, timed_out=any(map(_was_late, reports)))


def _was_another_heard(silence: Silence, own: ArchiveRef | None) -> bool:
    """The Archive of this server can always be asked. That it has nothing is no word on what others may have."""
    if own is None:
        return len(silence.silent) < silence.asked
    others = silence.asked - 1
    return not others or sum(each != own for each in silence.silent) < others


def _was_late(report: Report) -> bool:
    return report.answered_at is None or report.failure is Failure.TIMED_OUT
