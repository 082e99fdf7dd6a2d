"""What one caller can take of a running server, as whoever runs it has set it."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.ibi_command import IbiCommand

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("settings", "admitted"),
    [
        ({"IBI_CONNECTIONS_PER_CLIENT": "2"}, 2),
        ({"IBI_CONNECTIONS_PER_CLIENT": "2", "IBI_TRUSTED_PROXIES": "127.0.0.0/8"}, 5),
        ({"IBI_CONNECTIONS_PER_CLIENT": "0"}, 5),
        ({}, 5),
    ],
    ids=["two", "a proxy", "no bound", "as it comes"],
)
def test_connections_of_one_client(tmp_path: Path, settings: dict[str, str], admitted: int) -> None:
    with IbiCommand(tmp_path).up(**settings) as (_, url), ExitStack() as opened:
        place = urlsplit(url)
        assert place.hostname
        assert place.port
        said = []
        for _ in range(5):
            connection = opened.enter_context(socket.create_connection((place.hostname, place.port), timeout=60))
            connection.sendall(REQUEST)
            said.append(connection.recv(12))
    assert said == [b"HTTP/1.1 200"] * admitted + [b"HTTP/1.1 503"] * (5 - admitted)
