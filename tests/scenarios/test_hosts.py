"""Names under which a running server has pages: asked over real connections, with the Host that a stranger chooses."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.ibi_command import IbiCommand


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Of a server on every address of the machine."""
    command = IbiCommand(tmp_path_factory.mktemp("hosts"))
    settings = {"IBI_PUBLIC_URL": "https://ibi.example.org", "IBI_HOSTS": "old.example.org backend:8080"}
    with command.up("--host", "0.0.0.0", **settings) as (_, url):
        found = urlsplit(url).port
        assert found
        yield found


def answer(port: int, head: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode("latin-1"))
        said = b""
        while piece := connection.recv(65536):
            said += piece
        return said


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("ibi.example.org", 200), ("IBI.example.ORG.:443", 200), ("old.example.org.:8765", 200)),
        *(("backend:8080", 200), ("localhost", 200), ("127.0.0.1:9", 200), ("[::1]", 200), ("0.0.0.0", 200)),
        *(("evil.example", 421), ("backend:8081", 421), ("203.0.113.9", 421), ("ibi.example.org.evil.example", 421)),
    ],
)
def test_pages_are_for_names_of_the_server(port: int, host: str, status: int) -> None:
    for path in ("/", "/search", "/api/openapi.json"):
        assert answer(port, f"GET {path} HTTP/1.1\r\nHost: {host}").startswith(b"HTTP/1.1 %d " % status)


def test_the_address_to_use_is_told(port: int) -> None:
    program = answer(port, "GET /search?q=a HTTP/1.1\r\nHost: evil.example")
    assert b"use https://ibi.example.org/search?q=a instead" in program
    person = answer(port, "GET /search?q=a HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html")
    assert b'href="https://ibi.example.org/search?q=a"' in person


def test_health_and_requests_without_a_host_are_answered(port: int) -> None:
    assert answer(port, "GET /healthz HTTP/1.1\r\nHost: 10.0.0.1").startswith(b"HTTP/1.1 200 ")
    assert answer(port, "GET / HTTP/1.0").startswith(b"HTTP/1.1 200 ")


def test_a_link_under_a_name_of_old_is_resolved_and_no_page_is_shown_there(port: int) -> None:
    link = "GET /iconet.com.br/banon/2000/12.30.22.55.07 HTTP/1.1\r\nHost: urlib.net"
    assert answer(port, link).startswith(b"HTTP/1.1 404 ")
    shown = answer(port, f"{link}\r\nAccept: text/html")
    assert shown.startswith(b"HTTP/1.1 421 ")


def test_each_address_of_the_machine_is_ours(port: int) -> None:
    """The address by which this machine would reach others, where it has one; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        own = probe.getsockname()[0]
    assert answer(port, f"GET / HTTP/1.1\r\nHost: {own}:{port}").startswith(b"HTTP/1.1 200 ")
