"""What the pages cost at a hundred thousand items, how long a server takes to show the first one, and what it takes up.

Each request asks for another item or another word, so that nothing is found that was kept for the one before.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from bench.catalogue import own
from bench.figure import Figure, figure_table
from bench.search import COMMON, Words, filled, sample
from bench.serving import Client, Running, ibi_up, wait_for_rest
from ibi.harvesting.rules.harvesting import Resumption, Selection, write_token
from ibi.items.store.catalogue.catalog import SqliteCatalog

__all__ = ["figures"]

ITEMS, NAME = 100_000, "10⁵"
ASKED = 40
PAGE_AIM, START_AIM, MEMORY_AIM = 50.0, 3.0, 120.0
"""Milliseconds of the server's processors, seconds, megabytes."""


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        data = Path(home) / "data"
        return [*_starts(data), *_pages(data)]


def _starts(data: Path) -> Iterator[Figure]:
    """The first time in an empty directory, then again; the bytecode is there, as it is after an installation."""
    for name in ("in an empty directory", "again"):
        began = time.perf_counter()
        with ibi_up(data) as server, Client(server) as client:
            client.ask([b"/"])
            seconds = time.perf_counter() - began
            yield Figure(
                f"from nothing to the first page, {name}", seconds, "s", None, f"< {START_AIM:g} s", seconds < START_AIM
            )
            if name == "again":
                memory = _megabytes(server)
                yield Figure("memory when idle", memory, "MB", None, f"< {MEMORY_AIM:g} MB", memory < MEMORY_AIM)


def _pages(data: Path) -> Iterator[Figure]:
    words = Words.invented()
    filled(data / "catalogue.sqlite", ITEMS, words)
    own(data)
    with ibi_up(data) as server:
        wait_for_rest(server)  # a connection would be closed meanwhile
        with Client(server) as client:
            for name, targets in {**_targets(words), **_harvests(data)}.items():
                client.ask(targets[:2])  # templates are read, and the first of everything is dearer
                milliseconds = client.ask(targets[2:]).cpu_each / 1e3
                aim = f"< {PAGE_AIM:g} ms"
                yield Figure(f"{name}, {NAME} items", milliseconds, "ms CPU", None, aim, milliseconds < PAGE_AIM)


def _targets(words: Words) -> Mapping[str, Sequence[bytes]]:
    chance, asked = random.Random(2), ASKED + 2
    some = chance.sample(words.words[100:], asked)
    again = Words.invented()  # the same items once more
    items = [sample(second, again) for second in range(2_000)]
    labels = [item.rep.spelling for item in chance.sample(items, asked)]
    return {
        "home": [b"/"] * asked,
        "item": [f"/col/{label}/metadata".encode() for label in labels],
        "search for a word": [f"/search?q={quote(word)}".encode() for word in some],
        "search for a common and another word": [f"/search?q={quote(f'{COMMON} {word}')}".encode() for word in some],
        "browse": [f"/search?page={number}".encode() for number in range(1, asked + 1)],
        "explain": [f"/explain?q={label}!".encode() for label in labels],
    }


def _harvests(data: Path) -> Mapping[str, Sequence[bytes]]:
    """Lists of a hundred records each, none of which was asked for before."""
    with closing(SqliteCatalog(data / "catalogue.sqlite")) as catalog:
        epoch = catalog.changes.since(0, 1).epoch
    places = (Resumption(Selection(), epoch, 100 * number, 0, 0) for number in range(ASKED + 2))
    tokens = (quote(write_token(place)) for place in places)
    return {"harvest of 100 records": [f"/oai?verb=ListRecords&resumptionToken={token}".encode() for token in tokens]}


def _megabytes(server: Running) -> float:
    """What is in memory, as the system counts it."""
    text = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1000


if __name__ == "__main__":
    measured = figures()
    print(figure_table(measured))
    sys.exit(0 if all(figure.is_met for figure in measured) else 1)
