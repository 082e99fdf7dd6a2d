"""A server on a real socket: its bounds, and how it starts and stops."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ibi.server.protocol import MOST_HEAD, GuardedProtocol
from ibi.server.server import AddressInUse, AddressUnusable, Server, listen, url_of
from tests.support.minting_app import made
from tests.support.running_server import RunningServer, running

ROOT = Path(__file__).parents[2]


def exchange(server: RunningServer, request: bytes) -> bytes:
    """Everything that the server says to `request` until it closes the connection."""
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


# --- listening --------------------------------------------------------------------------------------------------------


def test_port_0_takes_one_that_is_free() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert re.fullmatch(r"http://127\.0\.0\.1:[1-9][0-9]+", url_of(listener))


def test_a_port_in_use_is_refused_in_one_line() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(AddressInUse) as refusal:
            listen("127.0.0.1", port)
    assert "\n" not in str(refusal.value)
    assert str(port) in str(refusal.value)


async def let_in(clients: int, turns: int) -> int:
    """How many of the clients that wait are let in within so many turns of the event loop."""
    server, listener = Server(Starlette()), listen("127.0.0.1", 0)
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([listener])
    try:
        with ExitStack() as opened:
            for _ in range(clients):
                opened.enter_context(socket.create_connection(listener.getsockname()[:2]))
            for _ in range(turns):
                await asyncio.sleep(0)
            return len(server.server_state.connections)
    finally:
        await server.shutdown([listener])


def test_many_new_clients_are_let_in_within_few_turns() -> None:
    """uvloop accepts one connection a turn by itself, and each turn lasts as long as the others have work."""
    assert uvloop.run(let_in(clients=24, turns=6)) == 24


def test_nothing_listens_any_more_where_the_application_did_not_start() -> None:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no"})

    with listen("127.0.0.1", 0) as listener:
        address, server = listener.getsockname()[:2], Server(refuse)
        with pytest.raises(SystemExit):
            server.run([listener])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


@pytest.mark.parametrize("host", ["203.0.113.1", "no such host", "256.1.1.1"])
def test_an_address_that_is_not_this_machines_is_refused(host: str) -> None:
    with pytest.raises(AddressUnusable) as refusal:
        listen(host, 0)
    assert host in str(refusal.value)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_an_address_of_ipv6_stands_in_brackets() -> None:
    try:
        listener = listen("::1", 0)
    except AddressUnusable:
        pytest.skip("no IPv6 loopback here")
    with listener:
        assert url_of(listener).startswith("http://[::1]:")


def test_all_addresses_are_reached_by_the_loopback_one() -> None:
    with listen("0.0.0.0", 0) as listener:
        assert url_of(listener).startswith("http://127.0.0.1:")


# --- answering --------------------------------------------------------------------------------------------------------


def test_the_server_answers_and_does_not_say_what_it_is_made_of() -> None:
    with running(made().app) as server:
        response, body = server.ask("GET", "/healthz")
    assert (response.status, body) == (200, {"status": "alive"})
    assert response.getheader("server") is None


def test_no_client_is_believed_about_who_the_client_is() -> None:
    clients: list[object] = []

    async def endpoint(request: Request) -> Response:
        clients.append(request.client.host if request.client else None)
        return Response()

    with running(Starlette(routes=[Route("/", endpoint)])) as server:
        server.ask("GET", "/", headers={"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"})
    assert clients == ["127.0.0.1"]


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * (2 * MOST_HEAD),
        b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"y" * (2 * MOST_HEAD),
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * MOST_HEAD,
    ],
    ids=["path", "header", "headers"],
)
def test_a_head_without_end_is_cut_off(head: bytes) -> None:
    with running(made().app) as server:
        answer = exchange(server, head)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b"application/problem+json" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == 431


def test_a_head_of_some_size_is_read() -> None:
    with running(made().app) as server:
        headers = {f"x-{number}": "y" * 1000 for number in range(40)}
        assert server.ask("GET", "/healthz", headers=headers)[0].status == 200


@pytest.mark.parametrize("beginning", [b"", b"GET /healthz HTTP/1.1\r\nhost"])
def test_a_head_that_never_ends_is_not_waited_for(beginning: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuardedProtocol, "patience", 0.01)
    with running(made().app) as server:
        assert exchange(server, beginning) == b""


def test_time_spent_on_an_answer_is_not_held_against_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuardedProtocol, "patience", 0.01)
    waited: list[float] = []

    async def endpoint(_: Request) -> Response:
        loop = asyncio.get_running_loop()
        began, done = loop.time(), asyncio.Event()
        loop.call_later(0.05, done.set)
        await done.wait()
        waited.append(loop.time() - began)
        return Response(b"late")

    with running(Starlette(routes=[Route("/", endpoint)])) as server:
        assert server.ask("GET", "/")[1] == b"late"
    assert waited[0] > GuardedProtocol.patience


async def show_target(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the target as the application gets it."""
    if scope["type"] == "http":
        body = scope["raw_path"] + b"?" + scope["query_string"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


LINE = b"GET /a\xf3/%f3\xc3\xb3?q=\xff HTTP/1.1\r\n"
REST = b"Host: h\r\nX-Name: Relat\xf3rio\r\n\r\n"
TARGET = b"/a%F3/%f3%C3%B3?q=%FF"


def test_raw_octets_of_a_request_line_are_encoded_and_no_others() -> None:
    """E33. Two requests at once, the second of which closes."""
    with running(show_target) as server:
        said = exchange(server, LINE + REST + LINE + b"Connection: close\r\n" + REST)
    assert said.count(b"\r\n\r\n" + TARGET) == 2


@pytest.mark.parametrize("cut", [1, 6, 7, 8, 12, len(LINE) - 12, len(LINE) - 2, len(LINE), len(LINE) + 20])
def test_a_request_line_that_comes_in_pieces_is_encoded_too(cut: int) -> None:
    head = LINE + b"Connection: close\r\n" + REST
    with running(show_target) as server:
        host, port = server.url.removeprefix("http://").rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in (head[:cut], head[cut:]):
                connection.sendall(part)
            said = b"".join(iter(lambda: connection.recv(65536), b""))
    assert said.endswith(b"\r\n\r\n" + TARGET)


@pytest.mark.parametrize(
    "head",
    [
        b"G\xf3T / HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\xf3\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost\xf3: h\r\n\r\n",
        b"\xff\xfe\x00\r\n\r\n",
    ],
)
def test_octets_elsewhere_make_no_request_of_what_is_none(head: bytes) -> None:
    with running(show_target) as server:
        assert exchange(server, head).startswith(b"HTTP/1.1 400 ")


def test_octets_do_not_lengthen_a_head_beyond_its_bound() -> None:
    with running(show_target) as server:
        said = exchange(server, b"GET /" + b"\xf3" * (MOST_HEAD // 2) + b" HTTP/1.1\r\n" + REST)
    assert said.startswith(b"HTTP/1.1 431 ")


def test_several_requests_share_a_connection() -> None:
    with running(made().app) as server, closing(server.connection()) as connection:
        for path in ("/healthz", "/nothing", "/api/identity", "/healthz"):
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            assert response.status == (404 if path == "/nothing" else 200)


# --- stopping ---------------------------------------------------------------------------------------------------------


def test_what_is_under_way_is_finished_before_it_stops() -> None:
    arrived, go_on = threading.Event(), threading.Event()

    async def endpoint(_: Request) -> Response:
        arrived.set()
        await asyncio.to_thread(go_on.wait)
        return Response(b"done")

    answers: list[object] = []
    with running(Starlette(routes=[Route("/", endpoint)])) as server:
        asking = threading.Thread(target=lambda: answers.append(server.ask("GET", "/")[1]))
        asking.start()
        arrived.wait()
        server.server.should_exit = True
        go_on.set()
        asking.join()
    assert answers == [b"done"]


def test_who_never_finishes_does_not_keep_it_from_stopping() -> None:
    arrived = threading.Event()

    async def endpoint(_: Request) -> Response:
        arrived.set()
        await asyncio.Event().wait()
        return Response()

    minting = made()
    minting.app.router.routes.append(Route("/", endpoint))
    with running(minting.app, grace=1) as server, closing(server.connection()) as connection:
        connection.request("GET", "/")
        arrived.wait()
        server.server.should_exit = True
        response = connection.getresponse()
        assert response.status == 503
        assert b"server-stopping" in response.read()


PROGRAM = """
import sys
from starlette.applications import Starlette
from contextlib import asynccontextmanager
from ibi.server.server import Server, listen

@asynccontextmanager
async def lifespan(app):
    yield
    print("drained", flush=True)

with listen("127.0.0.1", 0) as listener:
    Server(Starlette(lifespan=lifespan), ready=lambda url: print(url, flush=True)).run([listener])
print("returned", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(number)
        rest, _ = process.communicate(timeout=30)
    assert rest.split() == ["drained", "returned"]
    assert process.returncode == 0
