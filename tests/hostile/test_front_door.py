"""Requests that mean one thing to a proxy and another to a server: each is refused, or understood as it stands.

Whatever is sent behind one of them is answered for itself or not at all, and no connection is left without an end.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ibi.server.protocol import MOST_FIELDS, GuardedProtocol
from tests.support.archive_app import REP, SERVICE
from tests.support.one_port import OnePort
from tests.support.running_server import RunningServer, running

QUIET = structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
LINE = f"GET /{REP} HTTP/1.1\r\n".encode()
GET = LINE + b"Host: x\r\n"
POST = GET.replace(b"GET", b"POST")
LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
"""Sent behind everything: it is answered with 200, and ends the connection."""
ASKED_OF_SERVICE = f"/{SERVICE.labels[0]}?servicesubject=inclusionConfirmationRequest".encode()


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running(OnePort(log=QUIET).app) as running_server:
        yield running_server


def connected(server: RunningServer) -> socket.socket:
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def heard(connection: socket.socket) -> bytes:
    """All that is said until the server hangs up: it has to."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def statuses(server: RunningServer, sent: bytes) -> list[int]:
    with connected(server) as connection:
        connection.sendall(sent)
        return [int(status) for status in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", heard(connection))]


REFUSED = {
    "both lengths": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and more": GET + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "nearly chunked": GET + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two lengths": GET + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "the same length twice": GET + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a list of lengths": GET + b"Content-Length: 0, 0\r\n\r\n",
    "a length with a sign": GET + b"Content-Length: +0\r\n\r\n",
    "less than nothing": GET + b"Content-Length: -1\r\n\r\n",
    "a blank before the colon": GET + b"Content-Length : 0\r\n\r\n",
    "a folded header": GET + b"X: a\r\n b\r\n\r\n",
    "a folded length": GET + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a header folded onto the request line": LINE + b" Host: x\r\n\r\n",
    "lines without CR": (GET + b"\r\n").replace(b"\r\n", b"\n"),
    "a header line without CR": GET + b"A: b\nTransfer-Encoding: chunked\r\n\r\n",
    "a CR inside a header": GET + b"A: b\rTransfer-Encoding: chunked\r\n\r\n",
    "NUL in a value": GET + b"A: b\0c\r\n\r\n",
    "NUL in a name": GET + b"A\0: b\r\n\r\n",
    "no name": GET + b": b\r\n\r\n",
    "a name that is not ASCII": GET + b"X-\xe9: b\r\n\r\n",
    "a blank in the target": GET.replace(b" HTTP", b"/a b HTTP") + b"\r\n",
    "a tab in the target": GET.replace(b" HTTP", b"/a\tb HTTP") + b"\r\n",
    "DEL in the target": GET.replace(b" HTTP", b"/a\x7fb HTTP") + b"\r\n",
    "authority form": b"GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    "CONNECT": b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9 without a version": LINE.replace(b" HTTP/1.1", b"") + b"\r\n",
    "HTTP/0.9": LINE.replace(b"HTTP/1.1", b"HTTP/0.9") + b"\r\n",
    "HTTP/2.0": GET.replace(b"HTTP/1.1", b"HTTP/2.0") + b"\r\n",
    "HTTP/1.2": GET.replace(b"HTTP/1.1", b"HTTP/1.2") + b"\r\n",
    "no host": LINE + b"\r\n",
    "two hosts": GET + b"Host: y\r\n\r\n",
    "the same host twice": GET + b"Host: x\r\n\r\n",
    "two hosts in HTTP/1.0": GET.replace(b"HTTP/1.1", b"HTTP/1.0") + b"Host: x\r\n\r\n",
    "a list of hosts": LINE + b"Host: x, y\r\n\r\n",
    "a host with a path": LINE + b"Host: x/y\r\n\r\n",
    "a host with a user": LINE + b"Host: a@x\r\n\r\n",
    "a host that is not ASCII": LINE + b"Host: \xe9\r\n\r\n",
    "a chunk with LF in its extension": POST + b"Transfer-Encoding: chunked\r\n\r\n1;a\nb\r\na\r\n0\r\n\r\n",
    "chunks without CR": POST + b"Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n",
}


@pytest.mark.parametrize("sent", REFUSED.values(), ids=REFUSED)
def test_what_is_ambiguous_is_refused_and_nothing_behind_it_is_answered(server: RunningServer, sent: bytes) -> None:
    assert statuses(server, sent + LAST) == [400]


UNDERSTOOD = {
    "nothing odd": (GET + b"\r\n", [302]),
    "a host with a port": (LINE + b"Host: x:80\r\n\r\n", [302]),
    "an empty host": (LINE + b"Host:\r\n\r\n", [302]),
    "a host of IPv6": (LINE + b"Host: [::1]:8765\r\n\r\n", [302]),
    "absolute form": (b"GET http://y/%s HTTP/1.1\r\nHost: x\r\n\r\n" % REP.encode(), [302]),
    "asterisk form": (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", [204]),
    "two slashes": (b"GET //%s HTTP/1.1\r\nHost: x\r\n\r\n" % REP.encode(), [404]),
    "a step up": (b"GET /../%s HTTP/1.1\r\nHost: x\r\n\r\n" % REP.encode(), [400]),
    "a step down and up": (b"GET /x/../api/identity HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
    "a semicolon": (GET.replace(b" HTTP", b";a=b HTTP") + b"\r\n", [400]),
    "a backslash": (GET.replace(b" HTTP", b"\\a HTTP") + b"\r\n", [400]),
    "a percent sign alone": (GET.replace(b" HTTP", b"/% HTTP") + b"\r\n", [404]),
    "a fragment": (GET.replace(b" HTTP", b"#a HTTP") + b"\r\n", [302]),
    "empty lines before": (b"\r\n\r\n" + GET + b"\r\n", [302]),
    "a body of a GET": (GET + b"Content-Length: 5\r\n\r\nhello", [302]),
    "bodies between": (
        GET + b"\r\n" + POST + b"Content-Length: 22\r\n\r\n" + LAST[:22] + GET + b"\r\n",
        [302, 405, 302],
    ),
    "looks and questions": (
        b"".join(GET.replace(b"GET", method) + b"\r\n" for method in (b"HEAD", b"OPTIONS", b"HEAD", b"GET")),
        [302, 204, 302, 302],
    ),
    "many headers": (GET + b"".join(b"a%d: b\r\n" % number for number in range(MOST_FIELDS - 1)) + b"\r\n", [302]),
    "Upgrade without Connection": (GET + b"Upgrade: h2c\r\n\r\n", [302]),
    "Expect": (GET + b"Expect: 100-continue\r\n\r\n", [302]),
}


@pytest.mark.parametrize(("sent", "expected"), UNDERSTOOD.values(), ids=UNDERSTOOD)
def test_what_is_odd_is_answered_for_itself(server: RunningServer, sent: bytes, expected: list[int]) -> None:
    assert statuses(server, sent + LAST) == [*expected, 200]


ENDING = {
    "close": GET + b"Connection: close\r\n\r\n",
    "keep-alive, close": GET + b"Connection: keep-alive, close\r\n\r\n",
    "HTTP/1.0": LINE.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n",
    "an upgrade that is not offered": GET + b"Upgrade: h2c\r\nConnection: upgrade\r\n\r\n",
    "an upgrade to WebSocket": GET + b"Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    "CONNECT to a service": b"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n" % ASKED_OF_SERVICE,
    "CONNECT to a link": GET.replace(b"GET", b"CONNECT") + b"\r\n",
}


@pytest.mark.parametrize("sent", ENDING.values(), ids=ENDING)
@pytest.mark.parametrize("behind", [b"", LAST], ids=["alone", "with another behind"])
def test_what_ends_a_connection_does_so(server: RunningServer, sent: bytes, behind: bytes) -> None:
    """Nobody waits for ever for the answer to a request that is not looked at any more."""
    (status,) = statuses(server, sent + behind)
    assert status in (302, 400, 405)


def test_a_client_that_has_said_all_is_answered_all_the_same(server: RunningServer) -> None:
    for target in (REP, f"{REP}?ibiurl.trace=json"):
        with connected(server) as connection:
            connection.sendall(GET.replace(REP.encode(), target.encode()) + b"\r\n")
            connection.shutdown(socket.SHUT_WR)
            assert heard(connection).startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(
    ("asked", "sent_later"),
    [(GET + b"\r\n", b"\r\n"), (GET + b"Content-Length: 5\r\n\r\n", b"a")],
    ids=["an empty line", "a body for which nobody has waited"],
)
def test_what_says_nothing_keeps_no_connection_for_ever(
    monkeypatch: pytest.MonkeyPatch, asked: bytes, sent_later: bytes
) -> None:
    before = GuardedProtocol.__init__

    def impatient(self: GuardedProtocol, *arguments: Any, **options: Any) -> None:
        before(self, *arguments, **options)
        self.timeout_keep_alive = 1

    monkeypatch.setattr(GuardedProtocol, "__init__", impatient)
    with running(OnePort(log=QUIET).app) as server, connected(server) as connection:
        connection.sendall(asked)
        assert connection.recv(65536).startswith(b"HTTP/1.1 302 ")
        connection.sendall(sent_later)
        assert heard(connection) == b""


def test_a_refusal_is_not_put_into_an_answer_that_is_on_its_way() -> None:
    """What comes behind a request may be nonsense: it must not stand in the middle of what is sent for the first."""
    begun, go_on = threading.Event(), asyncio.Event()

    async def half(_: Request) -> Response:
        async def parts() -> Any:
            yield b"a" * 10
            begun.set()
            await go_on.wait()
            yield b"b" * 10

        return StreamingResponse(parts(), headers={"content-length": "20"})

    with running(Starlette(routes=[Route("/", half)])) as server, connected(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert begun.wait(30)
        connection.sendall(b"nonsense\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        server.server.servers[0].get_loop().call_soon_threadsafe(go_on.set)
        answer = heard(connection)
    first, refusal = answer.split(b"HTTP/1.1 ")[1:]
    assert first.endswith(b"\r\n\r\naaaaaaaaaabbbbbbbbbb")
    assert refusal.startswith(b"400 ")


@pytest.mark.parametrize("nonsense", [b"nonsense\r\n\r\n", LINE + b"\r\n"], ids=["nonsense", "no host"])
def test_a_client_that_is_done_is_told_so_whatever_comes_behind(nonsense: bytes) -> None:
    """Each request is answered for itself, in its turn: what was done for one is not told as a refusal of another."""
    done: list[str] = []

    async def do(request: Request) -> Response:
        done.append((await request.body()).decode())
        return Response(status_code=201)

    sent = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"
    with running(Starlette(routes=[Route("/", do, methods=["POST"])])) as server:
        assert statuses(server, sent + b"1" + sent + b"2" + nonsense + sent + b"3") == [201, 201, 400]
        assert done == ["1", "2"]
        assert statuses(server, nonsense + sent + b"4") == [400]
        assert done == ["1", "2"]


def test_a_body_that_breaks_off_ends_the_connection_and_is_not_taken_for_whole() -> None:
    done: list[bytes] = []

    async def do(request: Request) -> Response:
        done.append(await request.body())
        return Response(status_code=201)

    sent = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
    with running(Starlette(routes=[Route("/", do, methods=["POST"])])) as server:
        assert statuses(server, sent + b"nonsense\r\n") == [400]
    assert done == []
