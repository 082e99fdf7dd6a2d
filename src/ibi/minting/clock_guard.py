"""Whether the machine's clock can be believed. One wrong reading would name items in the future for good (E9)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ibi.instant import Instant
from ibi.label.grammar import FIRST_DATE
from ibi.minting.errors import ClockBeforeBuild, ClockBehind, ClockJumped
from ibi.model.minting import Reading, Span, TickState

BUILT = Instant.parse("2026-11-15T00:00:00Z")
"""No honest clock shows a time before this software existed. Moved forward at each release."""

_DRIFT = 1000
"""Time services correct a clock by at most half a thousandth; twice that, one part in so many, is no jump."""


def check_build_date(now: Instant, accepted: Instant | None, built: Instant = BUILT) -> None:
    """Refuse a time before this software, unless an operator vouched for it and an IBIp can tell it."""
    vouched_for = accepted is not None and accepted <= now and now.seconds >= FIRST_DATE
    if now < built and not vouched_for:
        raise ClockBeforeBuild(now=str(now), built=str(built))


def check_jump(before: Reading | None, reading: Reading, limit: Fraction) -> None:
    """Refuse a time of day that moved against the uptime by more than `limit` and an honest drift."""
    if before is None or before.boot != reading.boot:
        return
    # In integers, since every queue passes here.
    digits = max(9, len(reading.wall.fraction), len(before.wall.fraction))
    second = int(10**digits)
    elapsed = (reading.uptime - before.uptime) * (second // 10**9)
    jump = reading.wall.units(digits) - before.wall.units(digits) - elapsed
    if abs(jump) * limit.denominator > limit.numerator * second + elapsed * limit.denominator // _DRIFT:
        raise ClockJumped(jump=_round_seconds(Fraction(jump, second)), now=str(reading.wall))


def check_behind(now: Instant, last: Instant | None, limit: Fraction) -> None:
    """Refuse to wait for a clock that is behind the last label by more than `limit`."""
    if last is None or last <= now:
        return
    behind = last.as_fraction() - now.as_fraction()
    if behind > limit:
        raise ClockBehind(now=str(now), last=str(last), behind=_round_seconds(behind))


def with_accepted_clock(state: TickState, reading: Reading, issued: list[Span]) -> TickState:
    """The state after an operator vouched for the time of day, given everything that was `issued`.

    What lies after now stays issued and is passed over when its time comes; minting goes on from the latest date
    that is not after now.
    """
    now = reading.wall
    ahead = _merge_spans(sorted((span for span in issued if span.last > now), key=lambda span: span.first))
    past = [span.last for span in issued if span.last <= now]
    return replace(state, last=max(past, default=None), ahead=ahead, reading=reading, accepted=now)


def _merge_spans(spans: list[Span]) -> tuple[Span, ...]:
    """Spans less than a second apart made one, so that a long run of single labels stays short to remember."""
    merged: list[Span] = []
    for span in spans:
        if merged and span.first.seconds - merged[-1].last.seconds <= 1:
            merged[-1] = Span(merged[-1].first, max(merged[-1].last, span.last))
        else:
            merged.append(span)
    return tuple(merged)


def _round_seconds(seconds: Fraction) -> str:
    return f"{float(seconds):.3f}".rstrip("0").rstrip(".")
