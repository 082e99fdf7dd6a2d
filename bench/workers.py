"""Two worker processes beside one: how connections are spread, and what a link and a deposit cost of the processors.

`python -m bench.workers` measures this suite alone.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from statistics import median

from bench.content import DISK
from bench.deposits import request, token_of
from bench.figure import Figure, figure_table
from bench.resolving import ITEM, data_directory, wait_for_redirect
from bench.serving import Client, Running, Spent, ibi_up

__all__ = ["figures"]

ROUNDS = 7
LINKS, LINK_CONNECTIONS, LINK_AIM = 4_000, 16, 1.1
DEPOSITS, DEPOSITORS, DEPOSIT_AIM = 640, 64, 1.15
CONNECTIONS, SPREAD = 2_000, (40.0, 60.0)
IDLE_AIM = 150.0
"""MB."""
GONE_AIM = 5.0
"""Seconds."""


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home:
        return [*of_links(Path(home)), *of_deposits(Path(home)), gone_after_kill(Path(home))]


def of_links(home: Path) -> Iterator[Figure]:
    """Two workers beside two servers of one worker each, of which one client asks both. Two processes and their client
    share the processors on either side: so the difference is what workers of one server cost. The same beside one
    server alone is told in the note; on a machine of two processors, most of that is the third process."""
    with ExitStack() as opened:
        one, another, two = servers = [
            opened.enter_context(ibi_up(data_directory(home / name), workers=workers))
            for name, workers in (("one", 1), ("another", 1), ("two", 2))
        ]
        for server in servers:
            wait_for_redirect(server)
        yield idle(two)
        both, other = (opened.enter_context(Client(each, LINK_CONNECTIONS // 2, 302)) for each in (one, another))
        both.join(other)
        sides = [
            opened.enter_context(Client(one, LINK_CONNECTIONS, 302)),
            both,
            opened.enter_context(spread_client(two, LINK_CONNECTIONS, 302)),
        ]
        found = rounds([lambda client=client: client.ask([ITEM] * LINKS) for client in sides])  # type: ignore[misc]
        alone = median(two.cpu_each / one.cpu_each for one, _, two in found)
        yield compared(
            "redirect that was kept, two workers beside two servers of one",
            [(singles, two) for _, singles, two in found],
            LINK_AIM,
            f"; {alone:.2f}× of one server alone",
        )
        yield spread(two)


def of_deposits(home: Path) -> Iterator[Figure]:
    numbers = count()
    with ExitStack() as opened:
        sides = []
        for name, workers in (("one-depositing", 1), ("two-depositing", 2)):
            data = home / name / "data"
            data.mkdir(parents=True)
            server = opened.enter_context(ibi_up(data, workers=workers))
            sides.append((opened.enter_context(spread_client(server, DEPOSITORS, 201)), token_of(data)))

        def send(which: int) -> Spent:
            client, token = sides[which]
            return client.send([request(token, b"", [next(numbers)]) for _ in range(DEPOSITS)])

        words = f"small items deposited over {DEPOSITORS} connections, two workers beside one"
        yield compared(words, rounds([lambda: send(0), lambda: send(1)]), DEPOSIT_AIM)


def rounds(sides: Sequence[Callable[[], Spent]]) -> list[tuple[Spent, ...]]:
    """Each side is the first in turn; the first round warms up."""
    found = []
    for number in range(ROUNDS + 1):
        order = [(number + place) % len(sides) for place in range(len(sides))]
        spent = {which: sides[which]() for which in order}
        found.append(tuple(spent[which] for which in range(len(sides))))
    return found[1:]


def compared(words: str, found: Sequence[tuple[Spent, ...]], aim: float, further: str = "") -> Figure:
    ratios = [two.cpu_each / one.cpu_each for one, two in found]
    ratio, faster = median(ratios), median(two.rate / one.rate for one, two in found)
    note = f"{min(ratios):.2f} to {max(ratios):.2f}×; {faster:.2f}× as many a second{further}"
    cost = median(two.cpu_each for _, two in found)
    return Figure(words, cost, "µs CPU", ratio, f"≤ {aim:g}×", ratio <= aim, note)


def spread_client(server: Running, connections: int, status: int) -> Client:
    """A client whose connections are spread evenly: which worker gets one is chance, and few may all go to one."""
    while True:
        client = Client(server, connections, status)
        client.ask_health()
        workers = server.workers()
        numbers = [accepted(pid, server.port) for pid in workers]
        if len(workers) < 2 or max(numbers) - min(numbers) <= max(2, connections // 8):
            return client
        client.close()


def accepted(pid: int, port: int) -> int:
    """Connections at the port that a process has."""
    ours = {
        f"socket:[{fields[9]}]"
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if (fields := line.split())[1].endswith(f":{port:04X}") and fields[3] == "01"
    }
    return sum(1 for each in Path(f"/proc/{pid}/fd").iterdir() if _link(each) in ours)


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except FileNotFoundError:
        return ""


def spread(server: Running) -> Figure:
    """Connections opened one by one, over the workers."""
    before = [accepted(pid, server.port) for pid in server.workers()]
    found = [0 for _ in before]
    for _ in range(CONNECTIONS // 100):
        opened = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
        for each in opened:
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while not each.recv(4096).endswith(b"}"):
                pass
        for place, pid in enumerate(server.workers()):
            found[place] += accepted(pid, server.port) - before[place]
        for each in opened:
            each.close()
        wait_until(lambda: [accepted(pid, server.port) for pid in server.workers()] == before)
    share = 100 * found[0] / sum(found)
    met = SPREAD[0] <= share <= SPREAD[1] and sum(found) == CONNECTIONS
    return Figure(
        f"{CONNECTIONS:,} connections opened one by one: share of the first of two workers",
        share,
        "%",
        None,
        f"{SPREAD[0]:g} to {SPREAD[1]:g} %",
        met,
        f"{found}",
    )


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def idle(server: Running) -> Figure:
    """The memory of the supervisor and its workers, what they share counted once."""
    size = sum(proportional(pid) for pid in (server.pid, *server.workers())) / 1e6
    return Figure("memory of an idle server of two workers", size, "MB", None, f"< {IDLE_AIM:g} MB", size < IDLE_AIM)


def proportional(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def gone_after_kill(home: Path) -> Figure:
    """How long workers stay, with connections open, when their supervisor is killed."""
    data = home / "killed" / "data"
    data.mkdir(parents=True)
    with ibi_up(data, workers=2) as server:
        workers = server.workers()
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
        began = time.monotonic()
        os.kill(server.pid, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
        seconds = time.monotonic() - began
        for each in held:
            each.close()
        with socket.create_server(("127.0.0.1", server.port)):
            pass
    words = "time until all workers are gone, and the port is free, after the supervisor was killed"
    return Figure(words, seconds, "s", None, f"≤ {GONE_AIM:g} s", seconds <= GONE_AIM)


def main() -> int:
    found = figures()
    print(figure_table(found))
    return 0 if all(figure.is_met for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
