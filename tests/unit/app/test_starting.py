"""What a server answers before it is ready to serve."""

from __future__ import annotations

import json
from contextlib import closing
from http.client import HTTPConnection
from socket import socket

import pytest

from ibi.app.starting import StartingApp, StartingServer
from ibi.server.server import listen
from tests.support.running_server import running


def test_a_starting_server_lives_is_not_ready_and_says_so_to_everyone() -> None:
    with running(StartingApp()) as server:
        response, said = server.ask("GET", "/healthz")
        assert (response.status, said) == (200, {"status": "alive"})
        response, said = server.ask("GET", "/readyz")
        assert (response.status, response.getheader("retry-after")) == (503, "5")
        assert [each["code"] for each in said["reasons"]] == ["server-starting"]
        response, said = server.ask("POST", "/api/labels", b"{}")
        assert (response.status, said["type"]) == (503, "urn:ibi:problem:server-starting")
        assert response.getheader("connection") == "close"


@pytest.mark.parametrize(("language", "words"), [("en", "Nothing is lost"), ("pt", "Nada se perdeu")])
def test_a_reader_gets_a_page(language: str, words: str) -> None:
    with running(StartingApp()) as server:
        headers = {"accept": "text/html", "accept-language": language}
        response, said = server.ask("GET", "/sid.inpe.br/mtc-m21/2012/06.05.15.34", None, headers)
        assert (response.status, response.getheader("cache-control")) == (503, "no-store")
        assert words in said.decode()


def test_a_starting_server_tells_how_far_it_has_come() -> None:
    with listen("127.0.0.1", 0) as listener:
        starting = StartingServer(listener)
        starting.start(3)
        starting.count_item()
        assert progress(listener) == {"read": 1, "items": 3}
        for _ in range(3):
            starting.count_item()
        assert progress(listener) == {"read": 4, "items": 4}
        starting.start()  # the catalogue was set aside, and all begins again
        starting.count_item()
        assert progress(listener) == {"read": 1, "items": None}
        starting.stop()


def progress(listener: socket) -> object:
    host, port = listener.getsockname()
    with closing(HTTPConnection(host, port, timeout=30)) as connection:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        said = json.loads(response.read())
    found = said["progress"]
    (reason,) = said["reasons"]
    told = f"{found['read']} items" if found["items"] is None else f"{found['read']} of {found['items']} items"
    assert (response.status, told in reason["detail"]) == (503, True)
    return found


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "2 of 7 items so far"), ("pt", "2 de 7 itens até agora"), ("es", "2 de 7 ítems hasta ahora")],
)
def test_the_page_of_a_starting_server_tells_how_far_it_has_come(language: str, words: str) -> None:
    app = StartingApp()
    app.read, app.expected = 2, 7
    with running(app) as server:
        _, said = server.ask("GET", "/", None, {"accept": "text/html", "accept-language": language})
    assert words in said.decode()


def test_a_starting_server_gives_the_socket_back() -> None:
    with listen("127.0.0.1", 0) as listener:
        starting = StartingServer(listener)
        starting.stop()  # without having been started
        starting.start()
        starting.start()
        host, port = listener.getsockname()
        with closing(HTTPConnection(host, port, timeout=30)) as connection:
            connection.request("GET", "/readyz")
            assert connection.getresponse().status == 503
        starting.stop()
        with closing(HTTPConnection(host, port, timeout=30)) as connection:
            connection.connect()  # nothing is refused: the next server finds it waiting
            accepted, _ = listener.accept()
            accepted.close()
