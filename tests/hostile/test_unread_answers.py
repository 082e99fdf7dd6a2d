"""Clients that ask and do not read: what waits for them is bounded, and does not wait for ever."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message

from ibi.server.protocol import GuardedProtocol
from tests.support.archive_app import REP, archive_app, kept
from tests.support.running_server import RunningServer, running

LARGE = 50_000_000
MIDDLING = 2_500_000
FILES = 10_000
MOST_AT_ONCE = 256 * 1024


async def large(_: Request) -> Response:
    return Response(bytes(LARGE))


async def middling(_: Request) -> Response:
    """As much as the system would take."""
    return Response(bytes(MIDDLING))


async def last(_: Request) -> Response:
    return Response(bytes(LARGE), headers={"connection": "close"})


async def streamed(_: Request) -> Response:
    async def pieces() -> Any:
        for _ in range(LARGE // 100_000):
            yield bytes(100_000)

    return StreamingResponse(pieces())


@pytest.fixture
def server() -> Iterator[RunningServer]:
    answers = {"/large": large, "/middling": middling, "/last": last, "/streamed": streamed}
    routes = [Route(path, each) for path, each in answers.items()]
    with running(Starlette(routes=routes)) as running_server:
        yield running_server


def asking(server: RunningServer, path: str) -> socket.socket:
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(60)
    connection.connect((host, int(port)))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return connection


@pytest.mark.parametrize("path", ["/large", "/middling", "/last", "/streamed"])
def test_who_takes_nothing_is_hung_up_on(server: RunningServer, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuardedProtocol, "taking_patience", 0.1)
    with asking(server, path) as connection:
        watched = select.poll()
        watched.register(connection, 0)  # neither for reading nor for writing: only that it ends
        assert watched.poll(60_000), "the connection was kept"


@pytest.mark.parametrize("path", ["/large", "/last", "/streamed"])
def test_who_goes_on_taking_gets_all(server: RunningServer, path: str) -> None:
    with asking(server, path) as connection:
        taken = 0
        while taken < LARGE:
            piece = connection.recv(1 << 20)
            assert piece
            taken += len(piece)


# --- items of very many files ---


async def unread(path: str, version: str) -> tuple[list[Message], list[Message]]:
    """What is sent to somebody who takes the first piece and no more; and then, when they take the rest."""
    app = archive_app(kept(REP, files={f"folder/file-{number:05}": ("text/plain", b"") for number in range(FILES)}))
    sent: list[Message] = []
    stuck, goes_on = asyncio.Event(), asyncio.Event()

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) == 2:
            stuck.set()
            await goes_on.wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    target, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": version,
        "method": "GET",
        "scheme": "http",
        "path": target,
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"arq.lab.br")],
        "client": ("192.0.2.1", 1),
        "server": ("127.0.0.1", 80),
    }
    task = asyncio.ensure_future(app.app(scope, receive, send))
    await stuck.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    before = list(sent)
    goes_on.set()
    await task
    return before, sent


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("path", [f"/api/items/{REP}", f"/api/items/{REP}/files", f"/col/{REP}/metadata?format=json"])
async def test_of_a_long_list_no_more_is_made_than_is_taken(path: str, version: str) -> None:
    before, sent = await unread(path, version)
    assert len(before) == 2
    bodies = [message["body"] for message in sent[1:]]
    assert max(map(len, bodies)) <= MOST_AT_ONCE
    said = json.loads(b"".join(bodies))
    assert [file["path"] for file in said["files"]] == [f"folder/file-{number:05}" for number in range(FILES)]
