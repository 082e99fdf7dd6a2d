"""A minter dies at every step between opening and answer: whatever has left stays unique, in order and on record."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ibi import parse
from ibi.minting.store.ticks import STEPS
from tests.faults.mint_worker import Orders
from tests.faults.workers import Machine, check_acknowledged

# A step that a healthy minter never comes to, and the death that leads to it.
RECOVERY = {
    "torn line cut": "line half written",
    "extra lines synced": "line synced",
    "extra lines taken in": "line synced",
}
# The first visits are at opening, the others at minting.
ONCE = {"directory made", "prefixes held", *RECOVERY}


POINTS = [(step, visit) for step in STEPS for visit in ([1] if step in ONCE else [1, 2, 5])]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def die(machine: Machine, step: str, visit: int, key: str = "") -> list[str]:
    status, acknowledged = machine.run(Orders(batches=20, count=2, step=step, visit=visit, key=key))
    assert status == -signal.SIGKILL, f"it never came to the step {step!r} for {visit} times"
    return acknowledged


@pytest.mark.parametrize(("step", "visit"), POINTS)
def test_nothing_is_lost_or_given_twice(machine: Machine, step: str, visit: int) -> None:
    print(f"killed at {step!r}, come to for {visit} times")
    acknowledged = machine.run(Orders(batches=2, count=3))[1]
    if step in RECOVERY:
        acknowledged += die(machine, RECOVERY[step], 2)
    acknowledged += die(machine, step, visit)
    acknowledged += machine.run(Orders(batches=2, count=3))[1]
    on_record = machine.on_record()
    check_acknowledged(acknowledged, on_record)
    instants = [parse(label).instant for label in on_record]
    assert instants == sorted(set(instants))


@pytest.mark.parametrize("step", ["line synced", "committed", "marked"])
def test_a_directory_that_was_new_survives_as_well(machine: Machine, step: str) -> None:
    """The first line of the log is the identity's."""
    acknowledged = die(machine, step, 1)
    acknowledged += machine.run(Orders(batches=2))[1]
    check_acknowledged(acknowledged, machine.on_record())
    assert len(acknowledged) == 2


def test_a_key_gets_its_labels_after_a_crash_if_they_were_committed(machine: Machine) -> None:
    acknowledged = die(machine, "marked", 1, key="k")
    assert acknowledged == []
    again = machine.run(Orders(batches=1, count=2, key="k"))[1]
    assert again == machine.on_record()


def test_a_minter_that_dies_again_and_again_still_leaves_no_duplicate(machine: Machine) -> None:
    acknowledged = []
    for step in ("line half written", "torn line cut", "line synced", "extra lines synced", "extra lines taken in") * 2:
        acknowledged += die(machine, step, 1 if step in RECOVERY else 2)
    acknowledged += machine.run(Orders(batches=3))[1]
    check_acknowledged(acknowledged, machine.on_record())


def test_the_list_of_points() -> None:
    print("\n".join(STEPS))
    assert set(RECOVERY) < set(STEPS)
