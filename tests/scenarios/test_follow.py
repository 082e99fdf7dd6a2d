"""Two Archives in processes of their own: one follows the other, through changes, deletions and SIGKILL; and a receiver
of webhooks is told of each change, in order."""

from __future__ import annotations

import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from ibi.command.api_clients import RecordsClient
from ibi.standard.label import parse
from tests.support.ibi_command import IbiCommand

LIMIT = 30.0
"""Seconds for what takes a fraction of one."""


class Receiver:
    """Takes webhooks."""

    def __init__(self) -> None:
        self.received: Queue[tuple[dict[str, str], bytes]] = Queue()
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                received.put(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Not on the terminal."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"

    def next(self, secret: str) -> dict[str, Any]:
        """The data of the next delivery, whose signature is right."""
        fields, body = self.received.get(timeout=LIMIT)
        key = b64decode(secret.removeprefix("whsec_"))
        signed = f"{fields['webhook-id']}.{fields['webhook-timestamp']}.".encode() + body
        expected = b64encode(hmac.new(key, signed, sha256).digest()).decode()
        assert fields["webhook-signature"] == f"v1,{expected}"
        found: dict[str, Any] = json.loads(body)["data"]
        return found


@contextmanager
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


class Source:
    """The Archive that is followed, changed over its API."""

    def __init__(self, command: IbiCommand, url: str) -> None:
        self.token, self.url = run(command, "token", "create", "--scope", "admin").strip(), url
        self.client = RecordsClient(url, self.token)

    def deposit(self, title: str) -> str:
        made = self.client.deposit({"metadata": {"title": title}}, {"file.txt": title.encode()}, None)
        return str(made["rep"])

    def update(self, label: str, title: str, folder: Path) -> None:
        draft = self.client.begin_update(parse(label))["id"]
        self.client.describe(draft, {"metadata": {"title": title}})
        file = folder / "file.txt"
        file.write_text(title)
        self.client.upload(draft, "file.txt", file, lambda _: None)
        self.client.publish(draft)


def run(command: IbiCommand, *arguments: str) -> str:
    done = command(*arguments)
    assert done.code == 0, done
    return done.out


def get(url: str, path: str) -> tuple[int, bytes]:
    place = urlsplit(url)
    with closing(HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def test_copies_stay_what_their_originals_are_across_the_death_of_the_follower(tmp_path: Path) -> None:
    commands = [IbiCommand(tmp_path / name, log=tmp_path / f"{name}.log") for name in ("source", "follower")]
    for command in commands:
        command.home.mkdir()
    with ExitStack() as opened:
        told = opened.enter_context(receiver())
        source = Source(commands[0], opened.enter_context(commands[0].up())[1])
        first = source.deposit("first")
        secret = json.loads(run(commands[0], "webhook", "add", told.url, "--json"))["secret"]

        with commands[1].up("--log-level", "info") as (server, url):
            wanted = ("--all", "--from", source.url, "--token", source.token)
            assert json.loads(run(commands[1], "follow", *wanted, "--json"))["is_new"]

            def content(label: str, where: str = url) -> str:
                return get(where, f"/api/items/{label}/files/file.txt")[1].decode()

            until(lambda: content(first) == "first")
            assert json.loads(get(url, f"/api/items/{first}")[1])["state"] == "Copy"
            source.update(first, "second", tmp_path)
            until(lambda: content(first) == "second")
            later = [source.deposit(f"item {number}") for number in range(4)]
            until(lambda: content(later[0]) == "item 0")
            server.kill()
            server.wait(LIMIT)
        source.client.delete(parse(first), "withdrawn", None, purge=False)
        assert [told.next(secret)["label"] for _ in range(6)] == [first, *later, first]

        with commands[1].up("--log-level", "info") as (_, url):
            until(lambda: all(content(label, url) == f"item {number}" for number, label in enumerate(later)))
            until(lambda: b"withdrawn" in get(url, f"/api/items/{first}")[1])
            assert content(first, url) == "second"
            while (listed := json.loads(run(commands[1], "follow", "list", "--json")))["behind"]:
                time.sleep(0.02)
        assert (listed["items"]["copy"], listed["items"]["deleted"], listed["has_token"]) == (4, 1, True)
        assert source.token not in commands[1].log_text + json.dumps(listed)
        assert "up to date" in run(commands[0], "webhook", "list")
