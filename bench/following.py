"""Follows of a source that took many deposits while the follower was away: by prefix and by search at the same time,
beside one follow of the whole source.

The source and each follower are servers in processes of their own. `python -m bench.following [DIRECTORY]` measures
this suite alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter

from bench.archive import CountedLabels, draft_of
from bench.content import DISK
from bench.figure import Figure, figure_table
from bench.serving import IBI, ibi_up
from ibi.following.model.subscription import FollowedState
from ibi.following.store.follows import SqliteFollows
from ibi.items.model.content import Bytes
from ibi.items.opening.archive_store import open_store
from ibi.items.service.deposits import Deposits
from ibi.standard.label import parse
from ibi.standard.label.search import home_prefix
from ibi.storage.machine import MachineClocks

__all__ = ["figures"]

DEPOSITS = 5_000
AIM = 2.0
LIMIT = 1_800.0
"""Seconds after which something is wrong."""


def main() -> int:
    measured = figures(sys.argv[1] if len(sys.argv) > 1 else DISK)
    print(figure_table(measured))
    return 0 if all(figure.is_met for figure in measured) else 1


def figures(disk: str = DISK, number: int = DEPOSITS) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=disk) as place:
        home = Path(place)
        (home / "source" / "data").mkdir(parents=True)
        first = deposit(home / "source" / "data", 1, 1_400_000_000)
        prefix = home_prefix(parse(first))
        with ibi_up(home / "source" / "data") as server:
            url = f"http://127.0.0.1:{server.port}"
            every, two = home / "every" / "data", home / "two" / "data"
            begin(every, url, ["--all"])
            begin(two, url, ["--prefix", prefix], ["--search", "atividades"])
            deposit(home / "source" / "data", number, 1_500_000_000)
            alone, together = caught_up(every, number), caught_up(two, number)
    name = f"{number:,} deposits followed"
    ratio = together / alone
    return [
        Figure(f"{name} with --all (reference)", alone, "s"),
        Figure(f"{name} by a prefix and by a search", together, "s", ratio, f"≤ {AIM:g}×", ratio <= AIM),
    ]


def deposit(data: Path, number: int, first: int) -> str:
    """Deposit so many items; the label of the last."""
    with open_store(data) as store:
        deposits = Deposits(store, CountedLabels(first), MachineClocks())
        labels = [
            deposits.deposit(draft_of("text.txt"), {"text.txt": Bytes(b"%d" % each + b"x" * 2000)}, "bench").rep
            for each in range(number)
        ]
    return str(labels[-1])


def begin(data: Path, url: str, *targets: Sequence[str]) -> None:
    """Begin an Archive that follows these, and run it until it stands at the end of the feed."""
    data.mkdir(parents=True)
    with ibi_up(data):
        for each in targets:
            subprocess.run((*IBI, "follow", *each, "--from", url, "--data", str(data)), check=True, capture_output=True)
        wait_for(data, 0)


def caught_up(data: Path, number: int) -> float:
    """Seconds from the start of the server until all follows have all of so many items."""
    start = perf_counter()
    with ibi_up(data):
        wait_for(data, number)
        return perf_counter() - start


def wait_for(data: Path, number: int) -> None:
    deadline = time.monotonic() + LIMIT
    with closing(SqliteFollows(data)) as store:
        while time.monotonic() < deadline:
            follows, counts = store.all(), store.counts()
            held = [counts[each.id].states.get(FollowedState.COPY, 0) if each.id in counts else 0 for each in follows]
            waits = any(each.waiting for each in counts.values())
            is_there = all(each.epoch and each.position >= each.end for each in follows) and not waits
            if follows and is_there and min(held) >= number:
                return
            time.sleep(0.05)
    raise TimeoutError(f"{data} does not catch up")


if __name__ == "__main__":
    sys.exit(main())
