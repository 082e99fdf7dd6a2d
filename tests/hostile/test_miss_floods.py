"""Links that lead to nothing, sent by one network as fast as it can, at a real server: others do not wait for them."""

from __future__ import annotations

import select
import signal
import socket
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.ibi_command import IbiCommand

FLOOD = 200


def connected(port: int, source: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))


def ask(connection: socket.socket, number: int) -> None:
    link = f"/iconet.com.br/banon/2000/12.30.22.{number // 60:02}.{number % 60:02}"
    connection.sendall(f"GET {link} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def test_readers_of_another_network_do_not_wait_for_the_flood_of_one(tmp_path: Path) -> None:
    with IbiCommand(tmp_path).up(IBI_RESOLVE_MISSES_PER_NETWORK="1") as (server, url), ExitStack() as opened:
        port = urlsplit(url).port
        assert port
        flood = [opened.enter_context(closing(connected(port, f"127.0.1.{1 + at % 50}"))) for at in range(FLOOD)]
        for number, connection in enumerate(flood):
            ask(connection, number)
        select.select(flood, [], [], 60)  # one is answered: the flood has arrived
        for number in range(FLOOD, FLOOD + 3):
            reader = opened.enter_context(closing(connected(port, f"127.0.{2 + number}.1")))
            ask(reader, number)
            assert reader.recv(12) == b"HTTP/1.1 404"
        answered, _, _ = select.select(flood, [], [], 0)
        assert len(answered) < FLOOD
        with closing(connected(port, "127.0.9.1")) as reader:
            reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            told = b"".join(iter(lambda: reader.recv(65536), b"")).decode()
        held = next(line for line in told.splitlines() if line.startswith("ibi_links_held_back_total "))
        assert float(held.split()[1]) >= 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
        waiting = [connection for connection in flood if connection not in answered]
        assert waiting[-1].recv(12) == b"HTTP/1.1 503"
