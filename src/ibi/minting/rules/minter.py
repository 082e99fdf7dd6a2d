"""The assignment of dates: a queue of requests is served from the state of the clock.

This module does no I/O, so that a store can run it inside one exclusive transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, repeat

from ibi.minting.model import BatchShare, Gap, LabelBatch, MintRequest, Span, TickState
from ibi.minting.rules.errors import (
    ClockBeforeBuild,
    ClockBehind,
    ClockJumped,
    ClockRefused,
    IdempotencyConflict,
    InvalidCount,
    QueueTooLong,
)
from ibi.standard.clock import MINUTE, Granularity, TickRun, next_ticks
from ibi.standard.clock_reading import Reading
from ibi.standard.errors import IbiError
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.label.grammar import FIRST_DATE

FINEST = Granularity(10)
"""A nanosecond: finer than any queue needs, and than any clock shows."""


_NEXT_TO_NOTHING = Fraction(1, 10_000)
"""Seconds by which one commit may advance the last date further ahead of a clock that is behind.

Thousands of commits a second must not outrun the clock, or a corrected clock would still be refused.
"""


def coarsest_granularity(
    ticks: Callable[[Granularity], TickRun], bound: Fraction, patience: Fraction | None = None
) -> Granularity:
    """Return the coarsest granularity at which the last caller of the run waits no longer than `bound` seconds.

    A clock behind its last date makes every caller wait longer at any granularity. Then a date as long as the finest
    would gain nothing. The coarsest granularity is taken that adds almost nothing to the inevitable wait, within
    `patience`. With a bound of 0 that is the finest.
    """
    if not bound and len(ticks(FINEST)) > FINEST.level + 1:
        return FINEST  # at any moment, at most as many dates are due as there are granularities
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


BUILT = Instant.parse("2026-11-15T00:00:00Z")
"""No correct clock shows a time before this software existed. Moved forward at each release."""

_DRIFT = 1000
"""Time services correct a clock by at most half a thousandth; twice that, one part in this number, is no jump."""


def check_build_date(now: Instant, accepted: Instant | None, built: Instant = BUILT) -> None:
    """Raise `ClockBeforeBuild` for a time before this software.

    A time is accepted if an operator confirmed it and an IBIp can express it.
    """
    vouched_for = accepted is not None and accepted <= now and now.seconds >= FIRST_DATE
    if now < built and not vouched_for:
        raise ClockBeforeBuild(now=str(now), built=str(built))


def check_jump(before: Reading | None, reading: Reading, limit: Fraction) -> None:
    """Raise `ClockJumped` if the time of day moved against the uptime by more than `limit` and a normal drift."""
    if before is None or before.boot != reading.boot:
        return
    # In integers, because every queue passes here.
    digits = max(9, len(reading.wall.fraction), len(before.wall.fraction))
    second = int(10**digits)
    elapsed = (reading.uptime - before.uptime) * (second // 10**9)
    jump = reading.wall.units(digits) - before.wall.units(digits) - elapsed
    if abs(jump) * limit.denominator > limit.numerator * second + elapsed * limit.denominator // _DRIFT:
        raise ClockJumped(jump=_round_seconds(Fraction(jump, second)), now=str(reading.wall))


def check_behind(now: Instant, last: Instant | None, limit: Fraction) -> None:
    """Raise `ClockBehind` if the clock is behind the last label by more than `limit`."""
    if last is None or last <= now:
        return
    behind = last.as_fraction() - now.as_fraction()
    if behind > limit:
        raise ClockBehind(now=str(now), last=str(last), behind=_round_seconds(behind))


def with_accepted_clock(state: TickState, reading: Reading, issued: list[Span]) -> TickState:
    """Return the state after an operator confirmed the time of day, given everything that was `issued`.

    Later dates stay issued, and are skipped when their time comes. Minting continues from the latest date that is not
    after now.
    """
    now = reading.wall
    ahead = _merge_spans(sorted((span for span in issued if span.last > now), key=lambda span: span.first))
    past = [span.last for span in issued if span.last <= now]
    return replace(state, last=max(past, default=None), ahead=ahead, reading=reading, accepted=now)


def _merge_spans(spans: list[Span]) -> tuple[Span, ...]:
    """Merge spans less than a second apart, so that a long run of single labels needs little memory."""
    merged: list[Span] = []
    for span in spans:
        if merged and span.first.seconds - merged[-1].last.seconds <= 1:
            merged[-1] = Span(merged[-1].first, max(merged[-1].last, span.last))
        else:
            merged.append(span)
    return tuple(merged)


def _round_seconds(seconds: Fraction) -> str:
    return f"{float(seconds):.3f}".rstrip("0").rstrip(".")


MAX_COUNT = 1_000_000
"""Most labels in one request."""

Spread = Callable[[int], int]
"""Returns a random number that is at least 0 and below the given one."""

_PROBATION = 600
"""Seconds after a clock lost track in which its dates are spread at random.

Two copies of one machine that start together and cannot reach each other would otherwise choose the same dates. Their
own address is asked meanwhile.
"""
_SPREAD = 10_000_000
"""Nanoseconds over which a date is spread: the longest additional wait of a caller."""
_SPREAD_AHEAD = 100_000
"""The same if the last date lies ahead of the clock: it must not run away from the clock."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The operator's settings for minting; every duration is in seconds."""

    granularity: Granularity | None = None
    """None chooses for each queue: the coarsest that keeps every wait within `wait_bound`."""
    wait_bound: Fraction = Fraction(1, 100)
    """A longer bound makes labels in a burst shorter, and sequential callers slower.

    At 1 s, an import would get one label a second.
    """
    behind_limit: Fraction = Fraction(5)
    built: Instant = BUILT
    patience: Fraction = field(init=False, repr=False, compare=False)
    """The longest promised wait; a fixed granularity may add one tick of its own."""

    def __post_init__(self) -> None:
        patience = max(self.behind_limit, self.wait_bound)
        if self.granularity is not None:
            patience = self.behind_limit + self.granularity.seconds
        object.__setattr__(self, "patience", patience)


@dataclass(frozen=True, slots=True)
class Decision:
    """The clock's new state, the batch if any, and for each request its share or the reason for its refusal."""

    state: TickState
    batch: LabelBatch | None
    outcomes: tuple[BatchShare | IbiError, ...]
    keys: tuple[tuple[str, BatchShare], ...]
    """The shares to be stored, each with the key of its request."""


def decide(
    identity: Identity,
    rules: Rules,
    state: TickState,
    requests: Sequence[MintRequest],
    reading: Reading,
    remembered: Callable[[str, str], BatchShare | None],
    spread: Spread | None = None,
) -> Decision:
    """Serve a queue in order. A request that is refused, or was served before, mints nothing.

    With `spread`, dates are spread at random for a while after the clock lost track (E58).
    """
    plan = _plan(requests, remembered)
    fresh = plan.fresh
    if not fresh:
        return Decision(state, None, plan.outcomes({}), ())
    refusal = _clock_refusal(rules, state, reading)
    if refusal is not None:
        return Decision(state, None, plan.outcomes(dict.fromkeys(range(len(requests)), refusal)), ())
    return _mint(identity, rules, _close_gap(state, reading.wall), plan, fresh, reading, spread)


@dataclass(slots=True)
class _Plan:
    """The state of each request before the clock is read: it has an outcome, or is to be minted."""

    requests: Sequence[MintRequest]
    settled: dict[int, BatchShare | IbiError]
    twins: dict[int, int]
    """Each request with the key of an earlier one in the same queue, and the index of that one."""

    @property
    def is_plain(self) -> bool:
        """True if every request is to be minted, as nearly always."""
        return not self.settled and not self.twins

    @property
    def fresh(self) -> int:
        """The number of labels to be minted."""
        if self.is_plain:
            return sum(_columns(self.requests)[0])
        return sum(
            request.count
            for index, request in enumerate(self.requests)
            if index not in self.settled and index not in self.twins
        )

    def outcomes(self, served: Mapping[int, BatchShare | IbiError]) -> tuple[BatchShare | IbiError, ...]:
        """Return one outcome for each request, in order; `served` are those of the requests to be minted."""
        if self.is_plain:
            return tuple(served.values())
        return tuple(self._outcome(index, served) for index in range(len(self.requests)))

    def _outcome(self, index: int, served: Mapping[int, BatchShare | IbiError]) -> BatchShare | IbiError:
        if index in self.twins:
            outcome = self._outcome(self.twins[index], served)
            return _same_or_conflict(self.requests[index], outcome) if isinstance(outcome, BatchShare) else outcome
        return self.settled[index] if index in self.settled else served[index]


def _plan(requests: Sequence[MintRequest], remembered: Callable[[str, str], BatchShare | None]) -> _Plan:
    plan = _Plan(requests, {}, {})
    counts, _, keys = _columns(requests)
    if counts and keys.count(None) == len(keys) and min(counts) >= 1 and max(counts) <= MAX_COUNT:
        return plan
    first_use: dict[tuple[str, str], int] = {}
    for index, request in enumerate(requests):
        count, who, key = request
        if not 1 <= count <= MAX_COUNT:
            plan.settled[index] = InvalidCount(count=count, most=MAX_COUNT)
        elif key is not None:
            before = remembered(who, key)
            twin = first_use.setdefault((who, key), index)
            if before is not None:
                plan.settled[index] = _same_or_conflict(request, before)
            elif twin != index:
                plan.twins[index] = twin
    return plan


def _columns(
    requests: Sequence[MintRequest],
) -> tuple[tuple[int, ...], tuple[str, ...], tuple[str | None, ...]]:
    """Return counts, names and keys: scanning them is many times as fast as scanning the requests one by one."""
    if not requests:
        return (), (), ()
    counts, names, keys = zip(*requests, strict=True)
    return counts, names, keys


def _same_or_conflict(request: MintRequest, before: BatchShare) -> BatchShare | IdempotencyConflict:
    if before.count == request.count:
        return before
    return IdempotencyConflict(key=request.key, before=before.count, count=request.count)


def _clock_refusal(rules: Rules, state: TickState, reading: Reading) -> ClockRefused | None:
    try:
        check_build_date(reading.wall, state.accepted, rules.built)
        check_jump(state.reading, reading, rules.behind_limit)
        check_behind(reading.wall, state.last, rules.patience)
    except ClockRefused as refusal:
        return refusal
    return None


def _close_gap(state: TickState, now: Instant) -> TickState:
    """Return the clock with its gap closed: it continues after now, since no date is handed out before it has come."""
    if state.gap is Gap.NONE:
        return state
    resumed = now if state.gap is Gap.LOST_TRACK else state.resumed
    last = now if state.last is None else max(now, state.last)
    return replace(state, last=last, gap=Gap.NONE, resumed=resumed)


def _spread_clock(state: TickState, now: Instant, spread: Spread) -> TickState:
    """Return the clock, advanced by a random time."""
    drawn = _move_on(now, spread(_SPREAD))
    if state.last is not None and drawn <= state.last:
        drawn = _move_on(state.last, spread(_SPREAD_AHEAD))
    return replace(state, last=drawn)


def _move_on(instant: Instant, nanoseconds: int) -> Instant:
    digits = max(FINEST.digits, len(instant.fraction))
    return Instant.from_units(instant.units(digits) + nanoseconds * int(10 ** (digits - FINEST.digits)), digits)


def _is_on_probation(state: TickState, now: Instant) -> bool:
    return state.resumed is not None and now.seconds < state.resumed.seconds + _PROBATION


def _mint(
    identity: Identity,
    rules: Rules,
    state: TickState,
    plan: _Plan,
    fresh: int,
    reading: Reading,
    spread: Spread | None,
) -> Decision:
    begun, chosen = _begin_clock(rules, state, reading.wall), rules.granularity
    if spread is not None and chosen is None and _is_on_probation(state, reading.wall):
        begun, chosen = _spread_clock(begun, reading.wall, spread), FINEST
    tried: dict[Granularity, tuple[Instant | None, TickRun]] = {}

    def ticks_at(granularity: Granularity) -> TickRun:
        tried[granularity] = found = _free_ticks(begun, reading.wall, granularity, fresh)
        return found[1]

    granularity = chosen or coarsest_granularity(ticks_at, rules.wait_bound, rules.patience)
    if granularity not in tried:
        ticks_at(granularity)
    after, ticks = tried[granularity]
    _refuse_long_waits(rules, plan, ticks, granularity)
    count = fresh if plan.is_plain else plan.fresh
    if not count:
        return Decision(state, None, plan.outcomes({}), ())
    batch = LabelBatch(
        identity.repository_prefix,
        identity.ibip_prefix,
        identity.sandbox,
        reading.wall,
        after,
        granularity,
        count,
        ticks if count == fresh else None,
    )
    shares, keys = _shares(batch, plan)
    last = ticks.date(count - 1)
    ahead = tuple([span for span in state.ahead if span.last > last])
    after_batch = TickState(last, ahead, reading, state.accepted, state.gap, state.resumed)
    return Decision(after_batch, batch, plan.outcomes(shares), tuple(keys))


_share: Callable[[tuple[LabelBatch, int, int, str]], BatchShare] = partial(tuple.__new__, BatchShare)
"""Does the same as `BatchShare`, but in one step: this was the largest part of the cost of a full queue."""


def _shares(batch: LabelBatch, plan: _Plan) -> tuple[dict[int, BatchShare], list[tuple[str, BatchShare]]]:
    """Return the share of each request to be minted, in order, and the shares to be stored by their keys."""
    if plan.is_plain:
        counts, names, own_keys = _columns(plan.requests)
        in_turn = map(_share, zip(repeat(batch), accumulate(counts, initial=0), counts, names))
        shares = dict(enumerate(in_turn))
        if own_keys.count(None) == len(own_keys):
            return shares, []
        return shares, [(key, shares[index]) for index, key in enumerate(own_keys) if key is not None]
    shares, keys = {}, []
    passed_over = plan.settled.keys() | plan.twins.keys()
    start = 0
    for index, (count, who, key) in enumerate(plan.requests):
        if index in passed_over:
            continue
        shares[index] = share = BatchShare(batch, start, count, who)
        start += count
        if key is not None:
            keys.append((key, share))
    return shares, keys


def _begin_clock(rules: Rules, state: TickState, now: Instant) -> TickState:
    """Return the clock after line 3 of Algorithm 4.

    A granularity yet to be chosen begins like the coarsest: the first labels are short.
    """
    if state.last is not None or rules.granularity is not None:
        return state
    return replace(state, last=Instant(now.seconds // 60 * 60 - 60))


def _free_ticks(state: TickState, now: Instant, granularity: Granularity, count: int) -> tuple[Instant | None, TickRun]:
    """Return the next dates that no clock running ahead has issued already, and the date they come after."""
    after = state.last
    ticks = next_ticks(now, after, granularity, count)
    for span in state.ahead:  # in order
        if ticks.last < span.first:
            break
        if ticks.first <= span.last:
            after = span.last
            ticks = next_ticks(now, after, granularity, count)
    return after, ticks


def _refuse_long_waits(rules: Rules, plan: _Plan, ticks: TickRun, granularity: Granularity) -> None:
    """Refuse the requests that would wait too long; they take no date."""
    if ticks.waits_within(rules.patience):
        return
    taken = 0
    for index, request in enumerate(plan.requests):
        if index in plan.settled or index in plan.twins:
            continue
        wait = ticks[taken + request.count - 1].wait
        if wait <= rules.patience:
            taken += request.count
        else:
            plan.settled[index] = _too_long(rules, request, granularity, wait)


def _too_long(rules: Rules, request: MintRequest, granularity: Granularity, wait: Fraction) -> QueueTooLong:
    return QueueTooLong(
        count=request.count,
        granularity=str(granularity),
        wait=f"{float(wait):.1f}",
        most=f"{float(rules.patience):g}",
    )
