"""Backup and restore with real processes: a server that goes on depositing, folders and buckets, and what goes wrong.

`SOAK_BACKUP_LOAD=200` keeps up so many deposits a second for as long as a backup takes.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import closing, suppress
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from ibi.command.api_clients import RecordsClient
from ibi.net.errors import ServerUnreachable
from ibi.standard.label import parse
from tests.scenarios.test_follow import get, run, until
from tests.support.bucket import bucket
from tests.support.ibi_command import IbiCommand, Outcome

# No public name has it, so that nothing on the Internet is asked.
IDENTITY = {"IBI_MINT_HOST": "archive.ibi-backup.invalid", "IBI_MINT_SANDBOX": "true"}
RATE = int(os.environ.get("SOAK_BACKUP_LOAD", "0"))
CALLERS = 24 if RATE else 4
_HASTE = 1.05
"""How much faster than that it is tried: what waits at one moment is made up for at the next."""


class Sender:
    """Deposits items on one connection, which is kept, with as little work of its own as can be: where a rate is to be
    kept up, the server is to be measured."""

    def __init__(self, url: str, token: str) -> None:
        where = urlsplit(url)
        self._socket = create_connection((str(where.hostname), where.port or 80), 60)
        self._socket.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")
        self._head = (
            f"POST /api/items HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {token}\r\n"
            "Accept: application/json\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: "
        )

    def deposit(self, text: str) -> str:
        """The label of an item with this title and content. `OSError` if the server is gone."""
        said = f'--b\r\nContent-Disposition: form-data; name="item"\r\n\r\n{{"metadata": {{"title": "{text}"}}}}\r\n'
        file = 'Content-Disposition: form-data; name="file"; filename="file.txt"\r\nContent-Type: text/plain'
        body = f"{said}--b\r\n{file}\r\n\r\n{text}\r\n--b--\r\n"
        self._socket.sendall(f"{self._head}{len(body)}\r\n\r\n{body}".encode("ascii"))
        status, size = self._answers.readline(), 0
        while (line := self._answers.readline()) not in (b"\r\n", b""):
            if line[:15].lower() == b"content-length:":
                size = int(line[15:])
        answer = self._answers.read(size)
        found = re.search(rb'"rep": ?"([^"]+)"', answer)
        if b" 201 " not in status or found is None:
            raise OSError(f"{status!r} {answer!r}")
        return found[1].decode("ascii")

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


class Depositors:
    """Deposit over the API until they are stopped, or the server is gone, and keep what was acknowledged."""

    def __init__(self, url: str, token: str, callers: int = CALLERS) -> None:
        self.acknowledged: list[str] = []
        self._url, self._token, self._lock, self._stopped = url, token, Lock(), Event()
        self.begun = time.monotonic()
        deposit = self._deposit_at_rate if RATE else self._deposit
        self._threads = [Thread(target=deposit, args=(number,), daemon=True) for number in range(callers)]
        for thread in self._threads:
            thread.start()

    def _deposit(self, number: int) -> None:
        client, turn = RecordsClient(self._url, self._token), 0
        while not self._stopped.is_set():
            turn += 1
            text = f"item {number} {turn}"
            try:
                made = client.deposit({"metadata": {"title": text}}, {"file.txt": text.encode()}, None)
            except ServerUnreachable:
                return
            with self._lock:
                self.acknowledged.append(str(made["rep"]))

    def _deposit_at_rate(self, number: int) -> None:
        """One item a request, at the rate that was asked for, or as fast as the server takes them."""
        turn, pace = 0, len(self._threads) / (RATE * _HASTE)
        with suppress(OSError), closing(Sender(self._url, self._token)) as sender:
            while not self._stopped.is_set():
                turn += 1
                label = sender.deposit(f"item {number} {turn}")
                with self._lock:
                    self.acknowledged.append(label)
                self._stopped.wait(max(0.0, turn * pace - (time.monotonic() - self.begun)))

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)


def ibi_in(folder: Path) -> IbiCommand:
    folder.mkdir(exist_ok=True)
    return IbiCommand(folder, log=folder / "server.log")


def json_of(done: Outcome, code: int = 0) -> dict[str, Any]:
    assert done.code == code, done
    found: dict[str, Any] = json.loads(done.out.splitlines()[0])
    return found


def complaint(done: Outcome) -> str:
    """The one line of a refusal."""
    assert (done.code, done.out) == (1, ""), done
    (line,) = done.err.splitlines()
    return line


def make_items(ibi: IbiCommand, count: int) -> list[str]:
    assert ibi("archive", "init", **IDENTITY).code == 0
    labels = []
    for number in range(count):
        (ibi.home / "file.txt").write_text(f"text {number}")
        labels.append(json_of(ibi("deposit", "--title", f"T{number}", "--json", "file.txt", **IDENTITY))["rep"])
    return labels


def test_what_was_acknowledged_before_a_backup_under_load_is_put_back_and_resolves(tmp_path: Path) -> None:
    ibi = ibi_in(tmp_path / "home")
    with ibi.up(**IDENTITY) as (server, url):
        token = run(ibi, "token", "create", "--scope", "deposit").strip()
        load = Depositors(url, token)
        until(lambda: len(load.acknowledged) >= (10 * RATE or 30))
        before = list(load.acknowledged)
        own_work = time.process_time()
        made = json_of(ibi("backup", "../backup", "--check", "--json"))
        own_work = time.process_time() - own_work
        at_end = len(load.acknowledged)
        rate = at_end / (time.monotonic() - load.begun)
        until(lambda: len(load.acknowledged) >= at_end + 10)
        minted = json_of(ibi("mint", "--json", IBI_SERVER=url, IBI_TOKEN=token))["rep"]
        load.stop()
        server.terminate()
        server.wait(30)
    if RATE:
        meanwhile = at_end - len(before)
        cost = 1e3 * own_work / max(1, meanwhile)
        print(f"{rate:.0f} deposits a second beside a backup of {made['items']} items, {meanwhile} meanwhile,")
        print(f"of which each cost the sender {cost:.2f} ms of a processor")
    ibi.data.rename(tmp_path / "old")
    done = json_of(ibi("restore", "../backup", "--old", "../old", "--json", **IDENTITY))
    assert done["items"] == made["items"] >= len(before) + 1
    assert json_of(ibi("verify", "--json"))["damaged"] == 0
    kept = {json.loads(line)["rep"] for line in ibi("list", "--json").out.splitlines()}
    assert set(before) <= kept
    assert set(done["newer"]) == set(load.acknowledged) - kept
    with ibi.up(**IDENTITY) as (_, url):
        for label in before[: 50 if RATE else None]:
            assert get(url, f"/{label}")[0] in (302, 303, 307)
        first = json_of(ibi("mint", "--json", **IDENTITY))["rep"]
    assert parse(first).instant > max(parse(label).instant for label in (*load.acknowledged, minted))


def test_each_refusal_is_one_line_and_an_interrupted_restore_holds_every_command_up(tmp_path: Path) -> None:
    ibi = ibi_in(tmp_path / "home")
    (label,) = make_items(ibi, 1)
    assert "2 items" in run(ibi, "backup", "../backup")
    assert "is not empty" in complaint(ibi("restore", "../backup"))
    assert "--version N" in complaint(ibi("restore", label, "--data", "new"))
    assert "ibi: " in complaint(ibi("restore", "../backup", "--data", "new", "--issued-until", "tomorrow"))
    file = next((tmp_path / "backup" / "items" / label).rglob("*.tar"))
    file.write_bytes(file.read_bytes().replace(b"text 0", b"tExt 0"))
    checked = ibi("backup", "../backup", "--check-only")
    assert (checked.code, checked.err.count(file.name)) == (1, 1)
    assert "1 parts are damaged" in checked.out
    refused = ibi("restore", "../backup", "--data", "new")
    assert (refused.code, refused.out) == (1, "")
    assert "--without-damaged" in refused.err.splitlines()[-1]
    assert "not restored to its end" in complaint(ibi("list", "--data", "new"))
    assert "not restored to its end" in complaint(ibi("up", "--port", "0", "--data", "new"))
    file.unlink()
    assert json_of(ibi("backup", "../backup", "--json"))["new_versions"] == 1
    assert f"ibi: {label}" not in run(ibi, "restore", "../backup", "--data", "new")
    assert label in run(ibi, "list", "--data", "new")


def test_damaged_parts_are_left_out_of_a_restore_or_written_again(tmp_path: Path) -> None:
    ibi = ibi_in(tmp_path / "home")
    first, second, third = make_items(ibi, 3)
    run(ibi, "backup", "../backup")
    own = json.loads((ibi.data / "archive.json").read_text())["service"]["rep"]
    for label in (own, first, second):
        for file in (tmp_path / "backup" / "items" / label).rglob("*.tar"):
            file.write_bytes(b"not what was written")
    done = json_of(ibi("restore", "../backup", "--data", "new", "--without-damaged", "--json"), 1)
    assert (done["items"], done["left_out"], done["left_out_files"]) == (2, [first, second], [])
    kept = [json.loads(line)["rep"] for line in run(ibi, "list", "--data", "new", "--json").splitlines()]
    assert kept == [third, own]
    told = ibi("doctor", "--data", "new", "--offline", "--json").out
    found = [json.loads(line) for line in told.splitlines()[:-1]]
    assert [each["check"] for each in found if each["level"] != "advice"] == ["left-out"]
    assert first in told
    assert second in told
    mended = ibi("backup", "../backup", "--check")
    assert (mended.code, mended.err.count("ibi: damaged: ")) == (1, 3)
    assert "3 parts were damaged or missing, and were written again" in mended.out
    assert ibi("backup", "../backup", "--check").code == 0
    assert json_of(ibi("restore", "../backup", "--data", "whole", "--json"))["items"] == 4


@pytest.mark.xdist_group("bucket")
def test_a_bucket_keeps_a_backup_as_a_folder_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ibi = ibi_in(tmp_path / "home")
    with bucket(monkeypatch) as place:
        first, second = make_items(ibi, 2)
        (ibi.home / "large.bin").write_bytes(os.urandom(20 << 20))  # sent in several parts
        large = json_of(ibi("deposit", "--title", "Large", "--json", "large.bin", **IDENTITY))["rep"]
        made = json_of(ibi("backup", place, "--check", "--json"))
        assert (made["items"], made["new_versions"]) == (4, 4)
        run(ibi, "delete", second, "--reason", "withdrawn", "--purge")
        again = json_of(ibi("backup", place, "--json"))
        assert (again["new_versions"], again["removed"] > 2) == (1, True)
        ibi.data.rename(tmp_path / "old")
        assert json_of(ibi("restore", place, "--json"))["items"] == 4
        assert json_of(ibi("verify", "--json")) == {"items": 4, "damaged": 0}
        assert {first, large} <= set(run(ibi, "list").split())
        assert "s3://no-such-bucket/x could not be used" in complaint(ibi("backup", "s3://no-such-bucket/x"))
        # What is damaged is noticed while it is sent.
        file = next((ibi.data / "store" / large).rglob("large.bin"))
        with file.open("r+b") as opened:
            opened.seek(19 << 20)
            opened.write(b"damage")
        assert json_of(ibi("backup", f"{place}-other", "--json"), 1)["damaged"] == [large]
