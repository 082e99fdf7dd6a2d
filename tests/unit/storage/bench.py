"""A place to try a store of ticks: a machine with a clock set by hand, and data directories on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from ibi.minting.model import MintRequest
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.clock_reading import Reading
from ibi.standard.instant import Instant
from tests.support.minting_samples import IDENTITY, START, labels_on_record, mint
from tests.support.set_clocks import SetClocks


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clocks = SetClocks(START)
        self.data = folder / "data"
        self.newest: Instant | None = None
        """The newest date of a label that is kept beside the clock."""
        self._opened: list[SqliteTicks] = []

    def open(
        self,
        data: Path | None = None,
        *,
        machine: str = "this machine",
        confirmed: Reading | None = None,
        on_step: Callable[[str], None] | None = None,
        accept_loss: bool = False,
    ) -> SqliteTicks:
        ticks = SqliteTicks(
            data or self.data,
            machine=machine,
            lock_directory=self.folder / "locks",
            clocks=self.clocks,
            on_step=on_step,
            confirmed=confirmed,
            newest_kept=lambda identity: self.newest,
            accept_loss=accept_loss,
        )
        self._opened.append(ticks)
        return ticks

    def minted(self, count: int, data: Path | None = None) -> None:
        """Open, mint so many batches, close."""
        ticks = self.open(data)
        if ticks.identity() is None:
            ticks.freeze(IDENTITY)
        for _ in range(count):
            mint(ticks, self.clocks, MintRequest(2, "ana"))
        ticks.close()

    def forget_locks(self) -> None:
        """As a restart of the machine does."""
        shutil.rmtree(self.folder / "locks", ignore_errors=True)

    def close(self) -> None:
        for ticks in self._opened:
            ticks.close()

    @property
    def log(self) -> Path:
        return self.data / "mint" / "mint.log"

    @property
    def database(self) -> Path:
        return self.data / "mint" / "ticks.sqlite"


def all_unique(ticks: SqliteTicks) -> bool:
    names = list(labels_on_record(ticks))
    return len(set(names)) == len(names)
