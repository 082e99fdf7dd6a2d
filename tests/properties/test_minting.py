"""Minting under any queue, clock and granularity; and its log under any tampering."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ibi.minting.model import BatchShare, MintRequest, Span, TickState
from ibi.minting.rules.errors import ClockRefused
from ibi.minting.rules.mint_log import GENESIS, LogBroken, LogEntry, decode, encode, hash_of, verify
from ibi.minting.rules.minter import FINEST, Rules, coarsest_granularity, decide, with_accepted_clock
from ibi.standard.clock import MINUTE, Granularity, TickRun, next_ticks
from ibi.standard.clock_reading import Reading
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from tests.support.memory.ticks import MemoryTicks
from tests.support.minting_samples import IDENTITY, accept, labels_on_record, mint
from tests.support.set_clocks import SetClocks

START = Instant.parse("2027-03-01T12:00:30Z")

nanoseconds = st.integers(0, 200 * 10**9).map(lambda units: Instant.from_units(START.seconds * 10**9 + units, 9))
rounded = st.integers(0, 2_000).map(lambda tenths: Instant.from_units(START.seconds * 10 + tenths, 1))
instants = nanoseconds | rounded
granularities = st.integers(0, 10).map(Granularity)
bounds = st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1), Fraction(7, 3), Fraction(60)])
counts = st.sampled_from([1, 1, 1, 2, 3, 10, 11, 12, 13, 100, 5_000])
rules = st.builds(
    Rules,
    granularity=st.none() | granularities,
    wait_bound=bounds,
    behind_limit=st.sampled_from([Fraction(0), Fraction(5), Fraction(100)]),
    built=st.just(Instant(0)),
)


requests = st.lists(
    st.builds(MintRequest, counts | st.just(0), st.sampled_from("ab"), st.none() | st.sampled_from("xyz")), max_size=12
)
spans = st.builds(lambda one, other: Span(min(one, other), max(one, other)), instants, instants)
states = st.builds(
    lambda last, ahead: TickState(last, tuple(sorted(ahead, key=lambda span: span.first))),
    st.none() | instants,
    st.lists(spans, max_size=4),
)


# The choice of the granularity.


def wait(now: Instant, last: Instant | None, granularity: Granularity, count: int) -> Fraction:
    """By Algorithm 4, one call after the other."""
    for _ in range(count):
        tick = next_ticks(now, last, granularity, 1)[0]
        last = tick.date
    return tick.wait


NEXT_TO_NOTHING = Fraction(1, 10_000)


@given(instants, st.none() | instants, st.integers(1, 20), bounds)
def test_the_granularity_is_the_coarsest_that_keeps_the_bound(
    now: Instant, last: Instant | None, count: int, bound: Fraction
) -> None:
    def ticks(granularity: Granularity) -> TickRun:
        return next_ticks(now, last, granularity, count)

    chosen = coarsest_granularity(ticks, bound)
    levels = [Granularity(level) for level in range(FINEST.level + 1)]
    good = [one for one in levels if wait(now, last, one, count) <= bound]
    if good:
        assert chosen == max(good)
    else:
        unavoidable = wait(now, last, FINEST, count)
        allowed = [one for one in levels if wait(now, last, one, count) <= unavoidable + min(bound, NEXT_TO_NOTHING)]
        assert chosen == (max(allowed) if bound else FINEST)


@given(instants, instants, counts, bounds)
def test_within_patience(now: Instant, last: Instant, count: int, bound: Fraction) -> None:
    """Where the bound cannot be kept, patience is not lost for the sake of a shorter label."""

    def ticks(granularity: Granularity) -> TickRun:
        return next_ticks(now, last, granularity, count)

    patience = max(bound, Fraction(5))
    assume(ticks(FINEST).waits_within(patience))
    assert ticks(coarsest_granularity(ticks, bound, patience)).waits_within(patience)


@given(states, instants, counts, bounds)
def test_what_was_issued_ahead_counts_in_the_choice(
    state: TickState, now: Instant, count: int, bound: Fraction
) -> None:
    """The coarsest of all granularities that, fixed, would keep the bound."""

    def longest_wait(granularity: Granularity | None) -> tuple[Fraction, Granularity]:
        rule = Rules(granularity, wait_bound=bound, behind_limit=Fraction(10**6), built=Instant(0))
        decision = decide(
            IDENTITY, rule, state, [MintRequest(count, "ana")], Reading(now, 0, ""), lambda who, key: None
        )
        assert decision.batch is not None
        return decision.batch.ticks().wait, decision.batch.granularity

    chosen = longest_wait(None)[1]
    good = [level for level in range(FINEST.level + 1) if longest_wait(Granularity(level))[0] <= bound]
    if good:
        assert chosen == Granularity(good[0])


# A queue.


@given(states, requests, instants, rules)
def test_a_decision_is_whole(state: TickState, queue: list[MintRequest], now: Instant, rule: Rules) -> None:
    decision = decide(IDENTITY, rule, state, queue, Reading(now, 0, ""), lambda who, key: None)
    assert len(decision.outcomes) == len(queue)
    fresh = {one for one in decision.outcomes if isinstance(one, BatchShare)}
    assert all(share.batch is decision.batch for share in fresh)
    if decision.batch is None:
        assert not fresh
        assert decision.state == state
        assert decision.keys == ()
        return
    # The shares are the batch, each date once.
    parts = sorted((share.start, share.count) for share in fresh)
    assert [start for start, _ in parts] == [sum(count for _, count in parts[:index]) for index in range(len(parts))]
    assert sum(count for _, count in parts) == decision.batch.count
    # Later than what was issued, and between it.
    issued = decision.batch.span()
    assert decision.state.last == issued.last
    assert state.last is None or issued.first > state.last
    assert all(span.last < issued.first or issued.last < span.first for span in state.ahead)
    assert decision.state.ahead == tuple(span for span in state.ahead if span.last > issued.last)
    # Nobody waits longer than was promised.
    assert decision.batch.ticks().waits_within(rule.patience)
    # Every fresh key is remembered.
    keyed = {
        (one.who, one.key)
        for one, outcome in zip(queue, decision.outcomes, strict=True)
        if one.key and outcome in fresh
    }
    assert {(share.who, key) for key, share in decision.keys} == keyed


@given(states, requests, instants, rules)
def test_asking_again_gives_the_same(state: TickState, queue: list[MintRequest], now: Instant, rule: Rules) -> None:
    first = decide(IDENTITY, rule, state, queue, Reading(now, 0, ""), lambda who, key: None)
    known = {(share.who, key): share for key, share in first.keys}
    again = decide(IDENTITY, rule, first.state, queue, Reading(now, 0, ""), lambda who, key: known.get((who, key)))
    for request, one, other in zip(queue, first.outcomes, again.outcomes, strict=True):
        if request.key and isinstance(one, BatchShare):
            assert one == other


# A long story, without a disk.

events = st.lists(
    st.tuples(
        st.sampled_from(["pass", "pass", "jump", "boot", "accept", "identity"]),
        st.integers(-(10**10), 10**10) | st.integers(-(5 * 10**17), 5 * 10**17),
        st.lists(counts, min_size=1, max_size=4),
        rules,
    ),
    max_size=25,
)
MOVED = Identity(IDENTITY.host, "150.163.34.250")


@given(events)
def test_no_name_is_ever_given_twice(story: list[tuple[str, int, list[int], Rules]]) -> None:
    """Clocks set by up to fifteen years, accepted or not; restarts; granularities of all kinds; another address."""
    clocks, ticks, identity = SetClocks(START), MemoryTicks(), IDENTITY
    ticks.freeze(identity)
    acknowledged: list[str] = []
    for event, amount, wanted, rule in story:
        seconds = Fraction(amount, 10**9)
        if event == "pass":
            clocks.advance(abs(seconds) % 100)
        elif event == "jump":
            clocks.jump(seconds)
        elif event == "boot":
            clocks.boot(str(amount))
        elif event == "accept":
            accept(ticks, clocks)
        else:
            identity = MOVED if identity == IDENTITY else IDENTITY
            ticks.freeze(identity)
        queue = [MintRequest(min(count, 50), "ana") for count in wanted]
        for outcome in mint(ticks, clocks, *queue, rules=rule, identity=identity).outcomes:
            if isinstance(outcome, BatchShare):
                acknowledged += [label.rep for label in outcome.labels()]
            else:
                assert isinstance(outcome, ClockRefused)
    assert len(set(acknowledged)) == len(acknowledged)
    assert acknowledged == list(labels_on_record(ticks))


@given(st.lists(spans, max_size=8), instants)
def test_an_accepted_clock_forgets_nothing(issued: list[Span], now: Instant) -> None:
    state = with_accepted_clock(TickState(), Reading(now, 0, ""), issued)
    for span in issued:
        past = state.last is not None and span.last <= state.last
        ahead = any(one.first <= span.first and span.last <= one.last for one in state.ahead)
        assert past or ahead
    assert state.last is None or state.last <= now
    assert all(one.last < other.first for one, other in zip(state.ahead, state.ahead[1:], strict=False))


# The log.

names = st.text(st.characters(exclude_categories=[]), max_size=8)
whos = st.lists(st.tuples(names, st.integers(1, 10**6)), min_size=1, max_size=5)
identities = st.sampled_from(
    [IDENTITY, MOVED, Identity("x.org"), Identity.of_sandbox(8765), Identity("a.b", "2001:db8::1", 8080, 1)]
)
hashes = st.text("0123456789abcdef", min_size=64, max_size=64)
mint_lines = st.builds(
    lambda number, identity, at, previous, after, granularity, who: LogEntry(
        number, "mint", identity, at, previous, after, granularity, merged(who)
    ),
    st.integers(1, 10**9),
    identities,
    instants,
    hashes,
    st.none() | instants,
    granularities,
    whos,
)
other_lines = st.builds(
    LogEntry, st.integers(1, 10**9), st.sampled_from(["identity", "clock", "copy"]), identities, instants, hashes
)


def merged(who: list[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Neighbours of one name made one, as a line writes them."""
    result: list[tuple[str, int]] = []
    for name, count in who:
        if result and result[-1][0] == name:
            result[-1] = name, result[-1][1] + count
        else:
            result.append((name, count))
    return tuple(result)


@given(mint_lines | other_lines)
def test_a_line_round_trips(entry: LogEntry) -> None:
    line = encode(entry)
    assert decode(line, 1) == entry
    assert line.isascii()
    assert b"\n" not in line


@pytest.fixture(scope="module")
def log() -> bytes:
    """A whole log, as it lies on the disk."""
    clocks, ticks = SetClocks(START), MemoryTicks(SetClocks(START))
    ticks.freeze(IDENTITY)
    for count in (1, 5, 2):
        mint(ticks, clocks, MintRequest(count, "ana"), MintRequest(1, "João"))
        clocks.advance(1)
    accept(ticks, clocks)
    mint(ticks, clocks)
    return b"".join(line + b"\n" for line in ticks.log())


def holds(content: bytes, head: str) -> bool:
    if not content.endswith(b"\n"):
        return False  # a torn line is another matter
    try:
        return bool(list(verify(content[:-1].split(b"\n"), head)))
    except LogBroken:
        return False


def test_any_byte_changed_is_noticed(log: bytes) -> None:
    head = hash_of(log.splitlines()[-1])
    assert holds(log, head)
    for place in range(len(log)):
        for flip in (1, 0x20, 0x80):
            assert not holds(log[:place] + bytes([log[place] ^ flip]) + log[place + 1 :], head), place
        assert not holds(log[:place] + log[place + 1 :], head), place


@given(st.data())
def test_any_piece_exchanged_is_noticed(log: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(log)))
    end = data.draw(st.integers(start, len(log)))
    piece = data.draw(st.binary(max_size=20) | st.sampled_from([log[start : start + 40], b"\n", b"{}", b""]))
    tampered = log[:start] + piece + log[end:]
    assume(tampered != log)
    assert not holds(tampered, hash_of(log.splitlines()[-1]))


@given(st.binary(max_size=200))
def test_nonsense_is_refused_in_one_way(line: bytes) -> None:
    with pytest.raises(LogBroken):
        decode(line, 1)


def test_the_head_of_an_empty_log() -> None:
    assert not holds(b"", GENESIS)
    assert MINUTE > FINEST
