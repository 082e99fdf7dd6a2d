"""Deposits of small items beside the same bytes as three files with three fsyncs; a large one for its memory.

`python -m bench.content [DIRECTORY]`; the directory decides which disk is measured.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from time import perf_counter, process_time

from ibi.instant import Instant
from ibi.model.content import Bytes, Change, Copy, Stream
from ibi.storage.ocfl.store import OcflStore

_FILES = {"item.json": b"{%d}" + b" " * 600, "local.json": b"[%d]" + b" " * 100, "doc/text.txt": b"%d" + b"x" * 2000}
_CHANGE = Change("bench", "deposit", Instant(1_800_000_000))
_AIMS = {1: 0.3, 8: 0.75}
_ROUNDS = 7
_ITEMS = 400
_LARGE = 1 << 30


def main() -> int:
    place = Path(tempfile.mkdtemp(prefix="bench-content-", dir=sys.argv[1] if len(sys.argv) > 1 else "."))
    try:
        missed = [callers for callers in _AIMS if not compare(place, callers)]
        large(place)
    finally:
        shutil.rmtree(place)
    return 1 if missed else 0


def compare(place: Path, callers: int) -> bool:
    """Rounds of both in turns; the median of their ratios is judged."""
    numbers = count()
    store = OcflStore(place / f"content-of-{callers}")
    plain = place / f"plain-{callers}"
    plain.mkdir()
    ratios, rates, costs = [], [], []
    for _ in range(_ROUNDS):
        reference, _ = rate(lambda: three_files(plain, next(numbers)), callers)
        deposits, cost = rate(lambda: deposit(store, next(numbers)), callers)
        ratios.append(deposits / reference)
        rates.append((round(deposits), round(reference)))
        costs.append(cost)
    store.close()
    ratio, aim = statistics.median(ratios), _AIMS[callers]
    print(f"deposits, {callers} callers: {ratio:.2f} x three files with three fsyncs, aim {aim}")
    print(f"  each round {' '.join(f'{r:.2f}' for r in ratios)}; per second {rates}")
    print(f"  CPU {statistics.median(costs) * 1e6:.0f} us a deposit")
    return ratio >= aim


def rate(call: Callable[[], object], callers: int) -> tuple[float, float]:
    """Calls per second, and CPU seconds a call."""
    items = _ITEMS if callers > 1 else _ITEMS // 4
    start, cpu = perf_counter(), process_time()
    with ThreadPoolExecutor(callers) as pool:
        for done in [pool.submit(call) for _ in range(items)]:
            done.result()
    return items / (perf_counter() - start), (process_time() - cpu) / items


def three_files(place: Path, number: int) -> None:
    for index, content in enumerate(_FILES.values()):
        descriptor = os.open(place / f"{number}-{index}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(descriptor, content % number)
        os.fsync(descriptor)
        os.close(descriptor)


def deposit(store: OcflStore, number: int) -> None:
    label = f"sid.inpe.br/mtc-m18.8080/2026/01.02.03.04.05.{number:09}1"
    store.create(label, {path: Bytes(content % number) for path, content in _FILES.items()}, _CHANGE)


def large(place: Path) -> None:
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
        print(f"1 GiB {what}: {perf_counter() - start:.1f} s, peak memory + {peak() - before} MiB")
    store.close()


def source(store: OcflStore, name: str) -> str:
    with store.open(name, "doc/large") as file:
        return str(file.path)


def drain(store: OcflStore, name: str) -> None:
    with store.open(name, "doc/large") as file:
        for offset in range(0, file.size, 1 << 20):
            file.read(offset, 1 << 20)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    sys.exit(main())
