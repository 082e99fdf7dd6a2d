"""What a line of the mint log does to the clocks of a data directory.

The log alone tells where every clock stands. A store reads it again when it knows less than the log: after a crash
between the two, or when it was put back from a backup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Final

from ibi.instant import Instant
from ibi.minting.errors import IdentityChanged
from ibi.minting.mint_log import LogBroken, LogEntry
from ibi.minting.minter import with_accepted_clock
from ibi.model.minting import BatchShare, Gap, Identity, LabelBatch, Reading, Span, TickState

Clocks = Mapping[str, TickState]
"""The clock of each identity that ever minted here, by `Identity.key`."""


def mint_entry(
    number: int, previous: str, identity: Identity, batch: LabelBatch, outcomes: Iterable[object]
) -> LogEntry:
    """The line that records `batch`, handed out as `outcomes`.

    `IdentityChanged` if it was minted for another identity than the frozen `identity`, which an operator may have
    changed meanwhile: its dates come from the other one's clock.
    """
    minted = tuple([prefix for prefix in (batch.rep_prefix, batch.ibip_prefix) if prefix])
    if minted != identity.prefixes or batch.sandbox != identity.sandbox:
        raise IdentityChanged(frozen=str(identity), configured=" ".join(minted))
    who = _askers(batch, outcomes)
    return LogEntry(number, "mint", identity, batch.now, previous, batch.after, batch.granularity, who, batch)


def _askers(batch: LabelBatch, outcomes: Iterable[object]) -> tuple[tuple[str, int], ...]:
    """Who got how many labels of `batch`, in the order of their dates; neighbours of one asker are one."""
    # A share of an earlier batch was recorded then, and twins of one key have one share.
    shares = [each for each in outcomes if isinstance(each, BatchShare) and each.batch is batch]
    shares.sort(key=_START)
    who: list[tuple[str, int]] = []
    begun, reached, asker, asked = -1, 0, "", 0
    for _, start, count, name in shares:
        if start == begun:
            continue
        if start != reached:
            break
        if name != asker and asked:
            who.append((asker, asked))
            asked = 0
        begun, reached, asker, asked = start, reached + count, name, asked + count
    else:
        if reached == batch.count:
            return (*who, (asker, asked))
    raise ValueError("the shares of a batch are not the whole of it")


_START: Final = attrgetter("start")


def resumed_clock(identity: Identity, clocks: Clocks) -> TickState:
    """The clock with which `identity` begins to mint, or goes on: its own, but not before another clock's that gave
    out dates under one of its prefixes (a new address with the same host, say). Else one name would be given twice.
    """
    state = clocks.get(identity.key, TickState())
    relatives = [clock for key, clock in clocks.items() if _share_a_prefix(key, identity.key)]
    last = max((clock.last for clock in relatives if clock.last is not None), default=None)
    ahead = {span for clock in relatives for span in clock.ahead if last is None or span.last > last}
    gap = max((clock.gap for clock in relatives), default=state.gap)
    return replace(state, last=last, ahead=tuple(sorted(ahead, key=lambda span: span.first)), gap=gap)


def _share_a_prefix(key: str, other: str) -> bool:
    """Of two `Identity.key`."""
    return not set(key.split(" ")).isdisjoint(other.split(" "))


def later(state: TickState, date: Instant | None) -> TickState:
    """The clock, moved on to `date` if it is not there yet."""
    if date is None or (state.last is not None and date <= state.last):
        return state
    return replace(state, last=date)


def with_gap(state: TickState, gap: Gap, newest: Instant | None = None) -> TickState:
    """The clock after it lost track of what was issued, `newest` being the newest date known from elsewhere.

    The date of now is added when the next label is minted: the clock of a machine that has just booted may be wrong.
    """
    is_passed_over = newest is not None and any(span.first <= newest <= span.last for span in state.ahead)
    state = state if is_passed_over else later(state, newest)
    return replace(state, gap=max(state.gap, gap))


def issued_spans(identity: Identity, state: TickState, entries: Iterable[LogEntry]) -> list[Span]:
    """All dates that were given out under a prefix of `identity`, by the log and by what its clock remembers."""
    logged = (entry.span() for entry in entries if _share_a_prefix(entry.identity.key, identity.key))
    remembered = (*state.ahead, *([Span(state.last, state.last)] if state.last else []))
    return [*(span for span in logged if span is not None), *remembered]


def replay_entry(
    entry: LogEntry, clocks: Clocks, entries_before: Callable[[], Iterable[LogEntry]]
) -> dict[str, TickState]:
    """The clocks that `entry` changes, as they are after it."""
    identity, key = entry.identity, entry.identity.key
    if entry.kind == "identity":
        return {key: resumed_clock(identity, clocks)}
    if key not in clocks:
        raise LogBroken(line=entry.number, reason="no line before it takes its identity")
    if entry.kind == "copy":
        return {name: later(clock, entry.at) for name, clock in clocks.items()}
    if entry.kind == "clock":
        issued = issued_spans(identity, clocks[key], entries_before())
        # The uptime is not on record: the next jump is measured from the next label on.
        return {key: with_accepted_clock(clocks[key], Reading(entry.at, 0, ""), issued)}
    return {key: _after_batch(entry, clocks[key])}


def _after_batch(entry: LogEntry, state: TickState) -> TickState:
    span = entry.span()
    assert span is not None
    taken = state.last is not None and span.first <= state.last
    if taken or any(_overlap(span, other) for other in state.ahead):
        raise LogBroken(line=entry.number, reason=f"its first date {span.first} was given out before")
    return replace(state, last=span.last, ahead=tuple(other for other in state.ahead if other.last > span.last))


def _overlap(one: Span, other: Span) -> bool:
    return one.first <= other.last and other.first <= one.last
