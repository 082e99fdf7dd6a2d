"""What lines of the log do to the clocks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.clock import SECOND
from ibi.instant import Instant
from ibi.minting.errors import IdentityChanged
from ibi.minting.mint_log import LogBroken, LogEntry, issued_spans, later, mint_entry, replay_entry, resumed_clock
from ibi.model.minting import BatchShare, Identity, LabelBatch, Span, TickState

IDENTITY = Identity("mtc-m18.sid.inpe.br", "150.163.34.248")
MOVED = replace(IDENTITY, ip="150.163.34.250")
OTHER = Identity("other.sid.inpe.br")
NOW = Instant.parse("2027-03-01T12:00:30Z")


def at(seconds: int) -> Instant:
    return Instant(NOW.seconds + seconds)


def mint_line(after: Instant | None, count: int = 2, now: Instant = NOW) -> LogEntry:
    return LogEntry(7, "mint", IDENTITY, now, "", after, SECOND, (("ana", count),))


def no_entries() -> list[LogEntry]:
    raise AssertionError("the log is not read again for this")


def test_a_batch_moves_the_clock_of_its_identity() -> None:
    clocks = {IDENTITY.key: TickState(at(-5), (Span(at(-3), at(-2)), Span(at(9), at(9)))), OTHER.key: TickState()}
    changed = replay_entry(mint_line(at(-1)), clocks, no_entries)
    assert changed == {IDENTITY.key: TickState(at(1), (Span(at(9), at(9)),))}


@pytest.mark.parametrize(
    "state", [TickState(at(0)), TickState(at(1)), TickState(at(90)), TickState(at(-9), (Span(at(1), at(50)),))]
)
def test_a_batch_of_dates_given_before_is_refused(state: TickState) -> None:
    with pytest.raises(LogBroken, match="given out before"):
        replay_entry(mint_line(at(-1)), {IDENTITY.key: state}, no_entries)


def test_a_batch_of_nobody_is_refused() -> None:
    with pytest.raises(LogBroken, match="takes its identity"):
        replay_entry(mint_line(None), {}, no_entries)


def test_an_identity_goes_on_after_whoever_shares_a_prefix() -> None:
    clocks = {
        MOVED.key: TickState(at(5), (Span(at(1), at(2)), Span(at(8), at(9)))),
        OTHER.key: TickState(at(99)),
        IDENTITY.key: TickState(at(3), (Span(at(6), at(7)),), accepted=at(1)),
    }
    expected = TickState(at(5), (Span(at(6), at(7)), Span(at(8), at(9))), accepted=at(1))
    assert resumed_clock(IDENTITY, clocks) == expected
    assert resumed_clock(Identity("new.sid.inpe.br"), clocks) == TickState()
    entry = LogEntry(7, "identity", IDENTITY, NOW, "")
    assert replay_entry(entry, clocks, no_entries) == {IDENTITY.key: expected}


def test_a_clock_accepted_is_accepted_again() -> None:
    before = [mint_line(at(-30), now=at(-20)), mint_line(at(10), now=at(20)), LogEntry(9, "identity", OTHER, NOW, "")]
    state = TickState(at(22))
    entry = LogEntry(10, "clock", IDENTITY, NOW, "")
    (changed,) = replay_entry(entry, {IDENTITY.key: state}, lambda: before).values()
    assert (changed.last, changed.accepted) == (at(-19), NOW)
    assert changed.ahead[0].first <= at(20)
    assert changed.ahead[-1].last == at(22)
    assert changed.reading is not None
    assert changed.reading.boot == ""


def test_a_copy_moves_every_clock() -> None:
    clocks = {IDENTITY.key: TickState(at(5)), OTHER.key: TickState(at(-5)), MOVED.key: TickState()}
    changed = replay_entry(LogEntry(7, "copy", IDENTITY, NOW, ""), clocks, no_entries)
    assert changed == {IDENTITY.key: TickState(at(5)), OTHER.key: TickState(NOW), MOVED.key: TickState(NOW)}


def test_a_clock_is_only_ever_moved_on() -> None:
    assert later(TickState(), None) == TickState()
    assert later(TickState(), NOW) == TickState(NOW)
    assert later(TickState(at(1)), NOW) == TickState(at(1))
    assert later(TickState(at(-1)), NOW) == TickState(NOW)


def test_everything_issued_counts_whoever_shares_a_prefix() -> None:
    moved = replace(mint_line(at(10), now=at(20)), identity=MOVED)
    other = replace(mint_line(at(30), now=at(40)), identity=OTHER)
    state = TickState(at(3), (Span(at(6), at(7)),))
    spans = issued_spans(IDENTITY, state, [moved, other])
    assert spans == [moved.span(), Span(at(6), at(7)), Span(at(3), at(3))]


# The line of a batch.

BATCH = LabelBatch(
    IDENTITY.repository_prefix, IDENTITY.ibip_prefix, sandbox=False, now=NOW, after=None, granularity=SECOND, count=5
)


def test_a_line_names_each_share_once() -> None:
    first, second = BatchShare(BATCH, 0, 2, "ana"), BatchShare(BATCH, 2, 3, "rui")
    before = BatchShare(replace(BATCH, count=9), 0, 9, "eva")
    entry = mint_entry(4, "x", IDENTITY, BATCH, [second, before, first, first, LogBroken(line=1, reason="")])
    assert entry.who == (("ana", 2), ("rui", 3))
    assert entry.batch() == BATCH
    assert (entry.number, entry.previous, entry.at) == (4, "x", NOW)


def test_shares_that_are_not_the_batch_are_refused() -> None:
    for shares in (
        [],
        [BatchShare(BATCH, 0, 2, "ana")],
        [BatchShare(BATCH, 0, 5, "ana"), BatchShare(BATCH, 1, 1, "ana")],
    ):
        with pytest.raises(ValueError, match="not the whole"):
            mint_entry(4, "x", IDENTITY, BATCH, shares)


@pytest.mark.parametrize("identity", [OTHER, MOVED, replace(IDENTITY, sandbox=True), replace(IDENTITY, host_port=81)])
def test_a_batch_of_another_identity_is_refused(identity: Identity) -> None:
    with pytest.raises(IdentityChanged):
        mint_entry(4, "x", identity, BATCH, [BatchShare(BATCH, 0, 5, "ana")])
