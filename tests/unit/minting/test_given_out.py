"""What a data directory knows for certain about labels of its own: what was given out, since when, and when not."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.minting.model import MintRequest
from ibi.minting.rules.mint_log import LogEntry, given_out_spans, is_reservation, microseconds, reservation_name
from ibi.minting.rules.minter import Rules
from ibi.minting.store.tick_store import SqliteGivenOut, restart_given_out
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from tests.support.minting_samples import IDENTITY, START, accept, mint, share
from tests.support.set_clocks import SetClocks

HERE = reservation_name("token:1")
MOVED = Identity("new.sid.inpe.br", "150.163.34.250")
FOREIGN = parse("other.br/arq/2027/03.01.12.00.31")


@contextmanager
def opened(
    data: Path, clocks: SetClocks, *, identity: Identity = IDENTITY, confirmed: bool = False, machine: str = "m"
) -> Iterator[SqliteTicks]:
    locks = data.parent / "locks"
    reading = clocks.read() if confirmed else None
    with closing(SqliteTicks(data, machine=machine, lock_directory=locks, clocks=clocks, confirmed=reading)) as ticks:
        ticks.freeze(identity)
        yield ticks


def minted(ticks: SqliteTicks, clocks: SetClocks, *askers: str, count: int = 1, **options: Identity) -> list[Label]:
    decision = mint(ticks, clocks, *(MintRequest(count, who) for who in askers), rules=Rules(), **options)
    return [parse(label.rep) for outcome in decision.outcomes for label in share(outcome).labels()]


def final(data: Path, *labels: Label) -> list[bool]:
    with closing(SqliteGivenOut(data)) as record:
        return [record.is_final(label) for label in labels]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def clocks() -> SetClocks:
    return SetClocks(START)


def test_a_reservation_stays_and_what_is_given_out_does_not(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        labels = minted(ticks, clocks, "cli:ana", HERE, "token:2", "token:3", HERE, HERE, "token:1", count=3)
    expected = [each for given in (False, True, False, False, True, True, False) for each in [given] * 3]
    clocks.advance(60)
    assert final(data, *labels) == expected


def test_the_spellings_of_the_port_are_one_prefix(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks):
        clocks.advance(60)
    names = ("sid.inpe.br/mtc-m18", "sid.inpe.br/mtc-m18@80", "SID.inpe.br/MTC-m18.80", "sid.inpe.br/mtc-m18.81")
    labels = [parse(f"{name}/2027/03.01.12.01.30") for name in names]
    assert final(data, *labels, FOREIGN) == [True, True, True, False, False]


def test_what_is_older_than_the_record_is_not_certain_and_the_future_is(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks):
        clocks.advance(60)
    texts = ("03.01.12.00.29", "03.01.12.00.30", "03.01.12.00.31", "03.01.12.01.30", "03.01.12.01.31", "12.31.23.59")
    labels = [parse(f"sid.inpe.br/mtc-m18/2027/{text}") for text in texts]
    assert final(data, *labels) == [False, False, True, True, True, True]


def test_a_label_that_is_dated_ahead_is_not_final_from_the_moment_it_is_given_out(
    data: Path, clocks: SetClocks
) -> None:
    with opened(data, clocks) as ticks, closing(SqliteGivenOut(data)) as record:
        labels = minted(ticks, clocks, "cli:ana", count=3)
        assert all(label.instant > clocks.read().wall for label in labels)
        assert not any(map(record.is_final, labels))
        assert record.is_final(parse("sid.inpe.br/mtc-m18/2027/03.01.12.30"))


def test_every_process_that_mints_is_seen(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks, closing(SqliteGivenOut(data)) as record, opened(data, clocks) as beside:
        clocks.advance(60)
        for ticks_of_one in (ticks, beside, ticks):
            (label,) = minted(ticks_of_one, clocks, "cli:ana")
            assert not record.is_final(label)


def test_a_date_of_the_past_can_still_be_given_out(data: Path, clocks: SetClocks) -> None:
    """Algorithm 4 rounds down: nothing may be kept of what was final a moment ago."""
    with opened(data, clocks) as ticks, closing(SqliteGivenOut(data)) as record:
        minted(ticks, clocks, HERE)  # the first one is later than now
        clocks.advance(110)
        (expected,) = (parse("sid.inpe.br/mtc-m18/2027/03.01.12.02"),)
        assert record.is_final(expected)
        assert minted(ticks, clocks, "cli:ana") == [expected]
        assert not record.is_final(expected)


def test_the_record_is_made_anew_from_the_log(data: Path, clocks: SetClocks) -> None:
    """A database put back from a backup knows less than the log, which is not put back."""
    with opened(data, clocks):
        pass
    shutil.copy(data / "mint" / "ticks.sqlite", data / "old.sqlite")
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        given, kept = minted(ticks, clocks, "cli:ana", HERE)
        clocks.advance(60)
    for end in ("-wal", "-shm"):
        (data / "mint" / f"ticks.sqlite{end}").unlink(missing_ok=True)
    shutil.copy(data / "old.sqlite", data / "mint" / "ticks.sqlite")
    with opened(data, clocks):
        pass
    assert final(data, given, kept) == [False, True]


def test_a_lost_database_begins_anew(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        given, kept = minted(ticks, clocks, "cli:ana", HERE)
    for path in (data / "mint").glob("ticks.sqlite*"):
        path.unlink()
    clocks.advance(60)
    with opened(data, clocks) as ticks:
        assert final(data, given, kept) == [False, False]
        clocks.advance(60)
        assert final(data, *minted(ticks, clocks, HERE, "cli:ana")) == [True, False]


def test_a_whole_directory_put_back_begins_anew(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks):
        clocks.advance(60)
    shutil.copytree(data, data.parent / "backup")
    with opened(data, clocks) as ticks:
        lost, kept = minted(ticks, clocks, "cli:ana", HERE)
    shutil.rmtree(data)
    (data.parent / "backup").rename(data)
    clocks.advance(60)
    with opened(data, clocks) as ticks:
        assert final(data, lost, kept) == [False, False]
        clocks.advance(60)
        assert final(data, *minted(ticks, clocks, HERE)) == [True]


def test_an_accepted_copy_begins_anew(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        (kept,) = minted(ticks, clocks, HERE)
    assert final(data, kept) == [True]
    clocks.advance(60)
    with opened(data, clocks, confirmed=True, machine="another"):
        assert final(data, kept) == [False]


def test_an_older_version_that_minted_in_between_is_noticed(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        (kept,) = minted(ticks, clocks, HERE)
    with closing(sqlite3.connect(data / "mint" / "ticks.sqlite")) as connection, connection:
        connection.execute("UPDATE store SET given_number = given_number - 1")
    assert final(data, kept) == [True]
    clocks.advance(60)
    with opened(data, clocks):
        assert final(data, kept) == [False]
    with closing(sqlite3.connect(data / "mint" / "ticks.sqlite")) as connection:
        assert connection.execute("SELECT given_number = log_number FROM store").fetchone() == (1,)


def test_opening_again_changes_nothing(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        given, kept = minted(ticks, clocks, "cli:ana", HERE)
    for _ in range(3):
        clocks.advance(60)
        with opened(data, clocks):
            assert final(data, given, kept) == [False, True]


def test_a_prefix_that_is_not_minted_with_any_more_ends(data: Path, clocks: SetClocks) -> None:
    """That host may have another minter by now."""
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        (before,) = minted(ticks, clocks, HERE)
        clocks.advance(60)
        ticks.freeze(MOVED)
        clocks.advance(60)
        (new,) = minted(ticks, clocks, HERE, identity=MOVED)
        after = parse("sid.inpe.br/mtc-m18/2027/03.01.12.03")
        assert final(data, before, new, after) == [True, True, False]
        clocks.advance(1)
        ticks.freeze(IDENTITY)
        assert final(data, before, new, after) == [False, True, False]


def test_dates_of_a_clock_that_ran_ahead_are_known_before_they_come(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks:
        clocks.advance(3600)
        accept(ticks, clocks)
        given, kept = minted(ticks, clocks, "cli:ana", HERE)
        clocks.set(START)
        accept(ticks, clocks)
        assert final(data, given, kept) == [False, True]


def test_the_moment_only_moves_forward(data: Path, clocks: SetClocks) -> None:
    restart_given_out(data, START)  # nothing was minted here yet
    assert not data.exists()
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        given, kept = minted(ticks, clocks, "cli:ana", HERE)
        restart_given_out(data, START)
        assert final(data, given, kept) == [False, True]
        clocks.advance(1)
        restart_given_out(data, clocks.read().wall)
        assert final(data, given, kept) == [False, False]
        clocks.advance(1)
        assert final(data, *minted(ticks, clocks, HERE)) == [True]
    with closing(sqlite3.connect(data / "mint" / "ticks.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM given_out").fetchone() == (0,)


def test_where_the_record_cannot_be_read_nothing_is_certain(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        (kept,) = minted(ticks, clocks, HERE)
    clocks.advance(1)
    record = SqliteGivenOut(data)
    assert record.is_final(kept)
    record.close()
    assert not record.is_final(kept)


def test_a_miss_is_one_look_up(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks):
        pass
    with closing(sqlite3.connect(data / "mint" / "ticks.sqlite")) as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT last FROM given_out WHERE first <= 5 ORDER BY first DESC LIMIT 1"
        ).fetchall()
    assert len(plan) == 1
    assert "SEARCH given_out USING INTEGER PRIMARY KEY" in plan[0][3]


def test_microseconds_are_rounded_to_the_safe_side() -> None:
    fine = Instant(7, "1234567")
    assert (microseconds(fine), microseconds(fine, upwards=True)) == (7_123_456, 7_123_457)
    assert microseconds(Instant(7)) == microseconds(Instant(7), upwards=True) == 7_000_000
    assert microseconds(Instant(7, "5"), upwards=True) == 7_500_000


def test_a_line_that_mints_nothing_gives_nothing_out() -> None:
    entry = LogEntry(1, "identity", replace(IDENTITY), START, "")
    assert list(given_out_spans(entry)) == []
    assert is_reservation(HERE)
    assert not any(map(is_reservation, ("token:1", "cli:deposit:ana", "archive", "")))


def test_both_forms_of_a_label_are_judged_alike(data: Path, clocks: SetClocks) -> None:
    with opened(data, clocks) as ticks:
        clocks.advance(60)
        decision = mint(ticks, clocks, MintRequest(1, "cli:ana"), MintRequest(1, HERE), rules=Rules())
    clocks.advance(60)
    forms = [label.ibip for outcome in decision.outcomes for label in share(outcome).labels()]
    assert final(data, *(parse(form) for form in forms if form)) == [False, True]
