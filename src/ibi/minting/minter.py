"""Who gets which dates: a queue of requests against the memory of the clock.

Pure, so that a store can run it inside one exclusive transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, repeat

from ibi.clock import Granularity, TickRun, next_ticks
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.minting.clock_guard import BUILT, check_behind, check_build_date, check_jump
from ibi.minting.errors import ClockRefused, IdempotencyConflict, InvalidCount, QueueTooLong
from ibi.minting.granularity import FINEST, coarsest_granularity
from ibi.model.minting import BatchShare, Gap, Identity, LabelBatch, MintRequest, Reading, TickState

MAX_COUNT = 1_000_000
"""Labels in one request."""

Spread = Callable[[int], int]
"""Draws a random number that is at least 0 and below the given one."""

_PROBATION = 600
"""Seconds after a clock lost track for which its dates are spread by chance: two copies of one machine that start
together and cannot reach each other would otherwise choose the same ones. Their own address is asked meanwhile."""
_SPREAD = 10_000_000
"""Nanoseconds over which a date is spread: what a caller may have to wait for it."""
_SPREAD_AHEAD = 100_000
"""The same where the last date lies ahead of the clock: it must not run away from it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the operator wants minting to behave; every duration is in seconds."""

    granularity: Granularity | None = None
    """None chooses for each queue: the coarsest that keeps every wait within `wait_bound`."""
    wait_bound: Fraction = Fraction(1, 100)
    """A longer bound makes labels shorter in a burst, and callers that ask one after the other slower: at 1 s, an
    import would get one label a second."""
    behind_limit: Fraction = Fraction(5)
    built: Instant = BUILT
    patience: Fraction = field(init=False, repr=False, compare=False)
    """The longest wait that is promised; a fixed granularity may cost one tick of itself on top."""

    def __post_init__(self) -> None:
        patience = max(self.behind_limit, self.wait_bound)
        if self.granularity is not None:
            patience = self.behind_limit + self.granularity.seconds
        object.__setattr__(self, "patience", patience)


@dataclass(frozen=True, slots=True)
class Decision:
    """The clock's new memory, the batch minted if any, and for each request its share or the reason why not."""

    state: TickState
    batch: LabelBatch | None
    outcomes: tuple[BatchShare | IbiError, ...]
    keys: tuple[tuple[str, BatchShare], ...]
    """The shares to be remembered, each with the key of its request."""


def decide(
    identity: Identity,
    rules: Rules,
    state: TickState,
    requests: Sequence[MintRequest],
    reading: Reading,
    remembered: Callable[[str, str], BatchShare | None],
    spread: Spread | None = None,
) -> Decision:
    """Serve a queue in order. Nothing is minted for a request that is refused, or that was served before.

    With `spread`, dates are spread by chance for a while after the clock lost track (E58).
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
    """What is known of each request before the clock is asked: an outcome, or that it is to be minted."""

    requests: Sequence[MintRequest]
    settled: dict[int, BatchShare | IbiError]
    twins: dict[int, int]
    """A request with the key of an earlier one in the same queue, and that earlier one."""

    @property
    def is_plain(self) -> bool:
        """Whether every request is to be minted, as nearly always."""
        return not self.settled and not self.twins

    @property
    def fresh(self) -> int:
        """How many labels are to be minted."""
        if self.is_plain:
            return sum(_columns(self.requests)[0])
        return sum(
            request.count
            for index, request in enumerate(self.requests)
            if index not in self.settled and index not in self.twins
        )

    def outcomes(self, served: Mapping[int, BatchShare | IbiError]) -> tuple[BatchShare | IbiError, ...]:
        """One for each request, in order; `served` are those of the requests that were to be minted."""
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
    """Counts, names and keys: looked through many times as fast as the requests one by one."""
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
    """The clock with its gap closed: it goes on later than now, since no date is handed out before it has come."""
    if state.gap is Gap.NONE:
        return state
    resumed = now if state.gap is Gap.LOST_TRACK else state.resumed
    last = now if state.last is None else max(now, state.last)
    return replace(state, last=last, gap=Gap.NONE, resumed=resumed)


def _spread_clock(state: TickState, now: Instant, spread: Spread) -> TickState:
    """The clock moved on by chance."""
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
"""As `BatchShare` itself does it, but in one step: this was the most of all that a full queue costs."""


def _shares(batch: LabelBatch, plan: _Plan) -> tuple[dict[int, BatchShare], list[tuple[str, BatchShare]]]:
    """The share of each request that is to be minted, in order, and those to be remembered by their keys."""
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
    """Line 3 of Algorithm 4. A granularity yet to be chosen begins as the coarsest does: the first labels are short."""
    if state.last is not None or rules.granularity is not None:
        return state
    return replace(state, last=Instant(now.seconds // 60 * 60 - 60))


def _free_ticks(state: TickState, now: Instant, granularity: Granularity, count: int) -> tuple[Instant | None, TickRun]:
    """The next dates that no clock running ahead has issued already, and the date they come after."""
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
    """A request that would wait too long is refused and takes no date."""
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
