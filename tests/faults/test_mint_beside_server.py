"""Eight commands and a server on one data directory, many labels between them: with `SOAK_LABELS=1` a million."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import ibi
from tests.faults.test_mint_server_kills import NO_WAITING, on_record
from tests.support.ibi_command import IbiCommand

IN_ALL = 1_000_000 if os.environ.get("SOAK_LABELS") else 100_000
COMMANDS = 8
BY_COMMAND = IN_ALL * 11 // 100
BY_SERVER = IN_ALL * 12 // 100
BATCH = 1_000


def test_very_many_labels_and_no_two_alike(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path)
    command.data.mkdir()
    token = command("token", "create", "--scope", "deposit").out.strip()
    with command.up(**NO_WAITING) as (_, url), ThreadPoolExecutor(COMMANDS + 1) as together:
        minting = [together.submit(by_command, command) for _ in range(COMMANDS)]
        minting.append(together.submit(by_server, url, token))
        minted = [each.result() for each in minting]
    everything = [label for labels in minted for label in labels]
    assert len(everything) == COMMANDS * BY_COMMAND + BY_SERVER == IN_ALL
    assert len(set(everything)) == IN_ALL
    assert len(on_record(command.data) - set(everything)) == 1  # the Archive's own service
    assert set(everything) <= on_record(command.data)
    for labels in minted:
        ends = [ibi.parse(label) for label in labels[::BATCH]]
        assert ends == sorted(ends)


def by_command(command: IbiCommand) -> list[str]:
    outcome = command("mint", "-n", str(BY_COMMAND), **NO_WAITING)
    assert outcome.code == 0, outcome.err
    return [line.split()[0] for line in outcome.out.splitlines()]


def by_server(url: str, token: str) -> list[str]:
    parts = urlsplit(url)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    labels: list[str] = []
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
        for _ in range(BY_SERVER // BATCH):
            connection.request("POST", "/api/labels", json.dumps({"count": BATCH}), headers)
            answer = connection.getresponse()
            content = json.loads(answer.read())
            assert answer.status == 201, content
            labels += [label["rep"] for label in content["labels"]]
    return labels
