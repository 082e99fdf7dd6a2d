"""What a server answers before it is ready to serve."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection

import pytest

from ibi.web.fast.server import listen
from ibi.web.starting import StartingServer, starting_app
from tests.support.running_server import running


def test_a_starting_server_lives_is_not_ready_and_says_so_to_everyone() -> None:
    with running(starting_app) as server:
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
    with running(starting_app) as server:
        headers = {"accept": "text/html", "accept-language": language}
        response, said = server.ask("GET", "/sid.inpe.br/mtc-m21/2012/06.05.15.34", None, headers)
        assert (response.status, response.getheader("cache-control")) == (503, "no-store")
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
