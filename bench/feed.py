"""What it costs to read a feed of a million changes from its beginning, in pages, as a new reader of it does.

Read from the catalogue itself, and from a server as a program reads it. Memory is that of the process which answers: it
is compared after a tenth of the pages and after all of them. `python -m bench.feed 100000` takes another number.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

from bench.catalogue import label_at, own
from bench.figure import Figure, figure_table
from bench.serving import ibi_up
from ibi.items.model.change import ChangeKind, Revision
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.changes import append_change
from ibi.items.store.catalogue.migrations import MIGRATIONS
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.storage.connection import connect, transaction

__all__ = ["figures"]

CHANGES = 1_000_000
PAGE = 1_000
RATE_AIM = 100_000
GROWTH_AIM = 8.0
"""MiB between a tenth of the pages and the last one."""
_BATCH = 20_000


def figures(changes: int = CHANGES) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        path = filled(Path(home) / "feed.sqlite", changes)
        return [*read_here(path, changes), *read_over_http(Path(home) / "data", path, changes)]


def filled(path: Path, changes: int) -> Path:
    with closing(connect(path, MIGRATIONS)) as connection:
        for setting in ("synchronous = OFF", "cache_size = -65536"):
            connection.execute(f"PRAGMA {setting}")
        for start in range(0, changes, _BATCH):
            with transaction(connection):
                for number in range(start, min(start + _BATCH, changes)):
                    # Each of another item: a catalogue that is taken over begins with the last change of each.
                    label = str(label_at(number, RepositoryName))
                    append_change(connection, label, ChangeKind.PUT, Revision(1, Instant(1_000_000_000 + number)))
    return path


def read_here(path: Path, changes: int) -> Iterator[Figure]:
    with closing(SqliteCatalog(path)) as catalog:
        feed, after, early, began = catalog.changes, 0, 0.0, time.process_time()
        while page := feed.since(after, PAGE).changes:
            assert page[0].number == after + 1
            after = page[-1].number
            early = early or (resident(os.getpid()) if after >= changes // 10 else 0.0)
        spent = time.process_time() - began
        yield rate("feed read from the catalogue, CPU", after, changes, spent)
        yield growth("feed read from the catalogue, memory grown", resident(os.getpid()) - early)


def read_over_http(data: Path, path: Path, changes: int) -> Iterator[Figure]:
    with ibi_up(data):
        pass
    (data / "catalogue.sqlite").unlink()
    path.rename(data / "catalogue.sqlite")
    own(data)
    with ibi_up(data) as server, closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        after, early, cpu, wall = 0, 0.0, server.cpu(), time.perf_counter()
        while after < (page := changes_after(connection, after)):
            after = page
            early = early or (resident(server.pid) if after >= changes // 10 else 0.0)
        wall, spent = time.perf_counter() - wall, server.cpu() - cpu
        # The server has entries of its own at the end: those of its own item.
        yield rate(
            "feed read over HTTP, CPU of the server", after, changes, spent, f"{after / wall:,.0f}/s on the wall"
        )
        yield growth("feed read over HTTP, memory of the server grown", resident(server.pid) - early)


def changes_after(connection: HTTPConnection, after: int) -> int:
    """The number of the last entry on the page after that one."""
    connection.request("GET", f"/api/changes?after={after}")
    with connection.getresponse() as answer:
        document = json.loads(answer.read())
    assert answer.status == 200, document
    numbers = [each["number"] for each in document["changes"]]
    assert numbers == list(range(after + 1, after + 1 + len(numbers)))
    return int(document["after"])


def rate(name: str, read: int, expected: int, seconds: float, note: str = "") -> Figure:
    found = read / seconds
    return Figure(name, found, "changes/s", None, f"≥ {RATE_AIM:,}/s", found >= RATE_AIM and read >= expected, note)


def growth(name: str, grown: float) -> Figure:
    return Figure(name, grown, "MiB", None, f"≤ {GROWTH_AIM:g} MiB", grown <= GROWTH_AIM)


def resident(pid: int) -> float:
    """MiB of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


if __name__ == "__main__":
    measured = figures(*map(int, sys.argv[1:2]))
    print(figure_table(measured))
    sys.exit(0 if all(figure.is_met for figure in measured) else 1)
