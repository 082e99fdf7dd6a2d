"""What one caller can take of a running server, as whoever runs it has set it."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ibi.storage.machine import OWN_DESCRIPTORS
from tests.support.ibi_command import IbiCommand

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


# --- few descriptors ---

DESCRIPTORS = 256


def connected(url: str, source: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=60, source_address=(source, 0))


def test_many_connections_of_some_leave_room_for_others(tmp_path: Path) -> None:
    """With fewer descriptors than connections that are opened and say nothing."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))"
    command = IbiCommand(tmp_path, first=limited)
    with command.up("--log-level", "warning") as (server, url), ExitStack() as opened:
        assert len([*Path(f"/proc/{server.pid}/fd").iterdir()]) < OWN_DESCRIPTORS
        for number in range(2 * DESCRIPTORS):
            with suppress(ConnectionError):
                idle = opened.enter_context(connected(url, f"127.0.0.{number % 4 + 2}"))
                idle.sendall(REQUEST[:10])
        for _ in range(5):
            with connected(url, "127.0.0.9") as reader:
                reader.sendall(REQUEST)
                assert reader.recv(12) == b"HTTP/1.1 200"
        with connected(url, "127.0.0.9") as reader:
            reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            told = b"".join(iter(lambda: reader.recv(65536), b""))
        server.terminate()
        said = server.communicate(timeout=60)[1]
    assert b"\nibi_descriptors_exhausted_total 0.0\n" in told
    assert said.count("other clients needed their places") == 1
