"""The client of the records, against a server that answers what a test wants."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ibi.command import api_clients as records_client
from ibi.command.api_clients import RecordsClient
from ibi.net.errors import ServerRefused, ServerUnreachable, SourceChanged, UnexpectedAnswer
from ibi.standard.label import parse

LABEL = parse("lab.br/arq/2020/01.02.03.04")
DRAFT = "draft-aaaaaaaaaaaaaaaa"
Reply = Callable[[BaseHTTPRequestHandler], None]


def answer(request: BaseHTTPRequestHandler, status: int, said: object) -> None:
    body = json.dumps(said).encode()
    request.send_response(status)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


@contextmanager
def serving(*replies: Reply) -> Iterator[tuple[RecordsClient, list[str]]]:
    """One reply for each request, in their order; and what was asked."""
    waiting, asked = list(replies), []

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            asked.append(f"{self.command} {self.path}")
            waiting.pop(0)(self)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield RecordsClient(f"http://127.0.0.1:{server.server_port}", "token", timeout=20), asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def taking(request: BaseHTTPRequestHandler) -> None:
    body = request.rfile.read(int(request.headers["Content-Length"]))
    answer(request, 201, {"sha512": hashlib.sha512(body).hexdigest()})


def test_a_file_is_sent_and_checked(tmp_path: Path) -> None:
    source = tmp_path / "a b"
    told: list[int] = []
    source.write_bytes(b"x" * 2_500_000)
    with serving(taking) as (client, asked):
        client.upload(DRAFT, "ção/a b", source, told.append)
    assert asked == [f"PUT /api/items/{DRAFT}/files/%C3%A7%C3%A3o/a%20b"]
    assert sum(told) == 2_500_000


def test_what_arrives_otherwise_is_told(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"content")

    def spoiling(request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(7)
        answer(request, 201, {"sha512": "0" * 128})

    with serving(spoiling) as (client, _), pytest.raises(SourceChanged):
        client.upload(DRAFT, "a", source, lambda _: None)


def test_a_file_that_becomes_shorter_is_not_sent_to_its_end(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"x" * 3_000_000)

    def shorten(_: int) -> None:
        with source.open("rb+") as file:
            file.truncate(1_500_000)

    def waiting(request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(int(request.headers["Content-Length"]))

    with serving(waiting) as (client, _), pytest.raises(SourceChanged):
        client.upload(DRAFT, "a", source, shorten)


def test_a_refusal_before_the_end_is_heard(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"x" * 30_000_000)

    def refusing(request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(1_000_000)
        answer(request, 413, {"type": "urn:ibi:problem:deposit-too-large", "detail": "Too large."})
        while request.rfile.read1(1_000_000):
            pass

    with serving(refusing) as (client, _), pytest.raises(ServerRefused, match="Too large"):
        client.upload(DRAFT, "a", source, lambda _: None)


def test_a_file_that_the_server_had_no_time_for_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_client, "_BETWEEN", 0.0)
    source = tmp_path / "a"
    told: list[int] = []
    source.write_bytes(b"content")

    def busy(request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(7)
        answer(request, 409, {"type": "urn:ibi:problem:draft-busy", "detail": "Wait."})

    with serving(busy, taking) as (client, asked):
        client.upload(DRAFT, "a", source, told.append)
    assert (len(asked), sum(told)) == (2, 7)
    with serving(busy, busy, busy) as (client, _), pytest.raises(ServerRefused):
        client.upload(DRAFT, "a", source, told.append)


def hanging_up(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True


def test_a_publication_without_an_answer_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_client, "_BETWEEN", 0.0)
    busy: Reply = lambda request: answer(request, 409, {"type": "urn:ibi:problem:draft-busy", "detail": "Wait."})  # noqa: E731
    done: Reply = lambda request: answer(request, 201, {"rep": "x"})  # noqa: E731
    with serving(hanging_up, busy, done) as (client, asked):
        assert client.publish(DRAFT, key="k") == {"rep": "x"}
    assert asked == [f"POST /api/items/{DRAFT}/publish"] * 3
    with serving(hanging_up, hanging_up, hanging_up) as (client, _), pytest.raises(ServerUnreachable):
        client.publish(DRAFT)
    refused: Reply = lambda request: answer(request, 400, {"type": "urn:ibi:problem:title-missing", "detail": "x"})  # noqa: E731
    with serving(refused) as (client, _), pytest.raises(ServerRefused):
        client.publish(DRAFT)


def test_what_is_left_of_an_item_is_an_answer() -> None:
    with serving(lambda request: answer(request, 410, {"state": "Deleted"})) as (client, asked):
        assert client.record(LABEL) == {"state": "Deleted"}
    assert asked == ["GET /api/items/lab.br/arq/2020/01.02.03.04"]


def test_the_use_of_all_is_read_page_by_page() -> None:
    counts = {"resolutions": 1, "downloads": 0, "robot_resolutions": 0, "robot_downloads": 0}
    first = {"items": [{"rep": "a/b", **counts}], "links": {"next": "http://elsewhere/"}}
    pages: list[Reply] = [
        lambda request: answer(request, 200, first),
        lambda request: answer(request, 200, {"items": [{"rep": "c", **counts}], "links": {}}),
    ]
    with serving(*pages) as (client, asked):
        assert [item.rep for item in client.usage()] == ["a/b", "c"]
    assert asked == ["GET /api/usage", "GET /api/usage?after=a%2Fb"]


@pytest.mark.parametrize("said", [{}, {"items": 1}, {"items": [1]}, []])
def test_an_answer_that_makes_no_sense_is_told_as_that(said: object) -> None:
    with serving(lambda request: answer(request, 200, said)) as (client, _), pytest.raises(UnexpectedAnswer):
        list(client.usage())
