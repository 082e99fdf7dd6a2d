"""Answers given while a request is read: the same as those of the application, in the same order, and only those."""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog
from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from ibi.server.fast_path import FastAnswer, FastPath
from ibi.server.protocol import GuardedProtocol
from ibi.web.request_middleware import Metrics
from tests.support.archive_app import IBIP, OTHER, REP, SERVICE
from tests.support.one_port import OnePort
from tests.support.running_server import RunningServer, running

QUIET = structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
SERVICE_PATH = f"/{SERVICE.labels[0]}"
URL_REQUEST = f"{SERVICE_PATH}?servicesubject=urlRequest&clientinformation.ipaddress=192.0.2.1&parsedibiurl.ibi={REP}"
ASKED = [
    ("GET", f"/{REP}", {}),
    ("HEAD", f"/{REP}", {}),
    ("GET", f"/{IBIP}", {}),
    ("GET", f"/{REP}/a.txt", {}),
    ("GET", f"/{REP}?a=b%20c", {}),
    ("GET", f"/{REP}!", {"accept-language": "pt"}),
    ("GET", f"/{REP}+(pt)", {}),
    ("GET", f"/{REP}:", {"accept": "text/html"}),
    ("GET", f"/{REP}", {"accept": "application/json"}),
    ("GET", f"/{REP}?ibiurl.trace=json", {}),
    ("GET", f"/{OTHER}", {}),
    ("GET", f"/{OTHER}", {"accept": "text/html", "accept-language": "es"}),
    ("GET", "/lab.br/arq/2009/13.21.14.43", {}),
    ("GET", f"/{REP},", {}),
    ("OPTIONS", f"/{REP}", {}),
    ("DELETE", f"/{REP}", {}),
    ("GET", f"/{REP.replace('/', '%2F')}", {}),
    ("GET", "/healthz", {}),
    ("GET", URL_REQUEST, {}),
    ("HEAD", URL_REQUEST, {}),
    ("GET", f"{SERVICE_PATH}?servicesubject=inclusionConfirmationRequest", {}),
    ("GET", f"{SERVICE_PATH}?servicesubject=nonsense", {}),
]


def without_chance(answer: bytes) -> bytes:
    """What an answer says but for the time, the name of the request, and keys."""
    answer = re.sub(rb"\r\n(date|x-request-id): [^\r]+", b"", answer)
    if b'"seconds":' in answer:
        answer = re.sub(rb'"(asked_at|answered_at|seconds)":[0-9.e-]+|content-length: [0-9]+', b"", answer)
    return re.sub(rb"(urlkey |max-age=)[0-9-]+", b"", answer)


def written(method: str, target: str, headers: dict[str, str], *, last: bool = True) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "host: x", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, *(["connection: close"] if last else []), "", ""]).encode()


def exchange(server: RunningServer, *requests: bytes) -> bytes:
    """All that is said until the server hangs up."""
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"".join(requests))
        return b"".join(iter(lambda: connection.recv(65536), b""))


def asked_before_closing(server: RunningServer, method: str, target: str, headers: dict[str, str]) -> bytes:
    """The answer to a request after which another one comes that ends the connection."""
    answers = exchange(server, written(method, target, headers, last=False), written("GET", "/healthz", {}))
    end = answers.rindex(b"HTTP/1.1 200 OK")
    return answers[:end]


@contextmanager
def watched(app: Starlette) -> Iterator[tuple[RunningServer, list[str]]]:
    """A server, and the targets of requests that went through the application."""
    seen: list[str] = []

    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            seen.append(scope["path"])
        await app(scope, receive, send)

    outer.state = app.state  # type: ignore[attr-defined]
    with running(outer) as server:
        yield server, seen


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[RunningServer, RunningServer]]:
    """A server that answers at once what it can, and one that never does."""
    slow = OnePort(log=QUIET).app
    del slow.state.at_once
    with running(OnePort(log=QUIET).app) as server, running(slow) as other:
        yield server, other


@pytest.mark.parametrize(("method", "target", "headers"), ASKED)
def test_the_answer_is_that_of_the_application(
    both: tuple[RunningServer, RunningServer], method: str, target: str, headers: dict[str, str]
) -> None:
    quick, thorough = (asked_before_closing(each, method, target, headers) for each in both)
    assert b"HTTP/1.1 " in quick
    assert without_chance(quick) == without_chance(thorough)


@pytest.mark.parametrize("target", [f"/{REP}", f"/{IBIP}", f"/{REP}/a.txt", URL_REQUEST])
def test_what_is_at_hand_does_not_go_through_the_application(target: str) -> None:
    with watched(OnePort(log=QUIET).app) as (server, seen):
        asked_before_closing(server, "GET", target, {})
    assert seen == ["/healthz"]


@pytest.mark.parametrize(
    "request_",
    [
        f"GET /{REP} HTTP/1.0\r\n\r\n",
        f"GET /{REP} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        f"GET /{REP} HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\nconnection: close\r\n\r\nabc",
        f"GET /{REP} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n1\r\na\r\n0\r\n\r\n",
        f"GET http://x/{REP} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    ],
)
def test_whatever_is_special_goes_through_the_application(request_: str) -> None:
    with watched(OnePort(log=QUIET).app) as (server, seen):
        answer = exchange(server, request_.encode())
    assert answer.startswith(b"HTTP/1.1 302 Found\r\n")
    assert seen == [f"/{REP}"]


def test_a_log_of_every_request_has_every_request() -> None:
    with watched(OnePort().app) as (server, seen):
        asked_before_closing(server, "GET", f"/{REP}", {})
    assert seen == [f"/{REP}", "/healthz"]


def test_a_reader_is_counted_once_and_a_look_not_at_all() -> None:
    port = OnePort(log=QUIET)
    with running(port.app) as server:
        asked_before_closing(server, "HEAD", f"/{REP}", {})
        assert not port.archive.usage.counts()
        asked_before_closing(server, "GET", f"/{REP}", {})
        asked_before_closing(server, "GET", f"/{REP}", {})
        lines = server.ask("GET", "/metrics")[1].decode().splitlines()
    (usage,) = port.archive.usage.counts().values()
    assert usage.resolutions == 1
    assert 'ibi_http_requests_total{method="GET",route="/{ibi}",status="302"} 2.0' in lines
    assert 'ibi_resolutions_total{kept="no",outcome="Redirect"} 1.0' in lines


def test_what_is_not_found_is_looked_for_once() -> None:
    with running(OnePort(log=QUIET).app) as server:
        asked_before_closing(server, "GET", f"/{OTHER}", {})
        lines = server.ask("GET", "/metrics")[1].decode().splitlines()
    assert 'ibi_resolutions_total{kept="no",outcome="NotFound"} 1.0' in lines
    assert 'ibi_archive_replies_total{archive="arq.lab.br",reply="empty"} 1.0' in lines


@pytest.mark.parametrize("number", [2, 8, 9, 100, 3000])
def test_answers_come_in_the_order_of_the_requests(number: int) -> None:
    paths = [f"/{REP}", "/healthz", f"/{IBIP}", f"/{REP}/a.txt", f"/{OTHER}"]
    requests = [written("GET", paths[each % len(paths)], {}, last=False) for each in range(number)]
    with running(OnePort(log=QUIET).app) as server:
        answers = exchange(server, *requests, written("GET", "/api/identity", {}))
    statuses = re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", answers)
    expected = [(b"302", b"200", b"302", b"302", b"404")[each % len(paths)] for each in range(number)]
    assert statuses == [*expected, b"200"]


def test_a_flood_on_one_connection_does_not_keep_others_waiting() -> None:
    """Nobody reads the answers: they must not fill the memory, and somebody else is answered."""
    flood = written("GET", f"/{REP}", {}, last=False) * 20_000
    with running(OnePort(log=QUIET).app) as server:
        host, port = server.url.removeprefix("http://").rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            sending = threading.Thread(target=lambda: _send(connection, flood))
            sending.start()
            try:
                assert server.ask("GET", "/healthz")[0].status == 200
                assert server.ask("GET", f"/{IBIP}")[0].status == 302
            finally:
                connection.shutdown(socket.SHUT_RDWR)
                sending.join(30)


def _send(connection: socket.socket, flood: bytes) -> None:
    try:
        connection.sendall(flood)
    except OSError:
        return


def test_an_idle_connection_is_closed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    before = GuardedProtocol.__init__

    def impatient(self: GuardedProtocol, *arguments: Any, **options: Any) -> None:
        before(self, *arguments, **options)
        self.timeout_keep_alive = 0

    monkeypatch.setattr(GuardedProtocol, "__init__", impatient)
    with running(OnePort(log=QUIET).app) as server:
        answers = exchange(server, written("GET", f"/{REP}", {}, last=False))
    assert answers.count(b"HTTP/1.1 302 ") == 1


# --- what goes wrong -------------------------------------------------------------------------------------------------


class FastEndpoint:
    """Says what a test wants; the application around it answers 204."""

    def __init__(self, answer: FastAnswer | Exception) -> None:
        self._answer = answer

    def at_once(self, _: Scope) -> FastAnswer:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def app_with(prompt: FastEndpoint, metrics: Metrics | None = None) -> Starlette:
    app = Starlette()

    async def default(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app.router.default = default
    names = (f"{number}" for number in range(100))
    app.state.at_once = FastPath(
        lambda _: prompt, metrics=metrics or Metrics(), log=structlog.get_logger("test"), routes={}, names=names
    )
    return app


@pytest.fixture
def info_log() -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
    try:
        yield
    finally:
        structlog.configure(**before)


@pytest.mark.usefixtures("info_log")
@pytest.mark.parametrize(
    "prompt",
    [
        FastEndpoint(ValueError("unforeseen")),
        FastEndpoint(FastAnswer(302, [(b"location", b"http://x/\r\nset-cookie: a=b")])),
        FastEndpoint(FastAnswer(302, [(b"location", b"http://x/\nset-cookie: a=b")])),
        FastEndpoint(FastAnswer(302, [(b"location", b"http://x/\0")])),
        FastEndpoint(FastAnswer(302, [(b"location", b"http://x/\rset-cookie: a=b")])),
        FastEndpoint(FastAnswer(302, [(b"location", b"http://x/\x7f")])),
        FastEndpoint(FastAnswer(302, [(b"location", b"http://x/\x1b[2J")])),
    ],
    ids=["error", "line", "feed", "nul", "return", "del", "escape"],
)
def test_what_cannot_be_answered_like_this_is_left_to_the_application(prompt: FastEndpoint) -> None:
    with running(app_with(prompt)) as server:
        response, _ = server.ask("GET", "/a/b")
    assert response.status == 204
    assert response.getheader("set-cookie") is None


@pytest.mark.usefixtures("info_log")
def test_what_was_not_sent_is_not_counted() -> None:
    """The application counts what it answers instead."""
    metrics, thanked = Metrics(), []
    answer = FastAnswer(302, [(b"location", b"http://x/\r")], b"", lambda: thanked.append(1))
    with running(app_with(FastEndpoint(answer), metrics)) as server:
        assert server.ask("GET", "/a/b")[0].status == 204
    assert b"ibi_http_requests_total{" not in generate_latest(metrics.registry)
    assert not thanked


@pytest.mark.usefixtures("info_log")
def test_what_fails_after_an_answer_is_logged_and_disturbs_no_other_request() -> None:
    def fail() -> None:
        raise ValueError("unforeseen")

    with capture_logs() as logged, running(app_with(FastEndpoint(FastAnswer(200, [], b"", fail)))) as server:
        answers = exchange(
            server,
            written("GET", "/a/b", {}, last=False),
            written("GET", "/a/c", {}, last=False),
            written("PUT", "/", {}),
        )
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert [each["event"] for each in logged] == ["request failed"] * 2


def test_on_the_host_of_the_bytes_nothing_is_resolved() -> None:
    with running(OnePort(content_url="http://bytes.example.org", log=QUIET).app) as server:
        elsewhere = server.ask("GET", f"/{REP}", headers={"host": "bytes.example.org"})[0]
        here = server.ask("GET", f"/{REP}")[0]
    assert (elsewhere.status, here.status) == (404, 302)
