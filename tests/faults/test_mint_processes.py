"""Eight processes mint together on one data directory, without a word between them."""

from __future__ import annotations

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ibi.standard.label import parse
from tests.faults.mint_worker import Orders
from tests.faults.workers import Machine, check_acknowledged

PROCESSES = 8
LABELS = 1_000_000
BATCH = 1_000


def finish(worker: subprocess.Popen[str]) -> list[str]:
    """Let it go, and give what it said was its own."""
    output, errors = worker.communicate("go\n", timeout=300)
    assert not errors, errors
    return output.splitlines()


def started(machine: Machine, orders: list[Orders]) -> list[subprocess.Popen[str]]:
    """All of them, each with the store open and waiting."""
    workers = [machine.start(order) for order in orders]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    return workers


def mint_together(machine: Machine, orders: list[Orders]) -> list[list[str]]:
    workers = started(machine, orders)
    with ThreadPoolExecutor(len(workers)) as pool:
        return list(pool.map(finish, workers))


def test_a_million_labels_in_batches_of_a_thousand(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    batches = LABELS // BATCH // PROCESSES
    minted = mint_together(machine, [Orders(batches=batches, count=BATCH, wait=True)] * PROCESSES)
    on_record = machine.on_record()
    assert len(on_record) == len(set(on_record)) == LABELS
    for acknowledged in minted:
        assert len(acknowledged) == batches * BATCH
        check_acknowledged(acknowledged, on_record)
    assert sum(map(len, minted)) == len(set().union(*minted)) == LABELS
    # The record is in the order of dates: by its ends, since a batch is in order by itself.
    ends = [parse(label).instant for label in (*on_record[::BATCH], on_record[-1])]
    assert ends == sorted(ends)


def test_processes_that_mint_together_take_turns(tmp_path: Path) -> None:
    """Nobody is kept waiting until another is through."""
    machine = Machine(tmp_path)
    minted = mint_together(machine, [Orders(batches=50, wait=True)] * PROCESSES)
    place = {label: number for number, label in enumerate(machine.on_record())}
    firsts, lasts = [place[labels[0]] for labels in minted], [place[labels[-1]] for labels in minted]
    assert max(firsts) < max(lasts) - 50


def test_some_of_them_die(tmp_path: Path) -> None:
    """One at each of these steps, in the midst of the others' work."""
    machine = Machine(tmp_path)
    steps = ["line half written", "line written", "line synced", "rows written", "committed", "marked"]
    dying = [Orders(batches=50, count=3, step=step, visit=20, wait=True) for step in steps]
    workers = started(machine, [*dying, *[Orders(batches=50, count=3, wait=True)] * 2])
    with ThreadPoolExecutor(len(workers)) as pool:
        minted = list(pool.map(finish, workers))
    assert [worker.returncode for worker in workers] == [-signal.SIGKILL] * len(steps) + [0, 0]
    assert [len(labels) for labels in minted[-2:]] == [150, 150]
    on_record = machine.on_record()
    for acknowledged in minted:
        check_acknowledged(acknowledged, on_record)
    assert sum(map(len, minted)) == len(set().union(*minted))


def test_many_open_a_new_directory_at_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    workers = [machine.start(Orders(batches=3, count=2)) for _ in range(PROCESSES)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        minted = list(pool.map(finish, workers))
    on_record = machine.on_record()
    for acknowledged in minted:
        check_acknowledged(acknowledged, on_record)
    assert sum(map(len, minted)) == len(on_record) == len(set(on_record)) == PROCESSES * 6
