"""A server in a thread of this process, on a port that was free."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from ibi.server.server import Server, listen


@dataclass(frozen=True)
class RunningServer:
    url: str
    server: Server

    def connection(self, timeout: float = 60) -> HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname
        return HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[HTTPResponse, Any]:
        """The response and its body, read as JSON if it is some."""
        with closing(self.connection()) as connection:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            content = response.read()
            is_json = "json" in (response.getheader("content-type") or "")
            return response, json.loads(content) if is_json and b"\n" not in content else content


@contextmanager
def running(app: ASGIApp, *, grace: int = 10) -> Iterator[RunningServer]:
    """Up when entered, stopped cleanly when left."""
    urls: list[str] = []
    started = threading.Event()

    def ready(url: str) -> None:
        urls.append(url)
        started.set()

    server = Server(app, ready=ready, grace=grace)
    listener = listen("127.0.0.1", 0)

    def run() -> None:
        try:
            server.run([listener])
        finally:
            started.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert started.wait(30)
        assert urls, "the server did not start"
        yield RunningServer(urls[0], server)
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive(), "the server did not stop"
