"""A minter as light as can be, made to be killed: `mint_worker.py DATA LOCKS ORDERS`.

Opens the data directory, mints, and prints the labels of each batch as soon as they are its own: what it has printed,
somebody may use. The orders are in JSON, see `Orders`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

from ibi.minting.model import BatchShare, MintRequest, TickState
from ibi.minting.ports import Remembered
from ibi.minting.rules.minter import Decision, Rules, decide
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.storage.machine import MachineClocks
from tests.faults.killer import Killer

IDENTITY = Identity("mtc-m18.sid.inpe.br", "150.163.34.248")
# This worker is no minter of the future: whatever the machine's clock says is good enough.
RULES = Rules(wait_bound=Fraction(0), built=Instant(0))
MACHINE = "a machine"


@dataclass(frozen=True)
class Orders:
    batches: int
    """How many to mint."""
    count: int = 1
    """Labels in each."""
    step: str = ""
    visit: int = 0
    """Die at this step, when it is come to for so many times."""
    key: str = ""
    """With a key, the batches are asked for with it and a number."""
    wait: bool = False
    """Say "ready" and wait for a line before minting."""

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def main(data: Path, locks: Path, orders: Orders) -> None:
    on_step = Killer(orders.step, orders.visit) if orders.step else None
    ticks = SqliteTicks(data, machine=MACHINE, lock_directory=locks, on_step=on_step)
    ticks.freeze(IDENTITY)
    if orders.wait:
        say("ready\n")
        sys.stdin.readline()
    clocks = MachineClocks()
    for number in range(orders.batches):
        request = MintRequest(orders.count, "worker", f"{orders.key}{number}" if orders.key else None)
        say("".join(f"{label.rep}\n" for label in mint(ticks, clocks, request).labels()))
    ticks.close()


def mint(ticks: SqliteTicks, clocks: MachineClocks, request: MintRequest) -> BatchShare:
    def decision(state: TickState, remembered: Remembered) -> Decision:
        return decide(IDENTITY, RULES, state, [request], clocks.read(), remembered)

    (outcome,) = ticks.advance(decision).outcomes
    if not isinstance(outcome, BatchShare):
        raise outcome
    return outcome


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Orders(**json.loads(sys.argv[3])))
