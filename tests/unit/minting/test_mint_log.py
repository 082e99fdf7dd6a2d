"""Lines of the mint log, and the chain they form."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ibi.minting.model import BatchShare, LabelBatch, Span, TickState
from ibi.minting.rules.errors import IdentityChanged
from ibi.minting.rules.mint_log import (
    GENESIS,
    LogBroken,
    LogEntry,
    decode,
    encode,
    hash_of,
    issued_spans,
    later,
    mint_entry,
    replay_entry,
    resumed_clock,
    verify,
)
from ibi.standard.clock import SECOND, Granularity
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant

IDENTITY = Identity("mtc-m18.sid.inpe.br", "150.163.34.248")
NOW = Instant.parse("2027-03-01T12:00:30.25Z")
IDENTITY_LINE = LogEntry(1, "identity", IDENTITY, NOW, GENESIS)
MINT_LINE = LogEntry(
    1, "mint", IDENTITY, NOW, GENESIS, NOW, Granularity.parse("0.1"), (("ana", 2), ("rui", 1), ("ana", 3))
)


def chain(*entries: LogEntry) -> list[bytes]:
    """The entries, numbered and bound to each other; the dates of a batch follow those of the one before."""
    lines: list[bytes] = []
    last: Instant | None = None
    for number, entry in enumerate(entries, start=1):
        if entry.kind == "mint":
            entry = replace(entry, after=last)
            span = entry.span()
            last = span.last if span else last
        lines.append(encode(replace(entry, number=number, previous=hash_of(lines[-1]) if lines else GENESIS)))
    return lines


LINES = chain(IDENTITY_LINE, MINT_LINE, replace(MINT_LINE, at=Instant.parse("2027-03-01T13:00:00Z")), MINT_LINE)


def test_a_line_is_what_the_labels_follow_from() -> None:
    assert json.loads(encode(MINT_LINE)) == {
        "number": 1,
        "kind": "mint",
        "at": "2027-03-01T12:00:30.25Z",
        "host": "mtc-m18.sid.inpe.br",
        "host_port": 80,
        "ip": "150.163.34.248",
        "ip_port": 800,
        "sandbox": False,
        "after": "2027-03-01T12:00:30.25Z",
        "granularity": "0.1",
        "count": 6,
        "first": "2027-03-01T12:00:30.3Z",
        "last": "2027-03-01T12:00:30.8Z",
        "who": [["ana", 2], ["rui", 1], ["ana", 3]],
        "previous": GENESIS,
    }


def test_a_line_is_one_line_of_ascii_for_any_name_that_asked() -> None:
    line = encode(replace(MINT_LINE, who=(("João\n\0\u2028\ud800", 1),)))
    assert line.isascii()
    assert len(line.splitlines()) == 1
    assert decode(line, 1).who == (("João\n\0\u2028\ud800", 1),)


def test_neighbours_of_one_asker_are_one() -> None:
    entry = replace(MINT_LINE, who=(("ana", 1), ("ana", 1), ("rui", 1), ("ana", 2)))
    assert decode(encode(entry), 1).who == (("ana", 2), ("rui", 1), ("ana", 2))


def test_the_chain_holds() -> None:
    assert [entry.number for entry in verify(LINES)] == [1, 2, 3, 4]
    assert [entry.number for entry in verify(LINES, hash_of(LINES[-1]))] == [1, 2, 3, 4]
    assert list(verify([])) == list(verify([], GENESIS)) == []


def broken(lines: list[bytes]) -> LogBroken:
    with pytest.raises(LogBroken) as error:
        list(verify(lines))
    return error.value


def test_a_line_dropped_put_in_or_moved_breaks_it() -> None:
    assert "Line 2" in str(broken([LINES[0], *LINES[2:]]))
    assert "Line 1" in str(broken(LINES[1:]))
    assert "Line 3" in str(broken([*LINES[:2], *LINES[1:]]))
    assert "Line 2" in str(broken([LINES[0], LINES[2], LINES[1], LINES[3]]))


def test_lines_missing_at_the_end_need_the_head() -> None:
    with pytest.raises(LogBroken, match="Line 3"):
        list(verify(LINES[:3], hash_of(LINES[-1])))
    with pytest.raises(LogBroken, match="Line 0"):
        list(verify([], hash_of(LINES[-1])))


def test_a_number_out_of_turn_is_noticed_even_in_a_whole_chain() -> None:
    second = replace(MINT_LINE, number=7, previous=hash_of(LINES[0]))
    assert "says that it is line 7" in str(broken([LINES[0], encode(second)]))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"number":' + b"9" * 5_000 + b"}",
        encode(MINT_LINE).replace(b'["rui",1]', b'["rui",1e400]'),
        encode(MINT_LINE).replace(b'["rui",1]', b'["rui",-1]'),
        encode(MINT_LINE).replace(b'["rui",1]', b'["rui"]'),
        encode(MINT_LINE).replace(b'["rui",1]', b"7"),
        encode(MINT_LINE).replace(b'[["ana",2],["rui",1],["ana",3]]', b"[]"),
        encode(MINT_LINE).replace(b'[["ana",2],["rui",1],["ana",3]]', b'{"ana":6}'),
        encode(MINT_LINE).replace(b'["rui",1]', b'["rui",1000000000000000000000000000000]'),
        encode(MINT_LINE).replace(b'"host_port":80', b'"host_port":0'),
        encode(MINT_LINE).replace(b'"host_port":80', b'"host_port":80.0'),
        encode(MINT_LINE).replace(b"mtc-m18.sid.inpe.br", b"no host at all"),
        encode(MINT_LINE).replace(b"150.163.34.248", b"1500.163.34.248"),
        encode(MINT_LINE).replace(b'"after":"2027', b'"after":"9999'),
        encode(MINT_LINE).replace(b'"granularity":"0.1"', b'"granularity":"0.5"'),
        encode(MINT_LINE).replace(b'"kind":"mint"', b'"kind":"clock"'),
        encode(MINT_LINE).replace(b'"kind":"mint"', b'"kind":"theft"'),
        encode(MINT_LINE).replace(b'"sandbox":false', b'"sandbox":0'),
        encode(MINT_LINE) + b" ",
        encode(IDENTITY_LINE).replace(b'"kind":"identity"', b'"kind":"mint"'),
        encode(IDENTITY_LINE).replace(b"mtc-m18.sid.inpe.br", b"-"),
    ],
)
def test_what_is_no_line_is_refused_in_one_way(line: bytes) -> None:
    with pytest.raises(LogBroken, match="Line 5"):
        decode(line, 5)


def test_a_date_given_twice_is_noticed_even_in_a_whole_chain() -> None:
    again = replace(MINT_LINE, number=3, after=None, previous=hash_of(LINES[1]))
    assert "is not after" in str(broken([*LINES[:2], encode(again)]))


def test_dates_of_one_prefix_are_one_row_for_all_identities_that_share_it() -> None:
    moved = replace(MINT_LINE, number=3, after=None, previous=hash_of(LINES[1]), identity=replace(IDENTITY, ip=None))
    assert "is not after" in str(broken([*LINES[:2], encode(moved)]))
    other = replace(moved, identity=Identity("other.sid.inpe.br"))
    assert len(list(verify([*LINES[:2], encode(other)]))) == 3


def test_after_a_clock_was_accepted_dates_may_go_back() -> None:
    clock = LogEntry(3, "clock", IDENTITY, NOW, hash_of(LINES[1]))
    earlier = replace(MINT_LINE, number=4, at=Instant.parse("2027-03-01T11:00:00Z"), after=None)
    lines = [*LINES[:2], encode(clock), encode(replace(earlier, previous=hash_of(encode(clock))))]
    assert len(list(verify(lines))) == 4


# --- what lines of the log do to the clocks --------------------------------------------------------------------------


MOVED = replace(IDENTITY, ip="150.163.34.250")
OTHER = Identity("other.sid.inpe.br")
SEEN = Instant.parse("2027-03-01T12:00:30Z")


def at(seconds: int) -> Instant:
    return Instant(SEEN.seconds + seconds)


def mint_line(after: Instant | None, count: int = 2, now: Instant = SEEN) -> LogEntry:
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


def test_a_batch_without_an_identity_is_refused() -> None:
    with pytest.raises(LogBroken, match="takes its identity"):
        replay_entry(mint_line(None), {}, no_entries)


def test_an_identity_goes_on_after_others_that_share_a_prefix() -> None:
    clocks = {
        MOVED.key: TickState(at(5), (Span(at(1), at(2)), Span(at(8), at(9)))),
        OTHER.key: TickState(at(99)),
        IDENTITY.key: TickState(at(3), (Span(at(6), at(7)),), accepted=at(1)),
    }
    expected = TickState(at(5), (Span(at(6), at(7)), Span(at(8), at(9))), accepted=at(1))
    assert resumed_clock(IDENTITY, clocks) == expected
    assert resumed_clock(Identity("new.sid.inpe.br"), clocks) == TickState()
    entry = LogEntry(7, "identity", IDENTITY, SEEN, "")
    assert replay_entry(entry, clocks, no_entries) == {IDENTITY.key: expected}


def test_a_clock_accepted_is_accepted_again() -> None:
    before = [
        mint_line(at(-30), now=at(-20)),
        mint_line(at(10), now=at(20)),
        LogEntry(9, "identity", OTHER, SEEN, ""),
    ]
    state = TickState(at(22))
    entry = LogEntry(10, "clock", IDENTITY, SEEN, "")
    (changed,) = replay_entry(entry, {IDENTITY.key: state}, lambda: before).values()
    assert (changed.last, changed.accepted) == (at(-19), SEEN)
    assert changed.ahead[0].first <= at(20)
    assert changed.ahead[-1].last == at(22)
    assert changed.reading is not None
    assert changed.reading.boot == ""


def test_a_copy_moves_every_clock() -> None:
    clocks = {IDENTITY.key: TickState(at(5)), OTHER.key: TickState(at(-5)), MOVED.key: TickState()}
    changed = replay_entry(LogEntry(7, "copy", IDENTITY, SEEN, ""), clocks, no_entries)
    assert changed == {
        IDENTITY.key: TickState(at(5)),
        OTHER.key: TickState(SEEN),
        MOVED.key: TickState(SEEN),
    }


def test_a_clock_is_only_ever_moved_on() -> None:
    assert later(TickState(), None) == TickState()
    assert later(TickState(), SEEN) == TickState(SEEN)
    assert later(TickState(at(1)), SEEN) == TickState(at(1))
    assert later(TickState(at(-1)), SEEN) == TickState(SEEN)


def test_everything_issued_counts_for_all_identities_that_share_a_prefix() -> None:
    moved = replace(mint_line(at(10), now=at(20)), identity=MOVED)
    other = replace(mint_line(at(30), now=at(40)), identity=OTHER)
    state = TickState(at(3), (Span(at(6), at(7)),))
    spans = issued_spans(IDENTITY, state, [moved, other])
    assert spans == [moved.span(), Span(at(6), at(7)), Span(at(3), at(3))]


# The line of a batch.

BATCH = LabelBatch(
    IDENTITY.repository_prefix,
    IDENTITY.ibip_prefix,
    sandbox=False,
    now=SEEN,
    after=None,
    granularity=SECOND,
    count=5,
)


def test_a_line_names_each_share_once() -> None:
    first, second = BatchShare(BATCH, 0, 2, "ana"), BatchShare(BATCH, 2, 3, "rui")
    before = BatchShare(replace(BATCH, count=9), 0, 9, "eva")
    entry = mint_entry(4, "x", IDENTITY, BATCH, [second, before, first, first, LogBroken(line=1, reason="")])
    assert entry.who == (("ana", 2), ("rui", 3))
    assert entry.batch() == BATCH
    assert (entry.number, entry.previous, entry.at) == (4, "x", SEEN)


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
