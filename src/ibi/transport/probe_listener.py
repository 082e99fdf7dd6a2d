"""A socket in front of the Archive that the checker plays: it answers a resolver, and writes down what it asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from ibi.conformance.probe_archive import ProbeArchive
from ibi.conformance.wire import Awaited, HeardRequest

_FOR_A_REQUEST: Final = 5.0
_FOR_AWAITED: Final = 2.0
"""Seconds in which an acknowledgment has to come."""
_QUIET: Final = 0.3
"""Seconds without a request that count as "nothing more comes"."""
_MOST_HEARD: Final = 1_000
_MOST_AT_ONCE: Final = 32


class ProbeInbox:
    """What was asked, in its order."""

    def __init__(self) -> None:
        self._heard: list[HeardRequest] = []
        self._changed = threading.Condition()

    def add(self, request: HeardRequest) -> None:
        with self._changed:
            if len(self._heard) < _MOST_HEARD:
                self._heard.append(request)
            self._changed.notify_all()

    def heard(self) -> list[HeardRequest]:
        with self._changed:
            return list(self._heard)

    def wait(self, begin: int, awaited: Awaited) -> None:
        """Wait until what is awaited has come after the first `begin` requests, or for as long as that may take."""
        with self._changed:
            if awaited is Awaited.ACKNOWLEDGMENT:
                self._changed.wait_for(lambda: self._is_thanked(begin), _FOR_AWAITED)
            if awaited is Awaited.QUIET:
                end = time.monotonic() + _FOR_AWAITED
                while self._changed.wait(_QUIET) and time.monotonic() < end:
                    pass

    def _is_thanked(self, begin: int) -> bool:
        return any(each.subject == "acknowledgment" for each in self._heard[begin:])


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, inbox: ProbeInbox) -> None:
        super().__init__((host, port), _Handler)
        self.inbox = inbox
        self.archive: ProbeArchive | None = None
        self.turns = threading.BoundedSemaphore(_MOST_AT_ONCE)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that breaks off is no matter for the one who checks."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _FOR_A_REQUEST
    protocol_version = "HTTP/1.1"

    def _take(self) -> None:
        path, _, query = self.path.partition("?")
        request = HeardRequest(self.command, path, query)
        with self.server.turns:
            archive = self.server.archive
            body = None if archive is None else archive.answer(request)
            if query:
                self.server.inbox.add(request)
        self._reply(200 if body is not None else 404, body or b"")

    do_GET = do_POST = do_PUT = do_HEAD = _take  # the names that the library calls

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """What is asked is in the report."""


@contextmanager
def listening(service: str, host: str, port: int, address: str | None) -> Iterator[tuple[ProbeInbox, str]]:
    """Listen as the Archive with that service; give what it hears, and the address that the resolver is told.

    `address` is host and port as the resolver reaches them; those on which it listens if not given.
    """
    inbox = ProbeInbox()
    with _Server(host, port, inbox) as server:
        told = address or f"{host}:{server.server_address[1]}"
        server.archive = ProbeArchive(service, told)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="ibi-check", daemon=True)
        thread.start()
        try:
            yield inbox, told
        finally:
            server.shutdown()
            thread.join()
