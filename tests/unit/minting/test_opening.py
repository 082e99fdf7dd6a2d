"""Stores of ticks opened, closed, shared, forked, and some that cannot be opened."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from ibi.minting.model import MintRequest, Span, TickState
from ibi.minting.rules.mint_log import verify
from ibi.minting.store.tick_rows import MIGRATIONS
from ibi.minting.store.ticks import STEPS
from ibi.standard.identity import Identity
from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.connection import connect
from ibi.storage.errors import DataDirectoryCopied, DiskRefused, StoreClosed, StoreForked, StoreNewer
from tests.support.minting_samples import IDENTITY, accept, dates, mint
from tests.unit.storage.bench import Bench, all_unique

NEIGHBOUR = Identity("other.sid.inpe.br", "150.163.34.249")


# Closing and opening.


def test_everything_is_there_again(bench: Bench) -> None:
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    first = mint(ticks, bench.clocks, MintRequest(3, "ana", "k"))
    state, lines = ticks.state(), list(ticks.log())
    ticks.close()
    again = bench.open()
    assert (again.identity(), again.state(), list(again.log())) == (IDENTITY, state, lines)
    assert mint(again, bench.clocks, MintRequest(3, "ana", "k")).outcomes == first.outcomes
    assert mint(again, bench.clocks).state.last > state.last  # type: ignore[operator]


def test_what_a_clock_was_accepted_for_is_there_again(bench: Bench) -> None:
    bench.minted(1)
    ticks = bench.open()
    bench.clocks.jump(3600)
    accept(ticks, bench.clocks)
    mint(ticks, bench.clocks, MintRequest(50, "ana"))
    bench.clocks.jump(-3600)
    accept(ticks, bench.clocks)
    state = ticks.state()
    assert state.ahead
    assert state.accepted == bench.clocks.read().wall
    ticks.close()
    assert bench.open().state() == state


def test_two_stores_of_one_directory_see_each_other(bench: Bench) -> None:
    one, other = bench.open(), bench.open()
    one.freeze(IDENTITY)
    for _ in range(5):
        first, second = mint(one, bench.clocks), mint(other, bench.clocks)
        assert dates(first)[-1] < dates(second)[0]
        assert other.state() == one.state() == second.state
    assert all_unique(one)
    other.freeze(NEIGHBOUR)
    assert one.identity() == NEIGHBOUR
    mint(one, bench.clocks, identity=NEIGHBOUR)
    assert one.state() == other.state()


def test_a_closed_store_says_so(bench: Bench) -> None:
    ticks = bench.open()
    ticks.close()
    ticks.close()
    with pytest.raises(StoreClosed):
        ticks.state()


def test_close_waits_for_who_is_minting(bench: Bench) -> None:
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    started, go_on = threading.Event(), threading.Event()

    def slow(state: TickState, remembered: object) -> object:
        started.set()
        go_on.wait()
        raise LookupError

    def work() -> None:
        with pytest.raises(LookupError):
            ticks.advance(slow)  # type: ignore[type-var]

    thread, closing = threading.Thread(target=work), threading.Thread(target=ticks.close)
    thread.start()
    started.wait()
    closing.start()
    go_on.set()
    thread.join()
    closing.join()
    with pytest.raises(StoreClosed):
        ticks.state()


def test_a_forked_process_is_refused_and_disturbs_no_other(bench: Bench) -> None:
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    child = os.fork()
    if not child:
        try:
            ticks.close()
            ticks.state()
        except StoreForked:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    mint(ticks, bench.clocks)
    assert all_unique(ticks)


def test_every_step_has_its_name_and_is_taken(bench: Bench) -> None:
    steps: list[str] = []
    ticks = bench.open(on_step=steps.append)
    ticks.freeze(IDENTITY)
    mint(ticks, bench.clocks)
    ticks.close()
    with bench.log.open("ab") as log:
        log.write(b"torn")
    bench.database.unlink()
    bench.open(on_step=steps.append)
    assert set(steps) == set(STEPS)


# What cannot be opened.


def test_a_newer_store_is_refused(bench: Bench) -> None:
    bench.minted(1)
    connection = connect(bench.database, MIGRATIONS)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreNewer, match="format 99"):
        bench.open()


def test_a_damaged_database_is_refused(bench: Bench) -> None:
    bench.minted(1)
    bench.database.write_bytes(b"no database at all" * 500)
    with pytest.raises(StoreDamaged):
        bench.open()
    bench.database.unlink()
    mint(bench.open(), bench.clocks)


def test_a_place_that_is_no_directory_is_refused(bench: Bench) -> None:
    bench.data.write_text("a file")
    with pytest.raises(DiskRefused):
        bench.open()


def test_nothing_stays_open_after_a_refusal(bench: Bench) -> None:
    bench.minted(1)
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(DataDirectoryCopied):
            bench.open(machine="another")
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_everything_issued_is_told_to_who_accepts_a_clock(bench: Bench) -> None:
    bench.minted(3)
    ticks = bench.open()
    told: list[Span] = []

    def listen(state: TickState, issued: list[Span]) -> TickState:
        told.extend(issued)
        return state

    ticks.accept_clock(listen)
    assert {entry.span() for entry in verify(ticks.log())} - {None} <= set(told)
