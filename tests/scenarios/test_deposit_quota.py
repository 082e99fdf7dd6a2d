"""A real server that bounds what a depositor has in drafts: while much is sent at once, and after it was killed."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from subprocess import Popen
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.ibi_command import IbiCommand

BOUNDS = {"IBI_ARCHIVE_MOST_DRAFTS": "3", "IBI_ARCHIVE_MOST_DRAFT_BYTES": "10 MB"}
MB = 1_000_000


@dataclass
class Sender:
    """Somebody with a token and a program of their own."""

    url: str
    token: str

    def connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname
        return HTTPConnection(parts.hostname, parts.port, timeout=60)

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        with closing(self.connection()) as connection:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content else None

    def begin(self) -> str:
        status, draft = self.ask("POST", "/api/items", b'{"metadata": {"title": "t"}}')
        assert status == 201, draft
        return f"/api/items/{draft['id']}"

    def put(self, place: str, announced: int, **headers: str) -> HTTPConnection:
        """A connection on which a file of so many bytes was announced, and none was sent."""
        connection = self.connection()
        connection.putrequest("PUT", place)
        for name, value in {"Authorization": f"Bearer {self.token}", "Content-Length": str(announced)}.items():
            connection.putheader(name, value)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection

    def quota(self) -> tuple[int, int]:
        found = self.ask("GET", "/api/items?state=draft")[1]["quota"]
        assert (found["most_drafts"], found["most_size"]) == (3, 10 * MB)
        return found["drafts"], found["size"]

    def await_quota(self, drafts: int, size: int) -> None:
        """The server sees in its own time what happens to a connection."""
        deadline = time.monotonic() + 30
        while (found := self.quota()) != (drafts, size):
            assert time.monotonic() < deadline, found


@contextmanager
def serving(command: IbiCommand, *arguments: str, **bounds: str) -> Iterator[tuple[Popen[str], Sender]]:
    with command.up(*arguments, **BOUNDS, **bounds) as (server, url):
        yield server, Sender(url, "")


def with_token(command: IbiCommand, sender: Sender, scope: str = "deposit") -> Sender:
    created = command("token", "create", "--scope", scope, "--name", "ana", "--data", str(command.data))
    assert created.code == 0, created
    sender.token = created.out.strip()
    return sender


@pytest.fixture
def command(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


def test_what_is_sent_at_once_is_never_too_much_together(command: IbiCommand) -> None:
    with serving(command) as (_, sender):
        with_token(command, sender)
        drafts = [sender.begin() for _ in range(3)]
        statuses: list[int] = []
        start = threading.Barrier(12)

        def send(number: int) -> None:
            start.wait()
            status, _ = sender.ask("PUT", f"{drafts[number % 3]}/files/{number}.bin", b"x" * (2 * MB))
            statuses.append(status)

        threads = [threading.Thread(target=send, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [201] * 5 + [413] * 7
        assert sender.quota() == (3, 10 * MB)
        assert sum(path.stat().st_size for path in command.data.glob("drafts/*/bytes/*")) == 10 * MB


def test_the_way_out_of_a_full_quota(command: IbiCommand, tmp_path: Path) -> None:
    with serving(command) as (_, sender):
        with_token(command, sender)
        drafts = [sender.begin() for _ in range(3)]
        assert sender.ask("PUT", f"{drafts[0]}/files/a.bin", b"x" * (9 * MB))[0] == 201
        status, problem = sender.ask("POST", "/api/items", b"{}")
        assert (status, problem["type"]) == (409, "urn:ibi:problem:too-many-drafts")
        (tmp_path / "large.txt").write_text("x" * (600 << 10))  # a small one needs no draft
        refused = command(
            "deposit", str(tmp_path / "large.txt"), "--title", "t", IBI_SERVER=sender.url, IBI_TOKEN=sender.token
        )
        assert (refused.code, refused.err.count("\n")) == (1, 1)
        assert "publish or discard one of them" in refused.err
        listed = sender.ask("GET", "/api/items?state=draft")[1]["drafts"]
        large = max(listed, key=lambda draft: draft["size"])
        assert (large["size"], large["updated"] >= large["created"]) == (9 * MB, True)
        assert sender.ask("DELETE", urlsplit(large["links"]["self"]).path)[0] == 204
        assert sender.quota() == (2, 0)
        assert sender.ask("PUT", f"{drafts[1]}/files/b.bin", b"x" * (10 * MB))[0] == 201


def test_a_file_too_large_is_refused_before_it_is_sent(command: IbiCommand) -> None:
    with serving(command) as (_, sender):
        draft = with_token(command, sender).begin()
        with closing(sender.put(f"{draft}/files/a.bin", 10 * MB + 1, Expect="100-continue")) as connection:
            answer = connection.getresponse()
            problem = json.loads(answer.read())
        assert (answer.status, problem["type"]) == (413, "urn:ibi:problem:drafts-too-large")
        assert sender.quota() == (1, 0)


def test_the_command_tells_why_and_leaves_no_draft_behind(command: IbiCommand, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(b"x" * (30 * MB))
    with serving(command) as (_, sender):
        with_token(command, sender)
        refused = command(
            "deposit", str(tmp_path / "large.bin"), "--title", "t", IBI_SERVER=sender.url, IBI_TOKEN=sender.token
        )
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
        assert "more than the 10000000 that this Archive keeps of one depositor" in refused.err
        assert sender.quota() == (0, 0)


def test_a_connection_that_breaks_gives_its_room_back(command: IbiCommand) -> None:
    with serving(command) as (_, sender):
        draft = with_token(command, sender).begin()
        coming = sender.put(f"{draft}/files/a.bin", 10 * MB)
        coming.send(b"x" * MB)
        sender.await_quota(1, 10 * MB)
        assert sender.ask("PUT", f"{draft}/files/b.bin", b"x")[0] == 413
        coming.close()
        sender.await_quota(1, 0)
        assert sender.ask("PUT", f"{draft}/files/b.bin", b"x" * (10 * MB))[0] == 201


def test_the_figures_are_there_after_a_kill(command: IbiCommand) -> None:
    with serving(command) as (server, sender):
        draft = with_token(command, sender).begin()
        assert sender.ask("PUT", f"{draft}/files/a.bin", b"x" * (7 * MB))[0] == 201
        half = sender.put(f"{draft}/files/half.bin", 3 * MB)
        half.send(b"x" * (2 * MB))
        sender.await_quota(1, 10 * MB)
        server.send_signal(signal.SIGKILL)
        server.wait()
        half.close()
    with serving(command, "--port", str(urlsplit(sender.url).port)) as (_, again):
        again.token = sender.token
        assert again.quota() == (1, 7 * MB)
        status, problem = again.ask("PUT", f"{draft}/files/b.bin", b"x" * (4 * MB))
        assert (status, "hold 7000000 bytes" in problem["detail"]) == (413, True)
        assert again.ask("PUT", f"{draft}/files/b.bin", b"x" * (3 * MB))[0] == 201
        assert again.ask("POST", f"{draft}/publish")[0] == 201
        assert again.quota() == (0, 0)


def test_a_disk_without_room_to_spare_refuses_and_says_so(command: IbiCommand) -> None:
    with serving(command, IBI_ARCHIVE_DISK_RESERVE="900000 TB") as (_, sender):
        with_token(command, sender, "admin")
        status, problem = sender.ask("POST", "/api/items", b"{}")
        assert (status, problem["type"]) == (507, "urn:ibi:problem:disk-nearly-full")


def test_an_announcement_alone_leaves_the_quota_to_what_comes(command: IbiCommand) -> None:
    bounds = {"IBI_ARCHIVE_MOST_DRAFT_BYTES": "60 MB"}
    with command.up(**bounds) as (_, url):
        sender = with_token(command, Sender(url, ""))
        draft = sender.begin()
        with closing(sender.put(f"{draft}/files/large.bin", 50 * MB)) as announced:
            assert announced.sock is not None
            announced.sock.sendall(b"x" * MB)
            status, told = sender.ask("PUT", f"{draft}/files/other.bin", b"x" * (30 * MB))
            assert status == 201, told
