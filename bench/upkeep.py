"""What an operator waits for: `ibi verify` and `ibi rebuild` of a store of small items, by one process and by two.

`python -m bench.upkeep 100000` measures a store of that size. It takes as long as it says, and a machine that does
nothing else: two processes are to be compared with one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.content import DISK
from bench.figure import Figure, figure_table
from bench.serving import IBI
from ibi.items.model.content import Bytes
from ibi.items.model.item import Description, Draft
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.opening.archive_store import open_store
from ibi.items.service.deposits import Deposits
from ibi.items.service.file_selection import unread_files
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.storage.machine import MachineClocks

__all__ = ["figures"]

ITEMS = 100_000 if os.environ.get("BENCH_FULL") else 10_000
AIM = 1.5
START = 1_234_806_360


class _Labels:
    """A label for each second."""

    def __init__(self) -> None:
        self._second = START

    def reserve(self, key: str | None = None) -> LabelForms:
        self._second += 1
        date = Instant(self._second)
        return LabelForms(
            RepositoryName.from_parts("bench.example.org", 80, date), Ibip.from_parts("192.0.2.7", 800, date)
        )


def figures(items: int = ITEMS) -> list[Figure]:
    with TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as place:
        data = Path(place) / "data"
        fill(data, items)
        return [*compare(data, items)]


def fill(data: Path, items: int) -> None:
    """Deposit small items, without waiting for the disk."""
    sync, os.fsync = os.fsync, lambda _: None  # type: ignore[assignment]
    try:
        with open_store(data) as store:
            deposits = Deposits(store, _Labels(), MachineClocks())
            for number in range(items):
                metadata = DescriptiveMetadata(title=(Text(f"Item {number} of many"),))
                draft = Draft(description=Description(metadata=metadata), files=unread_files(["a.txt"]))
                deposits.deposit(draft, {"a.txt": Bytes(b"%d" % number * 200)}, "bench")
    finally:
        os.fsync = sync


def compare(data: Path, items: int) -> Iterator[Figure]:
    processors = len(os.sched_getaffinity(0))
    for command in ("verify", "rebuild"):
        alone, together = seconds(command, data, 1), seconds(command, data, 2)
        ratio = alone / together
        name = f"ibi {command}, {items:,} items"
        yield Figure(f"{name}, one process", items / alone, "items/s", 1.0, note=f"{alone:.0f} s")
        yield Figure(
            f"{name}, two processes",
            items / together,
            "items/s",
            ratio,
            f"≥ {AIM}× of one" if processors > 1 else None,
            processors < 2 or ratio >= AIM,
            f"{together:.0f} s",
        )


def seconds(command: str, data: Path, jobs: int) -> float:
    environment = {**os.environ, "IBI_LOCK_DIR": str(data.parent / "locks")}
    began = time.perf_counter()
    subprocess.run(
        [*IBI, command, "--jobs", str(jobs), "--data", str(data)],
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began


if __name__ == "__main__":
    print(figure_table(figures(*map(int, sys.argv[1:2]))))
