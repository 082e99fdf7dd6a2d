"""What durable minting costs: in process beside bare SQLite commits, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from statistics import median, quantiles

import uvloop

from bench.figure import Figure
from ibi.jobs.runner import JobRunner
from ibi.minting.rules.minter import Rules
from ibi.minting.service.queue import MintQueue
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.identity import Identity
from ibi.storage.connection import connect
from ibi.storage.machine import MachineClocks, machine_id

__all__ = ["figures"]

ROUNDS = 4
COMMITS = 1_000
CALLERS = (1, 8, 64, 512)
RATIO_AIM, CPU_AIM = 15.0, 15.0
NO_WAITING = Rules(wait_bound=Fraction(0))
"""A bound of 0 s: what is measured is the machine, not the patience of its callers."""


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        return [*in_process(Path(home)), *over_http(Path(home))]


def in_process(home: Path) -> Iterator[Figure]:
    """Rounds of the reference and of every number of callers in turns; the median of each."""
    commits: list[float] = []
    minted: dict[int, list[tuple[float, float]]] = {callers: [] for callers in CALLERS}
    for number in range(ROUNDS):
        commits.append(one_row_commits(home / f"reference-{number}.sqlite"))
        for callers in CALLERS:
            minted[callers].append(uvloop.run(mint(home / f"data-{number}-{callers}", callers)))
    reference = median(commits)
    latency = f"a commit takes {1e6 / reference:.0f} µs"
    yield Figure("one-row SQLite FULL commits (reference)", reference, "commits/s", 1.0, note=latency)
    for callers, rounds in minted.items():
        rate, cpu = median(rate for rate, _ in rounds), median(cpu for _, cpu in rounds)
        aimed = callers == 64
        yield Figure(
            f"durable labels, {callers} callers in process",
            rate,
            "labels/s",
            rate / reference,
            f"≥ {RATIO_AIM:g}× or ≤ {CPU_AIM:g} µs CPU" if aimed else None,
            not aimed or rate / reference >= RATIO_AIM or cpu <= CPU_AIM,
            f"{cpu:.1f} µs CPU a label",
        )


def one_row_commits(path: Path) -> float:
    """Commits a second of one row each, durable, on the same disk and with the same library."""
    with closing(connect(path, ("CREATE TABLE t (date TEXT NOT NULL)",))) as database:
        start = time.perf_counter()
        for number in range(COMMITS):
            database.execute("INSERT INTO t VALUES (?)", (f"2026/11.15.08.30.{number}",))
        return COMMITS / (time.perf_counter() - start)


async def mint(data: Path, callers: int) -> tuple[float, float]:
    """Labels a second and µs of CPU a label, when each caller asks for one label after the other and reads it."""
    each = max(20, 8_000 // callers) if callers > 1 else 1_000
    identity = Identity(f"bench-{data.name}.urlib.net", "150.163.34.243")
    locks = data.with_suffix(".locks")
    with closing(SqliteTicks(data, machine=machine_id(), lock_directory=locks)) as ticks:
        ticks.freeze(identity)
        queue = MintQueue(ticks, identity, NO_WAITING, MachineClocks())
        runner = JobRunner()
        runner.add(*queue.jobs())
        runner.start()

        async def call() -> None:
            for _ in range(each):
                share = await queue.mint(1, "bench")
                list(share.labels())

        await call()
        start, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(call() for _ in range(callers)))
        seconds, used = time.perf_counter() - start, time.process_time() - cpu
        await runner.stop()
    return callers * each / seconds, 1e6 * used / (callers * each)


def over_http(home: Path) -> Iterator[Figure]:
    """A real server in a process of its own, asked by this one over kept connections."""
    with server(home / "http") as (pid, port, token):
        for name, connections, requests, count in (
            ("single labels over HTTP, 32 connections", 32, 6_000, 1),
            ("batches of 1,000 over HTTP, 4 connections", 4, 400, 1_000),
        ):
            asyncio.run(ask(port, token, connections, requests // 10, count))
            rate, times = asyncio.run(ask(port, token, connections, requests, count))
            cuts = quantiles(times, n=100)
            note = f"p50 {1e3 * cuts[49]:.1f} ms, p99 {1e3 * cuts[98]:.1f} ms"
            yield Figure(name, rate * count, "labels/s", note=note)
        before = resident(pid)
        asyncio.run(ask(port, token, 1, 1, 1_000_000, b"application/x-ndjson"))
        peak = resident(pid, "VmHWM")
        yield Figure(
            "memory of the server at its peak, streaming 10⁶ labels", peak, "MB", note=f"{before:.1f} MB before"
        )


@contextmanager
def server(home: Path) -> Iterator[tuple[int, int, str]]:
    home.mkdir()
    variables = {"IBI_MINT_WAIT_BOUND": "0", "IBI_LOCK_DIR": str(home / "locks"), "IBI_LOG_LEVEL": "error"}
    environment = {**os.environ, "IBI_WORKERS": "1", **variables}
    ibi = [sys.executable, "-c", "from ibi.command import main; main()"]
    process = subprocess.Popen(
        [*ibi, "up", "--port", "0"], cwd=home, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)$", process.stdout.readline().strip())
        assert found, "the server did not start"
        create = [*ibi, "token", "create", "--scope", "deposit"]
        token = subprocess.run(create, cwd=home, env=environment, capture_output=True, text=True, check=True).stdout
        yield process.pid, int(found[1]), token.strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


async def ask(
    port: int, token: str, connections: int, requests: int, count: int, accept: bytes = b"application/json"
) -> tuple[float, list[float]]:
    """Requests a second, and how long each took."""
    body = json.dumps({"count": count}).encode()
    head = (
        b"POST /api/labels HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: %s\r\n"
        b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
    ) % (accept, token.encode(), len(body))
    times: list[float] = []

    async def call(share: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(share):
            start = time.perf_counter()
            writer.write(head + body)
            await read_answer(reader)
            times.append(time.perf_counter() - start)
        writer.close()
        await writer.wait_closed()

    start = time.perf_counter()
    await asyncio.gather(*(call(max(1, requests // connections)) for _ in range(connections)))
    return len(times) / (time.perf_counter() - start), times


async def read_answer(reader: asyncio.StreamReader) -> None:
    """Read one answer to its end and keep nothing of it."""
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 201"), head
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    if length:
        left = int(length[1])
        while left:
            left -= len(await reader.read(min(left, 1 << 20)))
        return
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
    await reader.readline()


def resident(pid: int, name: str = "VmRSS") -> float:
    """Megabytes of memory of a process, as Linux tells them."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")
