"""The whole server killed under load, again and again: what it acknowledged is unique, increasing and on record."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import ibi
from ibi.minting.rules.mint_log import verify
from tests.support.ibi_command import IbiCommand

# `make soak` sets it to 1,000.
KILLS = int(os.environ.get("SOAK_KILLS", "20"))
CALLERS = 8
ACKNOWLEDGED_BEFORE_KILL = 40
NO_WAITING = {"IBI_MINT_WAIT_BOUND": "0", "IBI_MINT_HOST": "kills.urlib.net", "IBI_MINT_IP": "150.163.34.243"}


class Load:
    """Callers that ask for labels one after the other until the server is gone, and keep what it acknowledged."""

    def __init__(self, url: str, token: str, seed: int) -> None:
        self.url, self.token, self.seed = url, token, seed
        self.acknowledged: list[list[str]] = []
        self.enough = threading.Event()
        self._lock = threading.Lock()

    def run(self, kill: signal.Signals, pid: int) -> None:
        with ThreadPoolExecutor(CALLERS) as callers:
            calls = [callers.submit(self._call, number) for number in range(CALLERS)]
            assert self.enough.wait(120), "the server answered nobody"
            os.kill(pid, kill)
            for call in calls:
                call.result()

    def _call(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        parts = urlsplit(self.url)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
                while True:
                    body = json.dumps({"count": chance.choice([1, 1, 1, 7, 100])})
                    connection.request("POST", "/api/labels", body, headers)
                    answer = connection.getresponse()
                    content = json.loads(answer.read())
                    assert answer.status == 201, content
                    self._acknowledge([label["rep"] for label in content["labels"]])
        except (OSError, HTTPException):
            return

    def _acknowledge(self, labels: list[str]) -> None:
        with self._lock:
            self.acknowledged.append(labels)
            if len(self.acknowledged) >= ACKNOWLEDGED_BEFORE_KILL:
                self.enough.set()


def test_no_acknowledged_label_is_lost_or_given_twice(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path)
    command.data.mkdir()
    token = command("token", "create", "--scope", "deposit").out.strip()
    lives: list[list[list[str]]] = []
    for life in range(KILLS):
        with command.up(**NO_WAITING) as (server, url):
            load = Load(url, token, life)
            load.run(signal.SIGKILL, server.pid)
            assert server.wait(30) == -signal.SIGKILL
        lives.append(load.acknowledged)
    labels = [label for acknowledged in lives for answer in acknowledged for label in answer]
    assert len(labels) == len(set(labels))
    assert len(labels) >= KILLS * ACKNOWLEDGED_BEFORE_KILL
    assert_increasing(lives)
    assert set(labels) <= on_record(command.data)
    assert command("mint", "--verify-log", **NO_WAITING).code == 0


def assert_increasing(lives: list[list[list[str]]]) -> None:
    """Within an answer, and from one life of the server to the next."""
    latest = None
    for acknowledged in lives:
        answers = [[ibi.parse(label) for label in answer] for answer in acknowledged]
        assert all(answer == sorted(answer) for answer in answers)
        assert latest is None or latest < min(answer[0] for answer in answers)
        latest = max(answer[-1] for answer in answers)


def on_record(data: Path) -> set[str]:
    """Every label that the mint log tells of, worked out from it alone."""
    recorded: set[str] = set()
    for entry in verify((data / "mint" / "mint.log").read_bytes().splitlines()):
        batch = entry.batch()
        if batch is not None:
            dates = batch.ticks().dates()
            recorded |= {str(ibi.RepositoryName.from_parts(entry.identity.host, 80, date)) for date in dates}
    return recorded
