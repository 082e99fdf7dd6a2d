"""What a look-up in the catalogue costs as it grows to ten million items, and beside somebody who writes all the time.

The three catalogues are measured in turns. The largest takes some 8 GB of the disk that holds temporary files (TMPDIR),
and is read from the memory of the system if there is as much: otherwise it is the disk that is measured.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median, quantiles
from threading import Thread
from typing import Any

from bench.figure import Figure, figure_table
from ibi.items.model.file import File
from ibi.items.model.item import Description, Item
from ibi.items.model.item_json import item_document, local_document
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Text
from ibi.items.opening.archive_store import CATALOGUE, STORE
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.migrations import MIGRATIONS
from ibi.items.store.catalogue.rows import ROWIDS_PER_TICK, find_record
from ibi.items.store.generation_file import GenerationFile
from ibi.items.store.ocfl.store import OcflStore
from ibi.standard.instant import FIRST_SECOND, Instant
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.storage.columns import label_key
from ibi.storage.connection import connect

__all__ = ["figures"]

SIZES = {10_000: "10⁴", 1_000_000: "10⁶", 10_000_000: "10⁷"}
ROUNDS = 15
LOOKS = 2_000
WINDOWS, WINDOW = 5, 1.0
"""Times, and seconds, of reading beside a writer."""
RATIO_AIM, P99_AIM = 2.5, 1_000.0
HOST, IP, START = "mtc-m18.sid.inpe.br", "150.163.34.243", 1_000_000_000


Written = Callable[[], int]


@dataclass(frozen=True)
class Place:
    """A catalogue of `size` items, one named each second."""

    path: Path
    size: int

    def labels(self, number: int, form: type[Label]) -> list[Label]:
        """Any of its labels, each as likely as any other."""
        numbers = random.sample(range(self.size), min(number, self.size))
        return [label_at(second, form) for second in numbers]


Writer = Callable[[SqliteCatalog, Place], AbstractContextManager[Written]]


def label_at(second: int, form: type[Label]) -> Label:
    instant = Instant(START + second)
    if form is Ibip:
        return Ibip.from_parts(IP, 800, instant)
    return RepositoryName.from_parts(HOST, 80, instant)


def figures(sizes: Sequence[int] = tuple(SIZES)) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        places = [filled(Path(home) / f"{size}.sqlite", size) for size in sizes]
        return [*bare(places), *found(places), *beside(places[0])]


# --- catalogues of any size ------------------------------------------------------------------------------------------


def sample(second: int) -> Item:
    """An item as small as they are, so that ten million fit: half a kilobyte."""
    rep, instant = label_at(second, RepositoryName), Instant(START + second)
    metadata = DescriptiveMetadata(title=(Text("Relatório de atividades"),), creator=(Agent("Ávila, Ana"),))
    files = (File("relatorio.pdf", 1_234_567, "0123456789abcdef" * 8, "application/pdf"),)
    labels = LabelForms.of(rep)
    described = Description(metadata=metadata, target=files[0].path)
    return Item(labels=labels, created=instant, updated=instant, description=described, files=files)


# One second each. The record tells the repository name alone: SQLite can write that one itself.
FILL = """
    WITH RECURSIVE seconds (second) AS (SELECT 0 UNION ALL SELECT second + 1 FROM seconds LIMIT :size)
    INSERT INTO items SELECT
        (:first + second) * :step,
        unhex(printf('%010X', :first + second) || :rep),
        unhex(printf('%010X', :first + second) || :ibip),
        CAST(replace(:item, :name, strftime('%Y/%m.%d.%H.%M.%S', :start + second, 'unixepoch')) AS BLOB),
        :local
    FROM seconds
"""


def own(data: Path) -> None:
    """Have the catalogue of a data directory count as that of its store, which has none of the items: only what looks
    them up is measured."""
    OcflStore(data / STORE).close()
    with (
        closing(GenerationFile(data / STORE)) as generation,
        closing(SqliteCatalog(data / CATALOGUE, generation)) as catalog,
    ):
        catalog.end_rebuild()


def filled(path: Path, size: int) -> Place:
    item = sample(1)
    tails = {form.form: label_key(label_at(1, form))[5:].hex().upper() for form in (RepositoryName, Ibip)}
    values = {
        **tails,
        "size": size,
        "first": START - FIRST_SECOND,
        "start": START,
        "step": 65_536 * ROWIDS_PER_TICK,
        "item": compact(item_document(item)).decode(),
        "name": item.rep.suffix,
        "local": compact(local_document(item)),
    }
    with closing(connect(path, MIGRATIONS)) as connection:
        for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute(FILL, values)
    return Place(path, size)


def compact(document: dict[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


# --- look-ups --------------------------------------------------------------------------------------------------------


def bare(places: Sequence[Place]) -> Iterator[Figure]:
    """The record alone, for labels that nobody asked for before."""
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(connect(place.path, MIGRATIONS))) for place in places]

        def looker(index: int, form: type[Label]) -> Callable[[], float]:
            look = partial(find_record, connections[index])
            return lambda: timed(look, places[index].labels(LOOKS, form))

        for form in (RepositoryName, Ibip):
            times = in_turns([looker(index, form) for index in range(len(places))])
            yield from compared(f"record by {form.form}", places, times, RATIO_AIM)


def found(places: Sequence[Place]) -> Iterator[Figure]:
    """`Catalog.find`, for labels that nobody asked for before, and for one that was."""
    with ExitStack() as stack:
        catalogs = [stack.enter_context(closing(SqliteCatalog(place.path))) for place in places]

        def finder(index: int) -> Callable[[], float]:
            return lambda: timed(catalogs[index].find, places[index].labels(LOOKS, RepositoryName))

        yield from compared("find, decoded", places, in_turns([finder(index) for index in range(len(places))]), None)
        label = places[-1].labels(1, Ibip)
        hot = median(timed(catalogs[-1].find, label * LOOKS) for _ in range(ROUNDS))
        yield Figure(f"find again, {SIZES.get(places[-1].size, places[-1].size)} items", hot, "µs")


def in_turns(looks: Sequence[Callable[[], float]]) -> list[float]:
    """The best of each: what others do to the machine meanwhile is no property of a catalogue."""
    rounds = [[look() for look in looks] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def timed(find: Callable[[Label], object], labels: Sequence[Label]) -> float:
    """µs a call, each of which finds something."""
    start = time.perf_counter()
    for label in labels:
        assert find(label) is not None
    return 1e6 * (time.perf_counter() - start) / len(labels)


def compared(name: str, places: Sequence[Place], times: Sequence[float], aim: float | None) -> Iterator[Figure]:
    for place, microseconds in zip(places, times, strict=True):
        ratio = microseconds / times[0]
        aimed = aim is not None and place is places[-1]
        yield Figure(
            f"{name}, {SIZES.get(place.size, place.size)} items",
            microseconds,
            "µs",
            ratio,
            f"≤ {aim:g}×" if aimed else None,
            not aimed or aim is None or ratio <= aim,
            f"{place.path.stat().st_size / place.size:.0f} bytes an item",
        )


# --- beside a writer -------------------------------------------------------------------------------------------------


def beside(place: Place) -> Iterator[Figure]:
    """A reader alone, beside a process and beside a thread that put one item after the other, in turns.

    The ratio is to the reader alone: one that misses the aim even then is kept waiting by the machine, not by a writer.
    """
    writers = {"alone": nobody, "beside a busy process": busy_process, "beside a busy thread": busy_thread}
    rounds = [[meanwhile(place, writer) for writer in writers.values()] for _ in range(WINDOWS)]
    alone = median(window[0][0] for window in rounds)
    for name, windows in zip(writers, zip(*rounds, strict=True), strict=True):
        p99, p50, worst, commits = (median(values) for values in zip(*windows, strict=True))
        aimed = name != "alone"
        note = f"p50 {p50:.0f} µs, p99.9 {worst:.0f} µs, {commits / WINDOW:.0f} commits/s"
        yield Figure(
            f"find {name}, p99",
            p99,
            "µs",
            p99 / alone,
            f"< {P99_AIM / 1000:g} ms" if aimed else None,
            not aimed or p99 < P99_AIM,
            note,
        )


def meanwhile(place: Place, writer: Writer) -> tuple[float, float, float, float]:
    """p99, p50, p99.9 in µs, and the commits of the writer."""
    with closing(SqliteCatalog(place.path)) as catalog, writer(catalog, place) as written:
        before, times = written(), list(found_meanwhile(catalog, place))
        commits = written() - before
    cuts = quantiles(times, n=1000)
    return cuts[989], cuts[499], cuts[998], commits


def found_meanwhile(catalog: SqliteCatalog, place: Place) -> Iterator[float]:
    """µs of each look-up of any label, one after the other, as long as it lasts."""
    deadline = time.perf_counter() + WINDOW
    while time.perf_counter() < deadline:
        for label in place.labels(100, RepositoryName):
            yield timed(catalog.find, [label])


@contextmanager
def nobody(catalog: SqliteCatalog, place: Place) -> Iterator[Written]:
    yield lambda: 0


@contextmanager
def busy_thread(catalog: SqliteCatalog, place: Place) -> Iterator[Written]:
    done, count = [False], [0]

    def write() -> None:
        while not done[0]:
            catalog.put(sample(count[0] % place.size))
            count[0] += 1

    thread = Thread(target=write)
    thread.start()
    try:
        yield lambda: count[0]
    finally:
        done[0] = True
        thread.join()


@contextmanager
def busy_process(catalog: SqliteCatalog, place: Place) -> Iterator[Written]:
    context = multiprocessing.get_context("spawn")
    begun, done, count = context.Event(), context.Event(), context.Value("q", 0)
    process = context.Process(target=write_until, args=(place, begun, done, count))
    process.start()
    begun.wait()
    try:
        yield lambda: int(count.value)
    finally:
        done.set()
        process.join()


def write_until(place: Place, begun: Event, done: Event, count: Any) -> None:
    with closing(SqliteCatalog(place.path)) as catalog:
        begun.set()
        while not done.is_set():
            catalog.put(sample(count.value % place.size))
            count.value += 1


if __name__ == "__main__":
    measured = figures(tuple(map(int, sys.argv[1:])) or tuple(SIZES))
    print(figure_table(measured))
    sys.exit(0 if all(figure.is_met for figure in measured) else 1)
