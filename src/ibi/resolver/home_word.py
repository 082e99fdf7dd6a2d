"""Whether "not found" may be said: not without the word of those who would know (E24)."""

from __future__ import annotations

from ibi.messages.label_forms import LabelForms
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.outcome import NoArchiveAnswered, NotFound, Silence
from ibi.resolver.trace import Failure, Report, Trace

__all__ = ["judged"]


def judged(
    outcome: NotFound,
    trace: Trace,
    *,
    expected: ArchiveRef | None,
    own: ArchiveRef | None,
    away: LabelForms | None,
) -> NotFound | NoArchiveAnswered:
    """What is said instead if the Archive that is `expected` to know could not be asked, or nobody could but our `own`.

    `away` is the service of the Archive of the label's own origin, if that one is registered and switched off.
    """
    silence = outcome.silence
    if away is not None:
        return NoArchiveAnswered(outcome.label, silence, None, timed_out=False, away=away)
    if silence.is_complete:
        return outcome
    if expected not in silence.silent if expected is not None else _was_another_heard(silence, own):
        return outcome
    missed = silence.silent if expected is None else (expected,)
    reports = [report for hop in trace.hops for report in hop.reports if report.archive in missed]
    return NoArchiveAnswered(outcome.label, silence, expected, timed_out=any(map(_was_late, reports)))


def _was_another_heard(silence: Silence, own: ArchiveRef | None) -> bool:
    """The Archive of this server can always be asked. That it has nothing is no word on what others may have."""
    if own is None:
        return len(silence.silent) < silence.asked
    others = silence.asked - 1
    return not others or sum(each != own for each in silence.silent) < others


def _was_late(report: Report) -> bool:
    return report.answered_at is None or report.failure is Failure.TIMED_OUT
