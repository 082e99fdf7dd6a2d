"""Starting minters, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ibi.minting.model import BatchShare
from ibi.minting.rules.mint_log import verify
from ibi.minting.store.ticks import SqliteTicks
from ibi.storage.machine import MachineClocks
from tests.faults.killer import PYTHONPATH
from tests.faults.mint_worker import MACHINE, Orders

SCRIPT = Path(__file__).with_name("mint_worker.py")


class Machine:
    """A data directory and the locks of the machine it is on."""

    def __init__(self, folder: Path) -> None:
        self.data, self.locks = folder / "data", folder / "locks"

    def start(self, orders: Orders) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(SCRIPT), str(self.data), str(self.locks), orders.text],
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, orders: Orders) -> tuple[int, list[str]]:
        """How a worker ended, and the labels it said were its own."""
        with self.start(orders) as worker:
            output, errors = worker.communicate(timeout=120)
        assert not errors, errors
        return worker.returncode, output.splitlines()

    def open(self) -> SqliteTicks:
        return SqliteTicks(self.data, machine=MACHINE, lock_directory=self.locks, clocks=MachineClocks())

    def on_record(self) -> list[str]:
        """Every label that the log tells, in its order, the chain being checked."""
        ticks = self.open()
        try:
            batches = [batch for entry in verify(ticks.log()) if (batch := entry.batch()) is not None]
        finally:
            ticks.close()
        return [label.rep for batch in batches for label in BatchShare(batch, 0, batch.count, "").labels()]


def check_acknowledged(acknowledged: Iterable[str], on_record: list[str]) -> None:
    """Every label that left is on record once, and left in the order of the record."""
    place = {label: number for number, label in enumerate(on_record)}
    assert len(place) == len(on_record), "one label is on record twice"
    places = [place.get(label, -1) for label in acknowledged]
    assert -1 not in places, "a label left that is not on record"
    assert places == sorted(set(places)), "a label left twice, or out of order"
