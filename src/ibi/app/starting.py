"""A server that is still starting: it answers that it is alive and not ready.

Otherwise requests would wait, on a socket that listens already, until a catalogue of a million items is rebuilt.
"""

from __future__ import annotations

from socket import socket
from threading import Thread

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ibi.minting.resources import ReadinessResource, StartProgress
from ibi.server.server import Server
from ibi.web.page_answers import refusal
from ibi.web.request_errors import ServerStarting
from ibi.web.status import healthz, not_ready


class StartingApp:
    """Answers `alive` at `/healthz`, and 503 everywhere else. Each connection gets one answer.

    It reports the progress of the start: `read` items of `expected`, as far as either is known.
    """

    def __init__(self) -> None:
        self.read = 0
        self.expected: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        response = await self._answer(Request(scope, receive))
        response.headers["connection"] = "close"
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.url.path == "/healthz":
            return await healthz(request)
        # The store may have more objects than the catalogue had: never report "1001 of 1000".
        read, expected = self.read, self.expected
        items = None if expected is None else max(expected, read)
        error = ServerStarting(read=read, items=items)
        if request.url.path == "/readyz":
            return not_ready((error,), ReadinessResource(ready=False, reasons=[], progress=StartProgress(read, items)))
        return refusal(error, request.scope)


async def _lifespan(receive: Receive, send: Send) -> None:
    for stage in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{stage}.complete"})


class StartingServer:
    """Serves a `StartingApp` on a listening socket of another server, in a thread, between `start` and `stop`."""

    def __init__(self, listener: socket) -> None:
        self._listener = listener
        self._app = StartingApp()
        self._server: Server | None = None
        self._thread: Thread | None = None

    def start(self, expected: int | None = None) -> None:
        """Answer from now on, unless it does so already. `expected` is the number of items to read."""
        self._app.read, self._app.expected = 0, expected
        if self._thread is None:
            self._server = server = Server(self._app, grace=1)
            # A copy: this server closes its descriptor when it stops, and the real server needs one.
            sockets = [self._listener.dup()]
            self._thread = Thread(target=lambda: server.run(sockets), name="starting", daemon=True)
            self._thread.start()

    def count_item(self) -> None:
        """Count one more item as read."""
        self._app.read += 1

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join()
        self._server = self._thread = None
