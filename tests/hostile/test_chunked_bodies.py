"""What a body in chunks can carry beside its bytes: as much as a head, and none of it is kept."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.server.protocol import MOST_HEAD
from tests.support.running_server import RunningServer, running

HEAD = b"POST / HTTP/1.1\r\nHost: ibi.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
ENDLESS = 64 * 1024 * 1024
"""Far more than the buffers of a connection hold on either side."""


async def repeated(request: Request) -> Response:
    return Response(await request.body(), headers={"fields": ",".join(name for name in request.headers)})


APP = Starlette(routes=[Route("/", repeated, methods=["POST"])])


def connected(server: RunningServer) -> socket.socket:
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def heard(connection: socket.socket) -> bytes:
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def taken(connection: socket.socket, endless: bytes) -> int:
    """Bytes that were sent before the other side hung up."""
    sent = 0
    with suppress(ConnectionError):
        while sent < ENDLESS:
            connection.sendall(endless)
            sent += len(endless)
    return sent


@pytest.mark.parametrize(
    ("begun", "endless"),
    [
        (b"1\r\na\r\n0\r\n", b"name: value\r\n" * 1000),
        (b"1\r\na\r\n0\r\nname: ", b"a" * 10_000),
        (b"1;name=", b"a" * 10_000),
    ],
    ids=["fields after a body", "a field after a body", "an extension of a chunk"],
)
def test_what_surrounds_a_body_has_an_end(begun: bytes, endless: bytes) -> None:
    with running(APP) as server, connected(server) as connection:
        connection.sendall(HEAD + begun)
        assert taken(connection, endless) < ENDLESS


def test_fields_after_a_body_are_read_over() -> None:
    with running(APP) as server, connected(server) as connection:
        connection.sendall(HEAD + b"3\r\nabc\r\n0\r\nauthorization: Bearer x\r\nexpect: 100-continue\r\n\r\n")
        answer = heard(connection)

    assert answer.endswith(b"\r\n\r\nabc")
    assert b"fields: host,transfer-encoding,connection\r\n" in answer


@pytest.mark.parametrize("size", [1, 1000, 2 * MOST_HEAD])
def test_a_body_is_as_long_as_it_wants_to_be(size: int) -> None:
    number = 6 * MOST_HEAD // size if size > 1 else 50_000
    with running(APP) as server, connected(server) as connection:
        connection.sendall(HEAD + (b"%x;a=b\r\n%s\r\n" % (size, b"a" * size)) * number + b"0\r\n\r\n")
        answer = heard(connection)

    assert len(answer.partition(b"\r\n\r\n")[2]) == size * number
