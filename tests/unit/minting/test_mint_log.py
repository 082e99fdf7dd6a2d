"""Lines of the mint log, and the chain they form."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ibi.clock import Granularity
from ibi.instant import Instant
from ibi.minting.mint_log import GENESIS, LogBroken, LogEntry, decode, encode, hash_of, verify
from ibi.model.minting import Identity

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


def test_a_line_is_one_line_of_ascii_whoever_asked() -> None:
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


def test_dates_of_one_prefix_are_one_row_whoever_else_shares_it() -> None:
    moved = replace(MINT_LINE, number=3, after=None, previous=hash_of(LINES[1]), identity=replace(IDENTITY, ip=None))
    assert "is not after" in str(broken([*LINES[:2], encode(moved)]))
    other = replace(moved, identity=Identity("other.sid.inpe.br"))
    assert len(list(verify([*LINES[:2], encode(other)]))) == 3


def test_after_a_clock_was_accepted_dates_may_go_back() -> None:
    clock = LogEntry(3, "clock", IDENTITY, NOW, hash_of(LINES[1]))
    earlier = replace(MINT_LINE, number=4, at=Instant.parse("2027-03-01T11:00:00Z"), after=None)
    lines = [*LINES[:2], encode(clock), encode(replace(earlier, previous=hash_of(encode(clock))))]
    assert len(list(verify(lines))) == 4
