"""Requests that come behind another: they wait as they came, in their order, and no more of them is read."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from ibi.server.fast_path import Head, RawResponse
from ibi.server.protocol import MOST_FIELDS, MOST_HEAD
from tests.support.running_server import RunningServer, running

ASKED = b"GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n"
SENT = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b"
CHUNKED = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
ONE_READ = 256_000
"""Bytes that the event loop reads at a time."""


class Gate:
    """An endpoint that answers when the test says so."""

    def __init__(self) -> None:
        self.is_asked, self.goes_on, self.number = threading.Event(), asyncio.Event(), 0

    async def answer(self, _: Request) -> Response:
        self.number += 1
        self.is_asked.set()
        await self.goes_on.wait()
        return Response(b"waited")


async def echo(request: Request) -> Response:
    return Response(await request.body())


def at_once(scope: Scope) -> RawResponse | None:
    return RawResponse(200, Head.of([(b"content-length", b"2")]), b"ok") if scope["path"] == "/at-once" else None


@contextmanager
def served(gate: Gate | None = None) -> Iterator[RunningServer]:
    gate = gate or Gate()
    app = Starlette(routes=[Route("/echo", echo, methods=["POST"]), Route("/gate", gate.answer)])
    app.state.at_once = staticmethod(at_once)
    with running(app) as server:
        yield server


def connected(server: RunningServer) -> socket.socket:
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=60)


def bodies(connection: socket.socket) -> list[bytes]:
    """Of all answers until the connection ends."""
    received = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    found = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        found.append(rest[:length])
        received = rest[length:]
    return found


def fill(connection: socket.socket, data: bytes) -> None:
    """Send it again and again until nothing more is taken; the test would not end if all were."""
    connection.settimeout(0.5)
    with suppress(TimeoutError):
        while True:
            connection.send(data)


def only_connection(server: RunningServer) -> Any:
    (protocol,) = server.server.server_state.connections
    return protocol


def test_thousands_are_answered_each_in_its_turn() -> None:
    sent, expected = [], []
    for number in range(2000):
        text = b"%d" % number * (number % 7 + 1)
        match number % 4:
            case 0 | 1:
                sent.append(ASKED)
                expected.append(b"ok")
            case 2:
                sent.append(SENT % (len(text), text))
                expected.append(text)
            case _:
                sent.append(CHUNKED % (len(text), text))
                expected.append(text)
    with served() as server, connected(server) as connection:
        sender = threading.Thread(target=send_all, args=(connection, b"".join(sent)))
        sender.start()
        assert bodies(connection) == expected
        sender.join()


def send_all(connection: socket.socket, data: bytes) -> None:
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("step", [1, 3, 7, 61])
def test_however_they_are_cut_they_are_the_same(step: int) -> None:
    sent = ASKED + SENT % (5, b"hello") + CHUNKED % (9, b"a\r\n\r\nb\r\n\r") + b"\r\n" + ASKED + SENT % (0, b"")
    with served() as server, connected(server) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(sent), step):
            connection.sendall(sent[start : start + step])
        connection.shutdown(socket.SHUT_WR)
        assert bodies(connection) == [b"ok", b"hello", b"a\r\n\r\nb\r\n\r", b"ok", b""]


def test_no_more_is_read_than_can_be_held() -> None:
    gate = Gate()
    with served(gate) as server, connected(server) as connection:
        connection.sendall(b"GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
        assert gate.is_asked.wait(30)
        fill(connection, ASKED * 10_000)
        protocol = only_connection(server)
        assert len(protocol.pipeline) == 0
        assert 0 < protocol.buffers.total <= ONE_READ
        assert gate.number == 1
    assert protocol.buffers.total == 0


def test_what_waits_goes_with_the_connection() -> None:
    gate = Gate()
    with served(gate) as server:
        with connected(server) as connection:
            connection.sendall(b"GET /gate HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
            assert gate.is_asked.wait(30)
            protocol = only_connection(server)
        # Nothing is read from it any more: that it has gone shows when it is written to.
        server.server.servers[0].get_loop().call_soon_threadsafe(gate.goes_on.set)
    assert gate.number <= 3
    assert (protocol.buffers.total, len(protocol.pipeline)) == (0, 0)


@pytest.mark.parametrize(
    "coding",
    [
        b"identity, chunked",
        b"chunked, identity",
        b"gzip, chunked",
        b"chunked, chunked",
        b"identity",
        b"chunked;a=b",
        b"x",
        b"",
        b"chunked\r\nTransfer-Encoding: chunked",
        b"chunked\r\nTransfer-Encoding: identity",
        b"chunked\r\nContent-Length: 5",
    ],
)
def test_other_codings_than_chunks_are_refused(coding: bytes) -> None:
    request = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: %b\r\n\r\n0\r\n\r\n" % coding
    with served() as server, connected(server) as connection:
        connection.sendall(request + ASKED)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("coding", [b"chunked", b"Chunked", b" \tchunked"])
def test_chunks_are_read(coding: bytes) -> None:
    request = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding:%b\r\n\r\n1\r\na\r\n0\r\n\r\n"
    with served() as server, connected(server) as connection:
        connection.sendall(request % coding)
        assert bodies(connection) == [b"a"]


def test_there_were_no_codings_before_http_1_1() -> None:
    with served() as server, connected(server) as connection:
        connection.sendall(b"POST /echo HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "more",
    [b"x: %b\r\n" % (b"y" * MOST_HEAD), b"x: y\r\n" * (MOST_FIELDS + 1), b"x: y\r\n" * (MOST_HEAD // 6 + 1)],
    ids=["one long field", "too many fields", "far too many"],
)
@pytest.mark.parametrize("ahead", [b"", ASKED], ids=["first", "behind another"])
def test_a_head_that_is_too_large_is_refused_whole_as_well(more: bytes, ahead: bytes) -> None:
    """Also if it comes to its end within one read, and behind a request that is answered."""
    with served() as server, connected(server) as connection:
        connection.sendall(ahead + ASKED[:-2] + more + b"\r\n")
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    answers = received.split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == ([b"200"] if ahead else []) + [b"431"]
    assert b'"urn:ibi:problem:head-too-large"' in received
