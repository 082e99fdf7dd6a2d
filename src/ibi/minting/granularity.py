"""Choosing the granularity: fixed by the operator, or as coarse as the queue allows (E9)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ibi.clock import MINUTE, Granularity, TickRun

FINEST = Granularity(10)
"""A nanosecond: finer than any queue needs, and than any clock tells."""


_NEXT_TO_NOTHING = Fraction(1, 10_000)
"""Seconds that one commit may push the last date further ahead of a clock that is behind. Thousands of commits a second
must not outrun it, or a clock that is right again would still be refused."""


def coarsest_granularity(
    ticks: Callable[[Granularity], TickRun], bound: Fraction, patience: Fraction | None = None
) -> Granularity:
    """The coarsest granularity at which the last caller of the run waits no longer than `bound` seconds.

    A clock behind its last date makes every caller wait longer at any granularity. Then a date as long as the finest
    would win nothing: the coarsest is taken that adds next to nothing to what cannot be helped, within `patience`. With
    a bound of 0 that is the finest.
    """
    if not bound and len(ticks(FINEST)) > FINEST.level + 1:
        return FINEST  # at no moment more dates are due than there are granularities
    coarsest = _coarsest_within(ticks, bound)
    if coarsest is not None or not bound:
        return coarsest or FINEST
    wait = ticks(FINEST).wait + min(bound, _NEXT_TO_NOTHING)
    return _coarsest_within(ticks, wait if patience is None else min(wait, patience)) or FINEST


def _coarsest_within(ticks: Callable[[Granularity], TickRun], bound: Fraction) -> Granularity | None:
    granularity = MINUTE
    while not ticks(granularity).waits_within(bound):
        if granularity == FINEST:
            return None
        granularity = granularity.finer() or FINEST
    return granularity
