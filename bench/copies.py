"""Copies of items of another Archive beside `rsync` with fsync of the same bytes: many small items, and a large one.

The other Archive is a server in a process of its own; Copies are made by the command, as a person would. `rsync` copies
the objects of the same items, which is what a Copy has on the disk. `python -m bench.copies [DIRECTORY]` measures this
suite alone; the directory decides which disk is measured.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from bench.archive import CountedLabels, draft_of
from bench.content import DISK
from bench.figure import Figure, figure_table
from bench.serving import IBI, ibi_up
from ibi.items.model.content import Bytes, Source, Stream
from ibi.items.opening.archive_store import open_store
from ibi.items.service.deposits import Deposits
from ibi.storage.machine import MachineClocks

__all__ = ["figures"]

SMALL, FEW, LARGE = 10_000, 1_000, 1 << 30
SMALL_AIM, LARGE_AIM, MEMORY_AIM = 0.5, 0.8, 1.25
CUTS = 20
ROUNDS = 3
WRAPPER = (
    sys.executable,
    "-IS",
    "-c",
    "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]);"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(code)",
)
"""Runs a command from a small process: the memory of a child begins with that of its parent."""


class Made(NamedTuple):
    """What a command took: seconds, and kilobytes of memory at most."""

    seconds: float
    memory: int


def main() -> int:
    measured = figures(sys.argv[1] if len(sys.argv) > 1 else DISK)
    print(figure_table(measured))
    return 0 if all(figure.is_met for figure in measured) else 1


def figures(disk: str = DISK) -> list[Figure]:
    if shutil.which("rsync") is None:
        return []
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=disk) as place:
        return [*small(Path(place) / "small"), *large(Path(place) / "large")]


def small(home: Path) -> Iterator[Figure]:
    labels = fill(home / "data", [b"%d" % number + b"x" * 2000 for number in range(SMALL)])
    with ibi_up(home / "data") as server:
        url = f"http://127.0.0.1:{server.port}"
        rounds = [(rsync(home, number), copy(home, number, url, labels)) for number in range(ROUNDS)]
        few = copy(home, ROUNDS, url, labels[:FEW])
    yield from compared(f"{SMALL:,} small items", rounds, SMALL_AIM, SMALL, "items/s")
    yield memory(f"memory for {SMALL:,} items beside that for {FEW:,}", rounds[0][1], few)


def large(home: Path) -> Iterator[Figure]:
    left = [LARGE]

    def read(length: int) -> bytes:
        length = min(length, left[0])
        left[0] -= length
        return os.urandom(1 << 10) * (length >> 10)

    labels = fill(home / "data", [Stream(read)])
    tenth = fill(home / "less" / "data", [b"x" * (LARGE // 10)], first=1_600_000_000)
    with ibi_up(home / "data") as server:
        url = f"http://127.0.0.1:{server.port}"
        rounds = [(rsync(home, number), copy(home, number, url, labels)) for number in range(ROUNDS)]
        yield from compared("an item of 1 GiB", rounds, LARGE_AIM, LARGE >> 20, "MiB/s")
        with cutting(server.port, LARGE // (CUTS + 1)) as proxy:
            copy(home, ROUNDS, f"http://127.0.0.1:{proxy.port}", labels)
        again = (proxy.passed - LARGE) / LARGE
        note = f"{proxy.cuts} cuts"
        is_met = proxy.cuts >= CUTS and again < 0.01
        yield Figure(f"read again after {CUTS} cuts", 100 * again, "%", None, "< 1 %", is_met, note)
    with ibi_up(home / "less" / "data") as server:
        less = copy(home, ROUNDS + 1, f"http://127.0.0.1:{server.port}", tenth)
    yield memory("memory for 1 GiB beside that for a tenth", rounds[0][1], less)


def fill(data: Path, contents: Sequence[bytes | Stream], first: int = 1_500_000_000) -> list[str]:
    """An Archive with these items of one file; their labels."""
    data.mkdir(parents=True)
    with open_store(data) as store:
        deposits = Deposits(store, CountedLabels(first), MachineClocks())
        made = []
        for content in contents:
            source: Source = Bytes(content) if isinstance(content, bytes) else content
            made.append(str(deposits.deposit(draft_of("text.txt"), {"text.txt": source}, "bench").rep))
    return made


def rsync(home: Path, number: int) -> Made:
    target = home / f"rsync-{number}"
    target.mkdir()
    return run(("rsync", "-a", "--fsync", f"{home}/data/store/", f"{target}/"))


def copy(home: Path, number: int, url: str, labels: Sequence[str]) -> Made:
    data = home / f"copy-{number}"
    data.mkdir()
    return run((*IBI, "copy", "-", "--from", url, "--data", str(data)), "\n".join(labels), len(labels))


def run(command: Sequence[str], said: str = "", lines: int = 0) -> Made:
    """Run a command that prints so many lines."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as printed:
        given.write(said)
        given.seek(0)
        start = perf_counter()
        told = subprocess.run((*WRAPPER, *command), stdin=given, stdout=printed, stderr=subprocess.PIPE, text=True)
        seconds = perf_counter() - start
        printed.seek(0)
        assert not told.returncode, (command[:4], told.stderr)
        assert not lines or sum(1 for _ in printed) == lines, command[:4]
    return Made(seconds, int(told.stderr.splitlines()[-1]))


def compared(name: str, rounds: Sequence[tuple[Made, Made]], aim: float, number: int, unit: str) -> Iterator[Figure]:
    ratios = [plain.seconds / made.seconds for plain, made in rounds]
    ratio = median(ratios)
    yield Figure(f"{name} by rsync --fsync (reference)", number / median(plain.seconds for plain, _ in rounds), unit)
    rate = number / median(made.seconds for _, made in rounds)
    note = f"{min(ratios):.2f} to {max(ratios):.2f}×"
    yield Figure(f"{name} as Copies", rate, unit, ratio, f"≥ {aim:g}×", ratio >= aim, note)


def memory(name: str, much: Made, little: Made) -> Figure:
    ratio = much.memory / little.memory
    return Figure(name, much.memory / 1024, "MiB", ratio, f"≤ {MEMORY_AIM:g}×", ratio <= MEMORY_AIM)


class CutConnections:
    """Passes answers on, and cuts each connection after so many bytes of them, `CUTS` times."""

    def __init__(self, server: int, most: int) -> None:
        self._server, self._most = server, most
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.passed, self.cuts = self._listener.getsockname()[1], 0, 0

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._server))
        threading.Thread(target=_copy_requests, args=(client, server), daemon=True).start()
        passed = 0
        with client, server, suppress(OSError):
            while piece := server.recv(1 << 16):
                client.sendall(piece)
                passed += len(piece)
                self.passed += len(piece)
                if passed >= self._most and self.cuts < CUTS:
                    self.cuts += 1
                    client.shutdown(socket.SHUT_RDWR)
                    return


def _copy_requests(client: socket.socket, server: socket.socket) -> None:
    with suppress(OSError):
        while piece := client.recv(1 << 16):
            server.sendall(piece)


@contextmanager
def cutting(port: int, most: int) -> Iterator[CutConnections]:
    with closing(CutConnections(port, most)) as proxy:
        threading.Thread(target=proxy.run, daemon=True).start()
        yield proxy


if __name__ == "__main__":
    sys.exit(main())
