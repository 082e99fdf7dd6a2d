"""A server whose databases were lost or damaged, as its operator and its readers see it: real processes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from ibi.storage.locks import FileItemLocks
from tests.support.damage import WAYS, remove_logs
from tests.support.ibi_command import IbiCommand

IDENTITY = {
    "IBI_MINT_HOST": "ibi.localhost",
    "IBI_MINT_IP": "127.0.0.1",
    "IBI_MINT_HOST_PORT": "8765",
    "IBI_MINT_IP_PORT": "8765",
    "IBI_MINT_SANDBOX": "true",
}


class Site:
    """A data directory with an item and a token, and a server on it."""

    def __init__(self, home: Path) -> None:
        self.command = IbiCommand(home)
        self.data = self.command.data
        self.older = home / "older"
        self.token = self.rep = ""

    def run(self, *arguments: str) -> str:
        outcome = self.command(*arguments, **IDENTITY)
        assert outcome.code == 0, outcome
        return outcome.out

    @contextmanager
    def up(self) -> Iterator[tuple[subprocess.Popen[str], str]]:
        with self.command.up(**IDENTITY) as running:
            yield running

    def refusal(self) -> str:
        """What a start says that is refused: one line, and nothing else."""
        outcome = self.command("up", "--port", "0", **IDENTITY)
        assert (outcome.code, outcome.out) == (1, "")
        (line,) = outcome.err.splitlines()
        return line


def ask(url: str, token: str = "") -> tuple[int, Any]:
    request = urllib.request.Request(url, data=b'{"count": 1}' if token else None)
    if token:
        request.add_header("authorization", f"Bearer {token}")
        request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One that a server has run on. A copy of it would be refused, so each test puts right what it damages."""
    site = Site(tmp_path_factory.mktemp("home"))
    site.data.mkdir()
    site.token = site.run("token", "create", "--scope", "deposit").strip()
    with site.up():
        pass
    shutil.copy(site.data / "catalogue.sqlite", site.older)
    (site.data.parent / "a.txt").write_text("content")
    made = json.loads(site.run("deposit", str(site.data.parent / "a.txt"), "--title", "T", "--json"))
    site.rep = made["rep"]
    return site


@contextmanager
def damaged(path: Path, way: str, other: Path) -> Iterator[None]:
    content = path.read_bytes()
    WAYS[way](path, other)
    try:
        yield
    finally:
        remove_logs(path)
        path.write_bytes(content)


def test_while_the_catalogue_is_made_anew_nothing_is_said_to_be_unknown(site: Site) -> None:
    """It takes as long as this test holds the lock of an item. What is counted is damaged too, and stops nothing."""
    WAYS["emptied"](site.data / "catalogue.sqlite", site.data)
    WAYS["text"](site.data / "usage.sqlite", site.data)
    with ExitStack() as held:
        locks = held.enter_context(closing(FileItemLocks(site.data / "item-locks")))
        release = held.enter_context(ExitStack())
        release.enter_context(locks.hold(site.rep))
        server = site.command.start("up", "--port", "0", "--log-level", "warning", "--log-format", "json", **IDENTITY)
        held.callback(server.communicate, timeout=30)
        held.callback(server.send_signal, signal.SIGTERM)
        assert server.stderr is not None
        assert server.stdout is not None
        assert "made anew" in json.loads(server.stderr.readline())["event"]
        url = f"http://127.0.0.1:{listening_port(server.pid)}"
        assert ask(f"{url}/healthz")[0] == 200
        status, said = ask(f"{url}/readyz")
        assert (status, said["reasons"][0]["code"]) == (503, "server-starting")
        assert said["progress"]["read"] < said["progress"]["items"]
        status, said = ask(f"{url}/{site.rep}")
        assert (status, said["type"]) == (503, "urn:ibi:problem:server-starting")
        release.close()
        assert url in server.stdout.readline()
        assert ask(f"{url}/readyz")[0] == 200
        assert ask(f"{url}/api/items/{site.rep}")[0] == 200
        assert ask(f"{url}/api/labels", "ibi_abcdefgh_wrong")[0] == 401
    assert len(list(site.data.glob("usage.sqlite.damaged-*"))) == 1


def listening_port(process: int) -> int:
    """The port that a process listens on, before it says so."""
    inodes = set()
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            target = str(link.readlink())
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in inodes:
            return int(fields[1].rpartition(":")[2], 16)
    raise AssertionError("it does not listen")


def test_an_older_catalogue_after_a_crash_loses_no_item(site: Site) -> None:
    with site.up() as (server, url):
        assert ask(f"{url}/api/labels", site.token)[0] == 201
        server.kill()
        server.wait()
    for end in ("-wal", "-shm"):
        (site.data / f"catalogue.sqlite{end}").unlink(missing_ok=True)
    shutil.copy(site.older, site.data / "catalogue.sqlite")
    with site.up() as (_, url):
        assert ask(f"{url}/readyz")[0] == 200
        assert ask(f"{url}/api/items/{site.rep}")[0] == 200


@pytest.mark.parametrize(
    ("name", "way", "step"),
    [
        ("state.sqlite", "emptied", "ibi rebuild --empty state"),
        ("state.sqlite", "another", "state-copies/"),
        ("state.sqlite", "halved", "from a backup"),
        ("mint/ticks.sqlite", "first page", "made anew from mint.log"),
    ],
)
def test_a_start_is_refused_with_what_to_do(site: Site, name: str, way: str, step: str) -> None:
    with damaged(site.data / name, way, site.data / "usage.sqlite"):
        said = site.refusal()
    assert str(Path("ibi-data", name)) in said
    assert step in said


def test_accounts_that_vanish_under_a_server_are_not_wrong_tokens(site: Site) -> None:
    with site.up() as (_, url):
        assert (ask(f"{url}/api/labels", site.token)[0], ask(f"{url}/readyz")[0]) == (201, 200)
        WAYS["emptied"](site.data / "state.sqlite", site.data)
        status, said = ask(f"{url}/api/labels", site.token)
        assert (status, said["type"]) == (503, "urn:ibi:problem:store-damaged")
        deadline = monotonic() + 30
        while (answer := ask(f"{url}/readyz"))[0] == 200:  # for a second, the answer from before stands
            assert monotonic() < deadline
        status, said = answer
        assert (status, [each["code"] for each in said["reasons"]]) == (503, ["store-damaged"])
        assert str(site.data) not in str(said)
    outcome = site.command("token", "list", **IDENTITY)
    assert (outcome.code, len(outcome.err.splitlines())) == (1, 1)
    assert "state begins empty" in site.run("rebuild", "--empty", "state")
    assert site.run("token", "list") == ""
