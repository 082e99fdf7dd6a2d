"""Whether "not found" may be said: not without the word of those who would know (E24)."""

from __future__ import annotations

from collections.abc import Callable

from ibi.label import Label
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.authority import Word
from ibi.resolver.outcome import Missing, NoArchiveAnswered, NotFound, Outcome, RelatedItemMissing, Silence
from ibi.resolver.trace import Failure, Report, Trace

__all__ = ["judged"]


def judged(
    outcome: Outcome,
    trace: Trace,
    *,
    expected: Callable[[Label], ArchiveRef | None],
    own: ArchiveRef | None,
) -> Outcome:
    """What is said instead if an item without a home is nowhere, and the Archive that is `expected` to know it could
    not be asked, or only our `own` could: what was asked for, or what it led to. Of an item with a home the resolution
    itself has judged."""
    if isinstance(outcome, NotFound):
        label, silence = outcome.label, outcome.silence
    elif isinstance(outcome, RelatedItemMissing) and outcome.missing is Missing.ITEM:
        label, silence = outcome.at, outcome.silence
    else:
        return outcome
    if silence.is_complete or any(hop.word is not Word.NO_HOME for hop in trace.hops if hop.label == label):
        return outcome
    home = expected(label)
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
