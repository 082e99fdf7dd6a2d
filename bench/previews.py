"""What a page costs whose Markdown takes seconds to render, and what other readers notice while sixty at once ask for
such pages: none of them has anything rendered by the server's own threads.

`python -m bench.previews` measures this suite alone.
"""

from __future__ import annotations

import json
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread

from bench.bounds import Target, target
from bench.content import DISK
from bench.figure import Figure, figure_table
from bench.serving import Client
from tests.hostile.test_markdown_previews import PATHOLOGICAL

__all__ = ["figures"]

AT_ONCE = 60
SECONDS = 15.0
PAGE_AIM, OTHERS_AIM, LINKS_AIM = 50.0, 200.0, 50.0
"""Milliseconds: of the server's processors for one page, and 99 of 100 requests of others."""
PAUSE = 0.02
ASKED = 20


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home, target(Path(home), None) as asked:
        label = deposit(asked)
        places = [f"/col/{label}/preview/{number}.md" for number in range(len(PATHOLOGICAL))]
        return [*_others(asked, places), *_pages(asked, places)]


def deposit(asked: Target) -> str:
    """One item with every pathological text."""
    with closing(HTTPConnection("127.0.0.1", asked.server.port, timeout=60)) as connection:

        def send(method: str, path: str, body: bytes, media: str = "application/json") -> dict[str, object]:
            headers = {"Authorization": f"Bearer {asked.token}", "Content-Type": media}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            found = answer.read()
            assert answer.status < 300, (path, answer.status, found[:200])
            return dict(json.loads(found)) if found else {}

        draft = send("POST", "/api/items", b'{"metadata": {"title": ["Pathological"]}}')["id"]
        for number, text in enumerate(PATHOLOGICAL.values()):
            send("PUT", f"/api/items/{draft}/files/{number}.md", text.encode(), "text/markdown")
        return str(send("POST", f"/api/items/{draft}/publish", b"")["rep"])


def _pages(asked: Target, places: Sequence[str]) -> Iterator[Figure]:
    """After the attack, when all were rendered or refused."""
    with Client(asked.server) as client:
        costs = {}
        for name, place in zip(PATHOLOGICAL, places, strict=True):
            client.ask([place.encode()] * 2)
            costs[name] = client.ask([place.encode()] * ASKED).cpu_each / 1e3
    worst = max(costs, key=lambda name: costs[name])
    note = f"{worst}; of {len(costs)} texts, {statistics.median(costs.values()):.1f} at the median"
    aim = f"≤ {PAGE_AIM:g} ms"
    yield Figure(
        "page of the worst Markdown of 64 KB", costs[worst], "ms CPU", None, aim, costs[worst] <= PAGE_AIM, note
    )


def _others(asked: Target, places: Sequence[str]) -> Iterator[Figure]:
    """While nothing is rendered yet, and then while it is; beside the same readers before."""
    targets = ("/", f"/{asked.label}")
    before = [Reader(asked.server.port, path) for path in targets]
    time.sleep(SECONDS / 3)
    quiet = [_p99(reader.end()[0]) for reader in before]
    readers = [Reader(asked.server.port, path) for path in targets]
    number = _attack(asked.server.port, places)
    named = (("other pages", OTHERS_AIM), ("links", LINKS_AIM))
    for reader, alone, (name, aim) in zip(readers, quiet, named, strict=True):
        waits, failed = reader.end()
        p99 = _p99(waits)
        note = f"{len(waits)} requests, {failed} failed; {alone:.0f} ms without the attack; {number} pages sent"
        words = f"{name} while {AT_ONCE} at once ask for pathological Markdown, p99"
        yield Figure(words, p99, "ms", None, f"< {aim:g} ms", p99 < aim and not failed, note)


def _p99(waits: Sequence[float]) -> float:
    return 1000 * statistics.quantiles(waits, n=100, method="inclusive")[98]


def _attack(port: int, places: Sequence[str]) -> int:
    """Ask for the pages, sixty at a time, each client the next page once it has the last; how many were sent."""
    over, sent = Event(), [0] * AT_ONCE

    def ask(client: int) -> None:
        address = f"127.0.0.{client % 10 + 1}"
        number = client
        while not over.is_set():
            with closing(HTTPConnection("127.0.0.1", port, timeout=60, source_address=(address, 0))) as connection:
                connection.request("GET", places[number % len(places)])
                sent[client] += connection.getresponse().read() != b""
            number += AT_ONCE
            over.wait(AT_ONCE * PAUSE)  # a flood of cheap pages would measure the machine, not the rendering

    clients = [Thread(target=ask, args=(client,)) for client in range(AT_ONCE)]
    for client in clients:
        client.start()
    time.sleep(SECONDS)
    over.set()
    for client in clients:
        client.join()
    return sum(sent)


class Reader:
    """Asks for one address again and again, in a process and from an address of its own."""

    def __init__(self, port: int, path: str) -> None:
        command = (sys.executable, "-m", "bench.previews", "read", str(port), path)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it has begun

    def end(self) -> tuple[list[float], int]:
        """Seconds that each request took, and how many failed."""
        out, _ = self._process.communicate("", timeout=120)
        told = json.loads(out)
        return told["waits"], told["failed"]


def read(port: int, path: str) -> None:
    waits, failed = [], 0
    print("ready", flush=True)
    with selectors.DefaultSelector() as watched:
        watched.register(sys.stdin, selectors.EVENT_READ)
        while not watched.select(PAUSE):
            began = time.perf_counter()
            try:
                with closing(HTTPConnection("127.0.0.1", port, timeout=60, source_address=("127.0.0.100", 0))) as one:
                    one.request("GET", path)
                    answer = one.getresponse()
                    answer.read()
                    failed += answer.status >= 400
            except OSError:
                failed += 1
            waits.append(time.perf_counter() - began)
    print(json.dumps({"waits": waits, "failed": failed}))


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["read"]:
        read(int(arguments[1]), arguments[2])
        return 0
    measured = figures()
    print(figure_table(measured))
    return 0 if all(figure.is_met for figure in measured) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
