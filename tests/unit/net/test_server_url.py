"""Where a server is."""

from __future__ import annotations

import pytest

from ibi.net.errors import InvalidServer
from ibi.net.server_url import ServerUrl, request_target, server_of


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        ("https://ibi.example.org", "https://ibi.example.org"),
        ("https://ibi.example.org/", "https://ibi.example.org"),
        ("https://ibi.example.org:8443/base/path/", "https://ibi.example.org:8443/base/path"),
        ("http://127.0.0.1:8765", "http://127.0.0.1:8765"),
        ("http://[::1]:8765/", "http://[::1]:8765"),
        ("HTTPS://IBI.example.org", "https://ibi.example.org"),
    ],
)
def test_the_address_of_a_server_is_read(server: str, shown: str) -> None:
    assert str(ServerUrl.parse(server)) == shown


@pytest.mark.parametrize(
    "server",
    [
        "",
        "ibi.example.org",
        "//ibi.example.org",
        "ftp://ibi.example.org",
        "https://",
        "https:///path",
        "https://ibi.example.org:port",
        "https://ibi.example.org:99999",
        "https://[::1",
        "https://ibi.example.org/?a=b",
        "https://ibi.example.org/#a",
        "https://ibi.example.org/ x",
        "https://ibi.example.org/\r\nX: y",
        "https://ibi.example.org/é",
    ],
)
def test_what_is_no_such_address_is_refused_in_one_line(server: str) -> None:
    with pytest.raises(InvalidServer) as refusal:
        ServerUrl.parse(server)
    assert str(refusal.value).isprintable()


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidServer) as refusal:
        ServerUrl.parse("https://user:hunter2@ibi.example.org")
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    ("server", "private"),
    [
        ("https://ibi.example.org", True),
        ("http://127.0.0.1:8765", True),
        ("http://127.9.9.9", True),
        ("http://[::1]", True),
        ("http://localhost:8765", True),
        ("http://ibi.example.org", False),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://192.168.1.1", False),
        ("http://0.0.0.0", False),
    ],
)
def test_a_url_knows_whether_others_can_listen_in(server: str, private: bool) -> None:
    assert ServerUrl.parse(server).is_private is private


@pytest.mark.parametrize(
    ("server", "port"), [("http://[::1]", 80), ("https://[2001:db8::7]", 443), ("http://[::1]:8765", 8765)]
)
def test_the_last_group_of_an_address_is_not_taken_for_a_port(server: str, port: int) -> None:
    assert ServerUrl.parse(server).origin.effective_port == port


@pytest.mark.parametrize(
    ("url", "server", "target"),
    [
        ("https://ibi.example.org", "https://ibi.example.org", "/"),
        ("https://ibi.example.org:8443/a/b?c=d/e#f", "https://ibi.example.org:8443", "/a/b?c=d/e"),
        ("http://[::1]:8765?c", "http://[::1]:8765", "/?c"),
        ("http://ibi.example.org#f/g?h", "http://ibi.example.org", "/"),
    ],
)
def test_a_url_is_taken_apart_for_a_request(url: str, server: str, target: str) -> None:
    assert (str(server_of(url)), request_target(url)) == (server, target)


@pytest.mark.parametrize("url", ["ibi.example.org/a", "file:///etc/passwd", "https://user@ibi.example.org/a", "//a/b"])
def test_a_url_of_no_server_has_none(url: str) -> None:
    with pytest.raises(InvalidServer):
        server_of(url)
