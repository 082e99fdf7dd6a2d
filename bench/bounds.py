"""What clients that behave badly cost a real server: memory, the time until it is given back, and other readers' time.

Each attack runs against a server of its own, as it comes and with 1,024 descriptors, while a reader in a process and at
an address of its own asks for something twenty times a second. `python -m bench.bounds [ATTACK …]` measures this suite
alone.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path

from bench.content import DISK
from bench.figure import Figure, figure_table
from bench.serving import IBI, Running, running

__all__ = ["figures"]

MOST_MEMORY = 100.0
"""MB that an attack may add."""
GIVEN_BACK = 60.0
"""Seconds after an attack within which the memory is as it was, but for `KEPT`."""
KEPT = 25.0
"""MB that a server may have more than before: what it has loaded on the way, and the holes that Python's own allocator
never gives back. They are filled by the next attack: it adds nothing to them."""
SLOWEST = 250.0
"""Milliseconds, for 99 of 100 requests of another reader."""
FEW_DESCRIPTORS = 1024

ADDRESSES = tuple(f"127.0.0.{number}" for number in range(1, 11))
READER = "127.0.0.100"
PIPELINED = 27_000_000
DOWNLOADS, HEADS, UPLOADS = 500, 2_000, 95
LARGE = 32 << 20
SECONDS = 10.0
"""For which an attack goes on after all its connections are open."""
PAUSE = 0.05


@dataclass(frozen=True)
class Target:
    """A server that keeps one large file, and what a depositor needs."""

    server: Running
    label: str
    token: str

    def memory(self) -> float:
        """MB of the process that are in memory."""
        status = Path(f"/proc/{self.server.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000

    @property
    def file(self) -> str:
        return f"/col/{self.label}/doc/large"


def figures() -> list[Figure]:
    return [figure for name in ATTACKS for limit in (None, FEW_DESCRIPTORS) for figure in measured(name, limit)]


def measured(name: str, limit: int | None) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home, target(Path(home), limit) as attacked:
        warm_up(attacked)
        before, most = attacked.memory(), 0.0
        reader = Reader(attacked.server.port)
        with ExitStack() as opened:
            for _ in ATTACKS[name](attacked, opened):
                most = max(most, attacked.memory())
            waits, failed = reader.end()
        seconds = until_given_back(attacked, before)
        words = f"{name}{'' if limit is None else f', {limit:,} descriptors'}"
        grown = most - before
        yield Figure(f"{words}: memory", grown, "MB more", None, f"≤ {MOST_MEMORY:g}", grown <= MOST_MEMORY)
        left = f"+ {attacked.memory() - before:.1f} MB at the end"
        met = seconds <= GIVEN_BACK
        yield Figure(f"{words}: given back after", seconds, "s", None, f"≤ {GIVEN_BACK:g}", met, left)
        p99 = 1000 * statistics.quantiles(waits, n=100, method="inclusive")[98]
        note = f"{len(waits)} requests, longest {1000 * max(waits):.0f} ms, {failed} refused"
        met = p99 < SLOWEST and not failed
        yield Figure(f"{words}: another reader, p99", p99, "ms", None, f"< {SLOWEST:g}", met, note)


@contextmanager
def target(home: Path, limit: int | None) -> Iterator[Target]:
    data, large = home / "ibi-data", home / "large"
    variables = {
        "IBI_MINT_HOST": "mtc-m18.sid.inpe.br",
        "IBI_MINT_IP": "150.163.34.243",
        "IBI_LOCK_DIR": str(home / "locks"),
        "IBI_LOG_LEVEL": "error",
    }
    large.write_bytes(os.urandom(1 << 20) * (LARGE >> 20))
    few = () if limit is None else ("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh")
    with running((*few, *IBI, "up", "--port", "0", "--data", str(data)), home, variables) as server:

        def command(*arguments: str) -> str:
            done = subprocess.run(
                [*IBI, *arguments, "--data", str(data)],
                env={**os.environ, **variables},
                cwd=home,
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout

        label = re.search(r"sid\.inpe\.br/\S+", command("deposit", str(large), "--title", "Large"))
        assert label is not None
        token = command("token", "create", "--scope", "deposit", "--name", "bench").strip()
        yield Target(server, label[0].rstrip("."), token)


def warm_up(attacked: Target) -> None:
    """What is loaded or made at the first use is no memory of an attack."""
    for path in ("/healthz", "/", "/metrics", attacked.file, *["/healthz"] * 20):
        with closing(HTTPConnection("127.0.0.1", attacked.server.port, timeout=60)) as connection:
            connection.request("GET", path)
            connection.getresponse().read()
    uploads = [draft_of(attacked) for _ in range(2)]
    for draft in uploads:
        with closing(HTTPConnection("127.0.0.1", attacked.server.port, timeout=60)) as connection:
            sent = {"Authorization": f"Bearer {attacked.token}"}
            connection.request("PUT", f"/api/items/{draft}/files/a", bytes(4 << 20), sent)
            assert connection.getresponse().status == 201


def until_given_back(attacked: Target, before: float) -> float:
    began = time.monotonic()
    while attacked.memory() > before + KEPT and time.monotonic() - began < 1.5 * GIVEN_BACK:
        time.sleep(0.1)
    return time.monotonic() - began


# --- the attacks -----------------------------------------------------------------------------------------------------


def connected(attacked: Target, address: str, *, receive: int | None = None) -> socket.socket:
    connection = socket.socket()
    if receive is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    connection.bind((address, 0))
    connection.settimeout(30)
    connection.connect(("127.0.0.1", attacked.server.port))
    return connection


def looks(seconds: float = SECONDS) -> Iterator[None]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(PAUSE)
        yield


def pipelined(attacked: Target, opened: ExitStack) -> Iterator[None]:
    """As many requests as go into 27 MB over one connection, none of whose answers is read."""
    connection = opened.enter_context(connected(attacked, ADDRESSES[0], receive=4096))
    connection.setblocking(False)
    request = f"GET {attacked.file} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    rest = memoryview(request * (PIPELINED // len(request)))
    deadline = time.monotonic() + 2 * SECONDS
    while rest and time.monotonic() < deadline:
        try:
            rest = rest[connection.send(rest[: 1 << 20]) :]
        except BlockingIOError:
            time.sleep(PAUSE)
        except ConnectionError:
            break
        yield
    yield from looks()


def unread_downloads(attacked: Target, opened: ExitStack) -> Iterator[None]:
    """Downloads that begin and are never read."""
    request = f"GET {attacked.file} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for address in islice(cycle(ADDRESSES), DOWNLOADS):
        with suppress(OSError):
            connection = opened.enter_context(connected(attacked, address, receive=4096))
            connection.sendall(request)
            if address is ADDRESSES[0]:
                assert connection.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 200", "no download has begun"
        yield
    yield from looks()


def slow_heads(attacked: Target, opened: ExitStack) -> Iterator[None]:
    """Requests of sixty thousand bytes that come in small pieces and have no end."""
    connections: list[socket.socket] = []
    for address in islice(cycle(ADDRESSES), HEADS):
        with suppress(OSError):
            connection = opened.enter_context(connected(attacked, address))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            connections.append(connection)
        yield
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for connection in list(connections):
            try:
                connection.sendall(b"x-%d: y\r\n" % len(connections) * 20)
            except OSError:
                connections.remove(connection)
        yield from looks(1)


def uploads(attacked: Target, opened: ExitStack) -> Iterator[None]:
    """Files of eight megabytes, sent as quickly as they are taken."""
    draft, size, sent = draft_of(attacked), 8 << 20, []
    watched = opened.enter_context(selectors.DefaultSelector())
    piece = memoryview(os.urandom(1 << 16))
    for number, address in enumerate(islice(cycle(ADDRESSES), UPLOADS)):
        connection = opened.enter_context(connected(attacked, address))
        head = f"PUT /api/items/{draft}/files/f{number} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n"
        connection.sendall(f"{head}Authorization: Bearer {attacked.token}\r\n\r\n".encode())
        connection.setblocking(False)
        watched.register(connection, selectors.EVENT_WRITE, [size])
        sent.append(connection)
    deadline = time.monotonic() + 4 * SECONDS
    while watched.get_map() and time.monotonic() < deadline:
        for key, _ in watched.select(1):
            left = key.data
            assert isinstance(key.fileobj, socket.socket)
            with suppress(BlockingIOError):
                left[0] -= key.fileobj.send(piece[: left[0]])
            if not left[0]:
                watched.unregister(key.fileobj)
        yield
    yield from looks(2)
    for connection in sent:
        connection.settimeout(30)
        assert connection.recv(12) == b"HTTP/1.1 201", "an upload was not taken"


def draft_of(attacked: Target) -> str:
    with closing(HTTPConnection("127.0.0.1", attacked.server.port, timeout=60)) as connection:
        sent = {"Authorization": f"Bearer {attacked.token}", "Content-Type": "application/json"}
        connection.request("POST", "/api/items", b'{"metadata": {"title": "Many files"}}', sent)
        answer = json.loads(connection.getresponse().read())
    return str(answer["id"])


ATTACKS: dict[str, Callable[[Target, ExitStack], Iterator[None]]] = {
    "27 MB of requests, unread": pipelined,
    f"{DOWNLOADS} unread downloads": unread_downloads,
    f"{HEADS:,} slow heads of ten addresses": slow_heads,
    f"{UPLOADS} uploads at once": uploads,
}


# --- another reader --------------------------------------------------------------------------------------------------


class Reader:
    """Asks over a new connection each time, from an address of its own."""

    def __init__(self, port: int) -> None:
        command = (sys.executable, "-m", "bench.bounds", "read", str(port))
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self) -> tuple[list[float], int]:
        """Seconds that each request took, and how many were refused."""
        out, _ = self._process.communicate("", timeout=60)
        told = json.loads(out)
        return told["waits"], told["failed"]


def read(port: int) -> None:
    waits, failed = [], 0
    with selectors.DefaultSelector() as watched:
        watched.register(sys.stdin, selectors.EVENT_READ)
        while not watched.select(PAUSE):
            began = time.perf_counter()
            try:
                with closing(HTTPConnection("127.0.0.1", port, timeout=30, source_address=(READER, 0))) as connection:
                    connection.request("GET", "/healthz")
                    answer = connection.getresponse()
                    answer.read()
                    failed += answer.status != 200
            except OSError:
                failed += 1
            waits.append(time.perf_counter() - began)
    print(json.dumps({"waits": waits, "failed": failed}))


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["read"]:
        read(int(arguments[1]))
        return 0
    chosen = [name for name in ATTACKS if not arguments or any(each in name for each in arguments)]
    found: list[Figure] = []
    for name in chosen:
        for limit in (None, FEW_DESCRIPTORS):
            found += measured(name, limit)
            print(figure_table(found[-3:]), flush=True)
    return 0 if all(figure.is_met for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
