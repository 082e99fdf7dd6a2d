"""What every adapter of the port `Ticks` keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from ibi.minting.model import MintRequest, Span, TickState
from ibi.minting.ports import Remembered, Ticks
from ibi.minting.rules.errors import ClockBehind, ClockJumped, IdempotencyConflict, IdentityChanged, IdentityMissing
from ibi.minting.rules.mint_log import verify
from ibi.minting.rules.minter import Decision
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.identity import Identity
from tests.faults.mint_worker import Orders
from tests.faults.workers import Machine, check_acknowledged
from tests.support.memory.ticks import MemoryTicks
from tests.support.minting_samples import IDENTITY, START, accept, dates, labels_on_record, mint, share
from tests.support.set_clocks import SetClocks

DAY = 86_400
NEIGHBOUR = Identity("other.sid.inpe.br", "150.163.34.249")
MOVED = replace(IDENTITY, ip="150.163.34.250")
"""The same host at a new address."""


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[SetClocks], Ticks]]:
    """Opens the store; again, if it can be."""
    opened: list[Ticks] = []

    def open_one(clocks: SetClocks) -> Ticks:
        if request.param == "memory":
            opened.append(MemoryTicks(clocks))
        else:
            opened.append(SqliteTicks(tmp_path / "data", machine="m", lock_directory=tmp_path / "locks", clocks=clocks))
        return opened[-1]

    yield open_one
    for ticks in opened:
        ticks.close()


@pytest.fixture
def clocks() -> SetClocks:
    return SetClocks(START)


@pytest.fixture
def ticks(make: Callable[[SetClocks], Ticks], clocks: SetClocks) -> Ticks:
    ticks = make(clocks)
    ticks.freeze(IDENTITY)
    return ticks


def test_a_new_clock_remembers_nothing(ticks: Ticks) -> None:
    state = ticks.state()
    assert (state.last, state.ahead, state.reading, state.accepted) == (None, (), None, None)


def test_dates_increase_strictly_over_advances(ticks: Ticks, clocks: SetClocks) -> None:
    issued = []
    for round_ in range(30):
        issued += dates(mint(ticks, clocks, MintRequest(1 + round_ % 7, "ana")))
        if round_ % 3:
            clocks.advance(Fraction("0.001"))
    assert issued == sorted(set(issued))


def test_decide_sees_what_the_last_one_committed(ticks: Ticks, clocks: SetClocks) -> None:
    decision = mint(ticks, clocks)
    seen: list[TickState] = []
    assert ticks.state() == decision.state
    mint_nothing(ticks, seen)
    assert seen == [decision.state]
    assert decision.state.last == dates(decision)[-1]
    assert decision.state.reading == clocks.read()


def mint_nothing(ticks: Ticks, seen: list[TickState]) -> Decision:
    def look(state: TickState, remembered: Remembered) -> Decision:
        seen.append(state)
        return Decision(replace(state, last=START), None, (), ())

    return ticks.advance(look)


def test_without_a_batch_nothing_is_written(ticks: Ticks, clocks: SetClocks) -> None:
    mint(ticks, clocks)
    before, lines = ticks.state(), list(ticks.log())
    mint_nothing(ticks, [])
    assert (ticks.state(), list(ticks.log())) == (before, lines)


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_an_exception_in_decide_changes_nothing(ticks: Ticks, clocks: SetClocks, error: type[BaseException]) -> None:
    mint(ticks, clocks)
    before, lines = ticks.state(), list(ticks.log())

    def fail(state: TickState, remembered: Remembered) -> Decision:
        raise error

    with pytest.raises(error):
        ticks.advance(fail)
    assert (ticks.state(), list(ticks.log())) == (before, lines)
    assert dates(mint(ticks, clocks))[0] > (before.last or START)


def test_a_batch_that_is_not_wholly_handed_out_is_refused(ticks: Ticks, clocks: SetClocks) -> None:
    decision = mint(ticks, clocks, MintRequest(3, "ana"))
    assert decision.batch is not None
    broken = replace(decision, batch=replace(decision.batch, after=decision.state.last))
    before, lines = ticks.state(), list(ticks.log())
    with pytest.raises(ValueError, match="not the whole"):
        ticks.advance(lambda state, remembered: broken)
    assert (ticks.state(), list(ticks.log())) == (before, lines)


def test_without_an_identity_nothing_is_minted(make: Callable[[SetClocks], Ticks], clocks: SetClocks) -> None:
    ticks = make(clocks)
    assert ticks.identity() is None
    assert ticks.state() == TickState()
    with pytest.raises(IdentityMissing):
        mint(ticks, clocks)
    with pytest.raises(IdentityMissing):
        accept(ticks, clocks)
    assert list(ticks.log()) == []


# Keys.


def test_a_key_gets_the_same_labels_again(ticks: Ticks, clocks: SetClocks) -> None:
    request = MintRequest(3, "ana", "k")
    first = mint(ticks, clocks, MintRequest(2, "rui"), request, MintRequest(1, "eva", "k"))
    clocks.advance(60)
    again = mint(ticks, clocks, request)
    assert again.batch is None
    assert list(share(again.outcomes[0]).labels()) == list(share(first.outcomes[1]).labels())
    assert share(again.outcomes[0]) == share(first.outcomes[1])


def test_a_key_belongs_to_who_used_it(ticks: Ticks, clocks: SetClocks) -> None:
    for one, other in [(("a", "bc"), ("ab", "c")), (("", "x 1"), ("x", "1")), (("ä", "k"), ("a", "k"))]:
        first = mint(ticks, clocks, MintRequest(1, *one))
        second = mint(ticks, clocks, MintRequest(1, *other))
        assert dates(first) != dates(second)


@pytest.mark.parametrize("key", ["", "\0", "k" * 10_000, "\ud800", "' OR 1=1 --", "chave ção 鍵"])
def test_any_text_is_a_key(ticks: Ticks, clocks: SetClocks, key: str) -> None:
    first = mint(ticks, clocks, MintRequest(1, key, key))
    assert mint(ticks, clocks, MintRequest(1, key, key)).outcomes == first.outcomes
    assert len(list(verify(ticks.log()))) == 2


def test_a_key_with_another_count_is_refused(ticks: Ticks, clocks: SetClocks) -> None:
    mint(ticks, clocks, MintRequest(3, "ana", "k"))
    (outcome,) = mint(ticks, clocks, MintRequest(4, "ana", "k")).outcomes
    assert isinstance(outcome, IdempotencyConflict)


def test_a_key_is_remembered_for_a_day_and_forgotten_after_two(ticks: Ticks, clocks: SetClocks) -> None:
    request = MintRequest(1, "ana", "old")
    first = mint(ticks, clocks, request)
    clocks.advance(DAY)
    assert mint(ticks, clocks, MintRequest(1, "ana", "new"), request).outcomes[1] == first.outcomes[0]
    clocks.advance(DAY + 1)
    mint(ticks, clocks, MintRequest(1, "ana", "newest"))
    assert mint(ticks, clocks, request).outcomes != first.outcomes
    assert mint(ticks, clocks, MintRequest(1, "ana", "new")).batch is None


def test_no_key_is_forgotten_early_because_the_clock_was_set_right(ticks: Ticks, clocks: SetClocks) -> None:
    request = MintRequest(1, "ana", "k")
    first = mint(ticks, clocks, request)
    clocks.jump(10 * DAY)
    accept(ticks, clocks)
    mint(ticks, clocks, MintRequest(1, "ana", "another"))
    assert mint(ticks, clocks, request).outcomes == first.outcomes


def test_many_keys_are_forgotten_in_time(ticks: Ticks, clocks: SetClocks) -> None:
    requests = [MintRequest(1, "ana", str(number)) for number in range(100)]
    first = mint(ticks, clocks, *requests)
    clocks.advance(2 * DAY + 1)
    for number in range(100):
        mint(ticks, clocks, MintRequest(1, "ana", f"later {number}"))
    second = mint(ticks, clocks, *requests)
    assert not set(first.outcomes) & set(second.outcomes)


# Identities.


def test_an_identity_is_frozen_until_another_is(ticks: Ticks) -> None:
    assert ticks.identity() == IDENTITY
    ticks.freeze(NEIGHBOUR)
    assert ticks.identity() == NEIGHBOUR


def test_freezing_the_same_identity_again_changes_nothing(ticks: Ticks, clocks: SetClocks) -> None:
    mint(ticks, clocks)
    before, lines = ticks.state(), list(ticks.log())
    ticks.freeze(IDENTITY)
    assert (ticks.state(), list(ticks.log())) == (before, lines)


def test_each_identity_has_its_own_clock_there_again_when_it_returns(ticks: Ticks, clocks: SetClocks) -> None:
    before = mint(ticks, clocks).state
    ticks.freeze(NEIGHBOUR)
    assert ticks.state().last is None
    clocks.advance(60)
    mint(ticks, clocks, identity=NEIGHBOUR)
    ticks.freeze(IDENTITY)
    assert replace(ticks.state(), gap=before.gap) == before
    assert [entry.kind for entry in verify(ticks.log())] == ["identity", "mint", "identity", "mint", "identity"]


def test_identities_with_a_prefix_in_common_never_mint_one_name_twice(ticks: Ticks, clocks: SetClocks) -> None:
    """Host names stay when addresses change; a clock of its own would give the same minute once more."""
    for identity in (IDENTITY, MOVED, IDENTITY, replace(MOVED, ip=None), MOVED):
        ticks.freeze(identity)
        mint(ticks, clocks, identity=identity)
    names = list(labels_on_record(ticks))
    assert len(set(names)) == len(names) == 5


def test_what_was_decided_for_another_identity_is_refused(ticks: Ticks, clocks: SetClocks) -> None:
    ticks.freeze(NEIGHBOUR)
    lines = list(ticks.log())
    for other in (IDENTITY, replace(NEIGHBOUR, sandbox=True), replace(NEIGHBOUR, ip=None)):
        with pytest.raises(IdentityChanged):
            mint(ticks, clocks, identity=other)
    assert list(ticks.log()) == lines
    assert ticks.state().last is None


def test_a_minter_that_is_a_sandbox_is_one_in_the_log(ticks: Ticks, clocks: SetClocks) -> None:
    sandbox = Identity.of_sandbox(8765)
    ticks.freeze(sandbox)
    mint(ticks, clocks, identity=sandbox)
    assert [entry.identity.sandbox for entry in verify(ticks.log())] == [False, True, True]


# The clock set right.


def test_accepting_a_clock_set_back_goes_on_from_now(ticks: Ticks, clocks: SetClocks) -> None:
    early = mint(ticks, clocks, MintRequest(2, "ana"))
    clocks.advance(1)
    clocks.jump(3600)
    clocks.boot("another")
    late = mint(ticks, clocks, MintRequest(5, "ana"))
    clocks.jump(-3600)
    refused = mint(ticks, clocks).outcomes[0]
    assert isinstance(refused, ClockJumped | ClockBehind)
    accept(ticks, clocks)
    state = ticks.state()
    assert state.last == dates(early)[-1]
    assert (state.ahead[0].first, state.ahead[-1].last) == (dates(late)[0], dates(late)[-1])
    assert dates(mint(ticks, clocks))[0] < dates(late)[0]


def test_dates_issued_ahead_are_passed_over_when_their_time_comes(ticks: Ticks, clocks: SetClocks) -> None:
    clocks.jump(30)
    mint(ticks, clocks, MintRequest(20, "ana"))
    clocks.jump(-30)
    accept(ticks, clocks)
    for _ in range(80):
        mint(ticks, clocks, MintRequest(3, "ana"))
        clocks.advance(Fraction("0.5"))
    names = list(labels_on_record(ticks))
    assert len(set(names)) == len(names) == 20 + 3 * 80
    assert ticks.state().ahead == ()


def test_accepting_is_on_record(ticks: Ticks, clocks: SetClocks) -> None:
    mint(ticks, clocks)
    accept(ticks, clocks)
    last = list(verify(ticks.log()))[-1]
    assert (last.kind, last.at, last.identity) == ("clock", clocks.read().wall, IDENTITY)


def test_an_exception_in_accept_changes_nothing(ticks: Ticks, clocks: SetClocks) -> None:
    mint(ticks, clocks)
    before, lines = ticks.state(), list(ticks.log())

    def fail(state: TickState, issued: list[Span]) -> TickState:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ticks.accept_clock(fail)
    assert (ticks.state(), list(ticks.log())) == (before, lines)


# The log.


def test_the_log_tells_every_label_and_who_asked(ticks: Ticks, clocks: SetClocks) -> None:
    requests = [MintRequest(2, "ana"), MintRequest(1, "rui", "k"), MintRequest(1, "rui", "k"), MintRequest(0, "eva")]
    first = mint(ticks, clocks, *requests, MintRequest(4, "ana"))
    mint(ticks, clocks, MintRequest(1, "rui", "k"))
    entries = list(verify(ticks.log()))
    assert [entry.who for entry in entries] == [(), (("ana", 2), ("rui", 1), ("ana", 4))]
    assert entries[1].batch() == first.batch
    served = {first.outcomes[0]: None, first.outcomes[1]: None, first.outcomes[4]: None}
    assert [label.rep for outcome in served for label in share(outcome).labels()] == list(labels_on_record(ticks))


def test_the_log_is_a_chain(ticks: Ticks, clocks: SetClocks) -> None:
    for _ in range(5):
        mint(ticks, clocks)
    assert [entry.number for entry in verify(ticks.log())] == [1, 2, 3, 4, 5, 6]


# Many at once.


def test_threads_are_served_one_after_the_other(ticks: Ticks, clocks: SetClocks) -> None:
    def work() -> None:
        for _ in range(20):
            mint(ticks, clocks, MintRequest(5, "ana"))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = list(labels_on_record(ticks))
    assert len(set(names)) == len(names) == 6 * 20 * 5


# What a store on a disk keeps besides.


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_store_on_a_disk_is_there_again(machine: Machine, clocks: SetClocks) -> None:
    ticks = machine.open()
    ticks.freeze(IDENTITY)
    first = mint(ticks, clocks, MintRequest(2, "ana", "k"))
    before = ticks.identity(), ticks.state(), list(ticks.log())
    ticks.close()
    again = machine.open()
    assert (again.identity(), again.state(), list(again.log())) == before
    assert mint(again, clocks, MintRequest(2, "ana", "k")).outcomes == first.outcomes
    assert dates(mint(again, clocks))[0] > dates(first)[-1]
    again.close()


def test_processes_are_served_one_after_the_other(machine: Machine) -> None:
    workers = [machine.start(Orders(batches=20, count=5)) for _ in range(4)]
    outputs = [worker.communicate(timeout=120) for worker in workers]
    assert [errors for _, errors in outputs] == [""] * 4
    on_record = machine.on_record()
    assert len(set(on_record)) == len(on_record) == 4 * 20 * 5
    for output, _ in outputs:
        check_acknowledged(output.splitlines(), on_record)
