"""A machine and its clone: two network namespaces with one name, one address and copies of one data directory (E58)."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_IBI = [sys.executable, "-c", "from ibi.command import main; main()"]
HOST = "archive.ibi-clone.invalid"
LABELS = 300
"""Asked of each machine, one by one."""


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=30)


@contextmanager
def namespace(name: str, *addresses: str) -> Iterator[str]:
    """A network of its own with these addresses; skips where that is not allowed."""
    made = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True, timeout=30)
    if made.returncode:
        pytest.skip(f"no network namespaces here: {made.stderr.decode().strip()}")
    try:
        run("ip", "-n", name, "link", "set", "lo", "up")
        for address in addresses:
            run("ip", "-n", name, "address", "add", address, "dev", "lo")
        yield name
    finally:
        run("ip", "netns", "delete", name)


@dataclass(frozen=True)
class Machine:
    """A namespace and a directory of files that its processes see."""

    namespace: str
    home: Path
    public_url: str

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("IBI_")}
        settings = {
            "IBI_MINT_HOST": HOST,
            "IBI_MINT_SANDBOX": "true",
            "IBI_PUBLIC_URL": self.public_url,
            "IBI_DATA": str(self.home / "data"),
            "IBI_LOCK_DIR": str(self.home / "locks"),
        }
        return subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *_IBI, *arguments],
            cwd=self.home,
            env={**kept, **settings, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **variables: str) -> tuple[int, str, str]:
        out, err = (process := self.start(*arguments, **variables)).communicate(timeout=60)
        return process.returncode, out, err

    @contextmanager
    def up(self, listen: str) -> Iterator[str]:
        server = self.start("up", "--host", listen, "--port", "8765", "--log-level", "error")
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            first = server.stdout.readline()
            found = re.search(r"http://\S+", first)
            assert found, (first, server.stderr.read() if server.poll() is not None else "")
            yield found[0]
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=30)

    def mint(self, url: str, token: str, count: int) -> subprocess.Popen[str]:
        """Ask the server on this machine for labels one by one; what it answers is printed."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, sys.executable, "-c", _CLIENT, url, token, str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )


_CLIENT = """
import http.client, json, sys, urllib.parse
url, token, count = sys.argv[1:]
connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=30)
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
for _ in range(int(count)):
    connection.request("POST", "/api/labels", '{"count": 1}', headers)
    answer = json.loads(connection.getresponse().read())
    print(answer["labels"][0]["rep"] if "labels" in answer else answer["type"])
"""


def answers(client: subprocess.Popen[str]) -> list[str]:
    out, _ = client.communicate(timeout=120)
    return out.split()


@pytest.fixture
def names() -> tuple[str, str]:
    return f"ibi-a-{os.getpid()}", f"ibi-b-{os.getpid()}"


def original(tmp_path: Path, one: str, url: str) -> tuple[Machine, str]:
    """A machine that has minted before, and a token for its server."""
    machine = Machine(one, tmp_path / "a", url)
    machine.home.mkdir()
    assert machine.run("mint", "-n", "20")[0] == 0
    code, out, err = machine.run("token", "create", "--scope", "deposit")
    assert code == 0, err
    return machine, out.split()[0]


def clone_of(machine: Machine, other: str, home: Path, *, locks: bool) -> Machine:
    """Its disk, copied: the original is still there, but where the clone cannot see it."""
    shutil.copytree(machine.home / "data", home / "data", symlinks=True)
    if locks:
        shutil.copytree(machine.home / "locks", home / "locks")
    return Machine(other, home, machine.public_url)


def hide(machine: Machine) -> Machine:
    """Move a machine's files, so that a copy of them does not find the place it was copied from."""
    home = machine.home.with_name("moved")
    machine.home.rename(home)
    return Machine(machine.namespace, home, machine.public_url)


@pytest.mark.parametrize("locks", [False, True], ids=["locks lost", "locks copied"])
def test_two_machines_that_cannot_reach_each_other_mint_no_label_twice(
    tmp_path: Path, names: tuple[str, str], *, locks: bool
) -> None:
    """Each finds itself at the address that both have; only chance keeps their dates apart."""
    with namespace(names[0], "198.51.100.7/32"), namespace(names[1], "198.51.100.7/32"):
        machine, token = original(tmp_path, names[0], "http://198.51.100.7:8765")
        clone = clone_of(machine, names[1], tmp_path / "b", locks=locks)
        machine = hide(machine)
        shutil.rmtree(machine.home / "locks")  # both start anew, after a power cut
        with machine.up("198.51.100.7") as one, clone.up("198.51.100.7") as other:
            clients = machine.mint(one, token, LABELS), clone.mint(other, token, LABELS)
            labels = [label for client in clients for label in answers(client)]
    assert all(label.startswith("ibi-clone.invalid/archive/") for label in labels), labels[:3]
    assert len(set(labels)) == len(labels) == 2 * LABELS


def test_a_clone_that_reaches_the_original_mints_nothing(tmp_path: Path, names: tuple[str, str]) -> None:
    """The address leads to the original from both, which goes on as before."""
    one, other = names
    with namespace(one), namespace(other):
        run("ip", "link", "add", one, "netns", one, "type", "veth", "peer", "name", other, "netns", other)
        for name, address in ((one, "198.51.100.1/24"), (other, "198.51.100.2/24")):
            run("ip", "-n", name, "address", "add", address, "dev", name)
            run("ip", "-n", name, "link", "set", name, "up")
        machine, token = original(tmp_path, one, "http://198.51.100.1:8765")
        clone = clone_of(machine, other, tmp_path / "b", locks=False)
        machine = hide(machine)
        with machine.up("0.0.0.0") as url:
            begun = time.monotonic()
            code, out, err = clone.run("mint")
            assert (code, out) == (1, "")
            assert "Another instance mints as ibi-clone.invalid/archive at http://198.51.100.1:8765" in err
            assert time.monotonic() - begun < 30
            with clone.up("0.0.0.0") as other_url:
                clients = machine.mint(url, token, LABELS), clone.mint(other_url, token, 50)
                labels, refusals = answers(clients[0]), answers(clients[1])
                ready = subprocess.run(
                    ["ip", "netns", "exec", other, "curl", "-s", f"{other_url}/readyz"],
                    capture_output=True,
                    check=False,
                    timeout=30,
                )
        assert set(refusals) == {"urn:ibi:problem:another-instance"}
        assert len(set(labels)) == LABELS
        if ready.returncode == 0:
            assert json.loads(ready.stdout)["ready"] is False
        # Where nothing answers any more, the clone takes its place.
        code, out, err = clone.run("mint", "-n", "20")
        assert code == 0, err
        assert set(out.split()).isdisjoint(labels)
