"""Persistent links at a resolver: a redirect beside the one that nginx gives without knowing anything."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

from bench.figure import Figure
from bench.serving import IBI, Client, Running, ibi_up, nginx

__all__ = ["figures"]

ROUNDS: Final = 5
CONNECTIONS: Final = 32
REQUESTS: Final = 4_000
AIM: Final = 20.0


def figures() -> Sequence[Figure]:
    with tempfile.TemporaryDirectory() as place:
        return tuple(redirects(Path(place)))


def redirects(home: Path) -> Iterator[Figure]:
    """Of an item that is kept by the Archive of the same process; the acknowledgment of each is part of the price."""
    data = home / "data"
    with ibi_up(data) as server, ExitStack() as stack:
        label, url = deposited(home, data)
        reference = stack.enter_context(nginx(home / "nginx", home, f"location / {{ return 302 {url}; }}"))
        asked = [client(stack, each) for each in (server, reference) if each is not None]
        target = f"/{label}".encode()
        for each in asked:
            each.ask([target] * CONNECTIONS)
        rounds = [[each.ask([target] * REQUESTS).cpu_each for each in asked] for _ in range(ROUNDS)]
    ours, *others = (median(times) for times in zip(*rounds, strict=True))
    for theirs in others:
        yield Figure("redirect, nginx `return 302` (reference)", theirs, "µs CPU", 1.0)
    if not others:
        yield Figure("redirect of a known link", ours, "µs CPU", note="no nginx on this machine to compare with")
        return
    ratio = ours / others[0]
    yield Figure("redirect of a known link", ours, "µs CPU", ratio, f"≤ {AIM:g}×", ratio <= AIM, "thanks included")


def client(stack: ExitStack, server: Running) -> Client:
    return stack.enter_context(Client(server, CONNECTIONS, status=302))


def deposited(home: Path, data: Path) -> tuple[str, str]:
    """The label of a small item, and where it is."""
    (home / "a.txt").write_text("text", encoding="utf-8")
    environment = {**os.environ, "IBI_LOCK_DIR": str(home / "locks"), "IBI_DATA": str(data)}
    environment |= {"IBI_MINT_HOST": "mtc-m18.sid.inpe.br", "IBI_MINT_IP": "150.163.34.243"}
    command = [*IBI, "deposit", "a.txt", "--title", "A", "--json"]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    return made["ibip"], made["url"]
