"""Objects of small items beside the same bytes as three files with three fsyncs by one writer; a large one for its
memory.

`python -m bench.content [DIRECTORY]`; the directory decides which disk is measured.
"""

from __future__ import annotations

import atexit
import os
import resource
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from time import perf_counter, process_time

from bench.figure import Figure, figure_table
from ibi.items.model.content import Bytes, Change, Copy, Stream
from ibi.items.store.ocfl.store import OcflStore
from ibi.standard.instant import Instant

__all__ = ["DISK", "figures", "rate", "three_files"]

DISK = "/var/tmp"
"""A place that is on a disk wherever temporary files are kept in memory."""

_FILES = {"item.json": b"{%d}" + b" " * 600, "local.json": b"[%d]" + b" " * 100, "doc/text.txt": b"%d" + b"x" * 2000}
_CHANGE = Change("bench", "deposit", Instant(1_800_000_000))
_AIMS = {1: 0.3, 8: 0.75}
_ROUNDS = 7
_ITEMS = 400
_LARGE = 1 << 30


def main() -> int:
    measured = figures(sys.argv[1] if len(sys.argv) > 1 else DISK)
    print(figure_table(measured))
    return 0 if all(figure.is_met for figure in measured) else 1


def figures(disk: str = DISK) -> list[Figure]:
    place = Path(tempfile.mkdtemp(prefix="bench-content-", dir=disk))
    # At the very end: ext4 looks at each inode that was freed in the last minutes before it makes another file.
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return [*compare(place), *large(place)]


def compare(place: Path) -> Iterator[Figure]:
    """Rounds of all in turns; the medians of their ratios to one writer are judged."""
    numbers, plain = count(), place / "plain"
    plain.mkdir()
    works: dict[str, Callable[[], object]] = {
        "three files, three fsyncs": lambda: three_files(plain, next(numbers)),
        "OCFL objects of three files": lambda: deposit(store, next(numbers)),
    }
    measured: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    store = OcflStore(place / "content")
    for _ in range(_ROUNDS):
        reference = 0.0
        for callers in _AIMS:
            for name, work in works.items():
                rated, cost = rate(work, callers)
                reference = reference or rated
                measured.setdefault((name, callers), []).append((rated, rated / reference, cost))
    store.close()
    for (name, callers), rounds in measured.items():
        rates, ratios, costs = zip(*rounds, strict=True)
        ratio, aim = statistics.median(ratios), _AIMS[callers] if name.startswith("OCFL") else None
        yield Figure(
            f"{name}, {callers} caller{'s' if callers > 1 else ''}",
            statistics.median(rates),
            "times/s",
            ratio,
            None if aim is None else f"≥ {aim:g}×",
            aim is None or ratio >= aim,
            f"{min(ratios):.2f} to {max(ratios):.2f}×; {1e6 * statistics.median(costs):.0f} µs CPU each",
        )


def rate(call: Callable[[], object], callers: int) -> tuple[float, float]:
    """Calls per second, and CPU seconds a call."""
    items = _ITEMS if callers > 1 else _ITEMS // 4
    start, cpu = perf_counter(), process_time()
    with ThreadPoolExecutor(callers) as pool:
        for done in [pool.submit(call) for _ in range(items)]:
            done.result()
    return items / (perf_counter() - start), (process_time() - cpu) / items


def three_files(place: Path, number: int, contents: Sequence[bytes] | None = None) -> None:
    """The bytes of a small item, unless told which ones."""
    contents = [content % number for content in _FILES.values()] if contents is None else contents
    for index, content in enumerate(contents):
        descriptor = os.open(place / f"{number}-{index}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(descriptor, content)
        os.fsync(descriptor)
        os.close(descriptor)


def deposit(store: OcflStore, number: int) -> None:
    label = f"sid.inpe.br/mtc-m18.8080/2026/01.02.03.04.05.{number:09}1"
    store.create(label, {path: Bytes(content % number) for path, content in _FILES.items()}, _CHANGE)


def large(place: Path) -> Iterator[Figure]:
    """A gigabyte in as a stream and as a file, out, and verified."""
    store, left = OcflStore(place / "large"), [_LARGE]
    name = "sid.inpe.br/mtc-m18.8080/2026/01.02.03.04"

    def read(length: int) -> bytes:
        length = min(length, left[0])
        left[0] -= length
        return os.urandom(1 << 10) * (length >> 10)

    before = peak()
    works: dict[str, Callable[[], object]] = {
        "in as a stream": lambda: store.create(name, {"doc/large": Stream(read)}, _CHANGE),
        "out": lambda: drain(store, name),
        "verified": lambda: list(store.verify(name)),
        "in as a file": lambda: store.create(f"{name}.05", {"doc/large": Copy(source(store, name))}, _CHANGE),
    }
    for what, call in works.items():
        start = perf_counter()
        call()
        seconds = perf_counter() - start
        yield Figure(f"1 GiB {what}", _LARGE / 1e6 / seconds, "MB/s", note=f"peak memory + {peak() - before} MiB")
    store.close()


def source(store: OcflStore, name: str) -> str:
    return f"{store.root}/{name}/v1/content/doc/large"


def drain(store: OcflStore, name: str) -> None:
    with store.open(name, "doc/large") as file:
        for offset in range(0, file.size, 1 << 20):
            file.read(offset, 1 << 20)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    sys.exit(main())
