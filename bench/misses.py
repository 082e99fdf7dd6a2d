"""How long an honest reader waits while another network sends links that have not been asked for, as many as it can.

The server has one core, those who ask it the other one, so that the figures tell what the server does and not who got
the processor. The flood comes from sixty addresses of one network, over many connections, with another label each time;
the reader is one of 127.0.2.0/24, asks some hundred times a second over one connection, and is measured without the
flood just before each one. Both are measured with links that are kept and with items that are in the Archive of the
server and were not asked for before; the flood once at a server that has no other Archive to ask, and once at one with
many that say nothing. Then the same with a flood that opens a new connection for each link, and gives it up after some
milliseconds. `python -m bench.misses` measures this suite alone.
"""

from __future__ import annotations

import os
import re
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from ipaddress import ip_address, ip_network
from itertools import count, cycle
from pathlib import Path
from typing import NamedTuple

from bench.catalogue import filled, label_at, own
from bench.content import DISK
from bench.figure import Figure, figure_table
from bench.serving import IBI, Running, running
from ibi.items.opening.archive_store import CATALOGUE
from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.store.registry import SqliteRegistry
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName, parse
from ibi.standard.messages import LabelForms
from ibi.standard.vocabulary import ArchiveProtocol

__all__ = ["figures"]

ITEMS = 50_000
SECONDS = 2.5
"""For which a reader asks, of one kind of links."""
RATE = 200
"""Requests a second of the reader."""
GIVEN_UP_AFTER = 0.02
"""Seconds for which a connection of the flood waits that asks only once."""
CONNECTIONS = 240
"""Of the flood, over sixty addresses."""
ARCHIVES = 20
AIM = 2.0
REST = 9.0
"""Seconds after which nothing of a flood waits any more."""
SETTLING = 0.5
"""Seconds after which a flood is measured, with the burst with which every network may begin."""


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home:
        return list(measured(Path(home)))


def measured(home: Path) -> Iterator[Figure]:
    labels = map(label_at, count(10), cycle([RepositoryName]))
    fresh = (f"/{label.spelling}".encode() for label in labels)
    with running((sys.executable, "-m", "bench.fan_out", "serve"), Path.cwd()) as archives:
        pin(archives.pid, others(), is_urgent=False)  # they share a core with the reader, too
        for name, number in (("no other Archive", 0), (f"{ARCHIVES} Archives that say nothing", ARCHIVES)):
            with up(home / str(number), archives.port, number) as server:
                yield from compared(name, server, {"kept links": lambda: KEPT, "items here": lambda: next(fresh)})


KEPT = f"/{label_at(1, RepositoryName).spelling}".encode()


FLOODS = {"flood": 7, "flood-anew": 3}
"""How often each is measured, beside a quiet time just before it."""


def compared(name: str, server: Running, wishes: dict[str, Callable[[], bytes]]) -> Iterator[Figure]:
    with closing(connected(server.port, "127.0.2.1")) as reader:
        waits(reader, wishes["items here"], 1.0)  # warms up
        waits(reader, wishes["kept links"], 0.5)
        for kind, number in FLOODS.items():
            pairs = [paired(server, reader, kind, wishes) for _ in range(number)]
            for words in wishes:
                yield from told(f"p99 of {words}, {name}", kind, [pair[words] for pair in pairs])


class Pair(NamedTuple):
    """The same measured without the flood, and then with it."""

    quiet: list[float]
    busy: list[float]
    note: str

    @property
    def ratio(self) -> float:
        return percentile(self.busy, 99) / percentile(self.quiet, 99)


def paired(
    server: Running, reader: socket.socket, kind: str, wishes: dict[str, Callable[[], bytes]]
) -> dict[str, Pair]:
    time.sleep(REST)
    quiet = {words: waits(reader, wish, SECONDS) for words, wish in wishes.items()}
    with flooded(server, kind) as ended:
        time.sleep(SETTLING)
        cpu, began = server.cpu(), time.perf_counter()
        busy = {words: waits(reader, wish, SECONDS) for words, wish in wishes.items()}
        share = 100 * (server.cpu() - cpu) / (time.perf_counter() - began)
        note = f"{ended()} of the flood; {share:.0f} % of the core"
    return {words: Pair(quiet[words], busy[words], note) for words in wishes}


def told(title: str, kind: str, pairs: Sequence[Pair]) -> Iterator[Figure]:
    """What is compared is the pair in the middle: what the machine does to one of them it does to both sides, and what
    it does for a moment only to one pair."""
    pairs = sorted(pairs, key=lambda pair: pair.ratio)
    middle = pairs[len(pairs) // 2]
    before, now = percentile(middle.quiet, 99), percentile(middle.busy, 99)
    yield Figure(f"{title}: quiet (reference)", 1e6 * before, "µs", 1.0)
    all_ratios = ", ".join(f"{pair.ratio:.2f}" for pair in pairs)
    note = f"of {all_ratios}; {middle.note}; p50 {1e6 * percentile(middle.busy, 50):.0f} µs"
    if kind == "flood":
        yield Figure(
            f"{title}: flooded", 1e6 * now, "µs", middle.ratio, f"≤ {AIM:g}×", is_met=middle.ratio <= AIM, note=note
        )
    else:
        yield Figure(f"{title}: a new connection for each", 1e6 * now, "µs", middle.ratio, note=note)


def percentile(times: Sequence[float], percent: int) -> float:
    return sorted(times)[len(times) * percent // 100]


# --- the reader ------------------------------------------------------------------------------------------------------


def waits(connection: socket.socket, wish: Callable[[], bytes], seconds: float) -> list[float]:
    """How long each answer took, in seconds. A request that is late because the one before it was counts from when it
    should have been sent."""
    found, begin, due = list[float](), time.perf_counter(), 0.0
    while (due := max(due + 1 / RATE, 0.0)) < seconds:
        early = begin + due - time.perf_counter()
        time.sleep(max(0.0, early))
        sent = time.perf_counter() if early > 0 else begin + due
        connection.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % wish())
        said = connection.recv(65536)
        assert said.startswith(b"HTTP/1.1 302 "), said[:300]
        found.append(time.perf_counter() - sent)
        if time.perf_counter() - begin > 3 * seconds:
            break
    return found


def connected(port: int, source: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


# --- the flood -------------------------------------------------------------------------------------------------------


_networks = count(11)


@contextmanager
def flooded(server: Running, kind: str = "flood") -> Iterator[Callable[[], str]]:
    """Within the `with` the flood goes on; what is given ends it and says how many were answered, by their status."""
    # Each from a network of its own: what waits of the one before is not held against it.
    command = [sys.executable, "-m", "bench.misses", kind, str(server.port), f"127.0.{next(_networks)}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ended() -> str:
            told, _ = process.communicate("\n", timeout=60)
            return told.strip()

        pin(process.pid, others(), is_urgent=False)  # less urgent than the reader, with whom it shares a core
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield ended
        finally:
            if process.poll() is None:
                process.kill()


def flood(port: int, network: str) -> None:
    """Until a line comes. A connection that the server ends is opened again."""
    selector, numbers, answers = selectors.DefaultSelector(), count(1), Counter[str]()

    def opened(number: int) -> None:
        connection = connected(port, f"{network}.{1 + number % 60}")
        selector.register(connection, selectors.EVENT_READ, bytearray())
        with suppress(OSError):  # it is told when it is read
            connection.sendall(missing(next(numbers)))

    for number in range(CONNECTIONS):
        opened(number)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("begun", flush=True)
    began = time.monotonic()
    while True:
        for key, _ in selector.select():
            if not isinstance(key.fileobj, socket.socket):
                seconds = time.monotonic() - began
                print(", ".join(f"{n / seconds:.0f} × {status}/s" for status, n in sorted(answers.items())), flush=True)
                return
            try:
                said = key.fileobj.recv(65536)
            except OSError:
                said = b""
            key.data.extend(said)
            if is_whole(key.data):
                answers[key.data[9:12].decode()] += 1
                key.data.clear()
            elif said:
                continue
            try:
                if said:
                    key.fileobj.sendall(missing(next(numbers)))
                    continue
            except OSError:
                pass
            answers["closed"] += 1
            selector.unregister(key.fileobj)
            key.fileobj.close()
            opened(next(numbers))


def flood_anew(port: int, network: str) -> None:
    """The same with a new connection for each request, which is given up after some milliseconds."""
    numbers, opened, number = count(1), deque[tuple[float, socket.socket]](), 0
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("begun", flush=True)
    began = time.monotonic()
    while not selector.select(0):
        while opened and (len(opened) >= CONNECTIONS or opened[0][0] < time.monotonic() - GIVEN_UP_AFTER):
            opened.popleft()[1].close()
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leaves no ports behind
        connection.settimeout(1)
        connection.bind((f"{network}.{1 + number % 60}", 0))
        with suppress(OSError):
            connection.connect(("127.0.0.1", port))
            connection.sendall(missing(next(numbers)))
        opened.append((time.monotonic(), connection))
        number += 1
    print(f"{number / (time.monotonic() - began):.0f} connections/s", flush=True)


def is_whole(answer: bytearray) -> bool:
    head, end, body = bytes(answer).partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: (\d+)", head, re.IGNORECASE)
    return bool(end) and length is not None and len(body) >= int(length[1])


def missing(number: int) -> bytes:
    label = RepositoryName.from_parts("urlib.net", 80, Instant(1_000_000_000 + number)).spelling
    return b"GET /%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % label.encode()


# --- the server ------------------------------------------------------------------------------------------------------


@contextmanager
def up(home: Path, port: int, number: int) -> Iterator[Running]:
    """With so many Archives beside its own, all of which are at `port`."""
    data = home / "ibi-data"
    data.mkdir(parents=True)
    filled(data / CATALOGUE, ITEMS)
    own(data)
    with closing(SqliteRegistry(data)) as registry:
        for each in range(number):
            registry.put(registration(each, port))
    variables = {"IBI_MINT_HOST": "misses.inpe.br", "IBI_LOCK_DIR": str(home / "locks"), "IBI_LOG_LEVEL": "error"}
    with ExitStack() as opened:
        command = (*IBI, "up", "--port", "0", "--data", str(data))
        server = opened.enter_context(running(command, Path.cwd(), variables))
        pin(server.pid, {min(os.sched_getaffinity(0))})
        opened.callback(pin, os.getpid(), _CORES)
        pin(os.getpid(), others())
        yield server


def registration(number: int, port: int) -> Registration:
    service = LabelForms.of(parse(f"archive-{number}.inpe.br/www/2009/08.21.17.02"))
    now, address = Instant.parse("2026-11-15T00:00:00Z"), f"127.0.3.{1 + number}"
    said = (f"{address}:{port}", ip_address(address), ArchiveProtocol.HTTP, "1", "ana@example.org", now)
    loopback = (ip_network("127.0.0.0/8"),)
    return Registration(service, "$argon2id$", now, networks=loopback, inclusion=Inclusion(*said))


_CORES = os.sched_getaffinity(0)


def others() -> set[int]:
    """Every core but that of the server; the same one if there is no other."""
    return set(sorted(_CORES)[1:]) or set(_CORES)


def pin(process: int, cores: set[int], *, is_urgent: bool = True) -> None:
    for thread in map(int, os.listdir(f"/proc/{process}/task")):  # noqa: PTH208
        os.sched_setaffinity(thread, cores)
        if not is_urgent:  # how long the reader itself waits for its core is not told
            os.setpriority(os.PRIO_PROCESS, thread, 19)


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] in (["flood"], ["flood-anew"]):
        (flood if arguments[0] == "flood" else flood_anew)(int(arguments[1]), arguments[2])
        return 0
    found = figures()
    print(figure_table(found))
    return 0 if all(figure.is_met for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
