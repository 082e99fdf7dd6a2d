"""A resolver that does as it is told, on a real socket. It shares no code with what it tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

Answer = tuple[int, bytes]

INCLUDED = b"status.archive included status.confirmation successful"
UNCONFIRMED = b"status.archive included status.confirmation unsuccessful"
EXCLUDED = b"status.archive excluded"


@dataclass(frozen=True)
class Request:
    path: str
    pairs: frozenset[str]
    """The raw `name=value` of the query."""

    @property
    def subject(self) -> str:
        return self.value("servicesubject")

    def value(self, name: str) -> str:
        (found,) = [pair.partition("=")[2] for pair in self.pairs if pair.partition("=")[0] == name]
        return found


@dataclass
class ScriptedResolver:
    """Away until `open`; then every request is put into `received`, and answered by the script while there is one."""

    script: list[Answer | Callable[[], Answer]] = field(default_factory=list)
    received: Queue[Request] = field(default_factory=Queue)
    confirmations: list[bytes] = field(default_factory=list)
    """What the Archives answered that were called back."""

    def __post_init__(self) -> None:
        # Bound, but not listening: nobody else gets the port, and whoever comes is refused.
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(), bind_and_activate=False)
        self._server.server_bind()
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def open(self) -> None:
        self._server.server_activate()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def next(self) -> Request:
        return self.received.get(timeout=60)

    def answer(self, request: Request) -> Answer:
        if self.script:
            scripted = self.script.pop(0)
            return scripted() if callable(scripted) else scripted
        if request.subject == "exclusionRequest":
            return 200, EXCLUDED
        return 200, INCLUDED if self._confirmed(request) else UNCONFIRMED

    def _confirmed(self, request: Request) -> bool:
        """R §7.2, messages 3 and 4."""
        archive = HTTPConnection(request.value("archiveaddress"), timeout=30)
        try:
            archive.request("GET", f"/{request.value('archiveserviceibi')}?servicesubject=inclusionConfirmationRequest")
            self.confirmations.append(archive.getresponse().read())
        except OSError:
            return False
        finally:
            archive.close()
        return self.confirmations[-1] == b"confirmation yes"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        resolver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                request = Request(path, frozenset(query.split("&")))
                status, body = resolver.answer(request)
                self.send_response(status)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                if 300 <= status < 400:
                    self.send_header("Location", f"{resolver.url}/elsewhere")
                self.end_headers()
                self.wfile.write(body)
                resolver.received.put(request)

            def log_message(self, format: str, *args: Any) -> None:
                """Silence."""

        return Handler


@contextmanager
def scripted_resolver(*script: Answer | Callable[[], Answer], away: bool = False) -> Iterator[ScriptedResolver]:
    resolver = ScriptedResolver(list(script))
    if not away:
        resolver.open()
    try:
        yield resolver
    finally:
        resolver.close()
