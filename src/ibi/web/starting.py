"""The answers of a server that is still starting: that it lives, and that it is not ready.

Otherwise requests would wait, on a socket that listens already, until a catalogue of a million items is rebuilt.
"""

from __future__ import annotations

from socket import socket
from threading import Thread

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ibi.web.api.status import healthz, not_ready
from ibi.web.fast.server import Server
from ibi.web.http.request_errors import ServerStarting
from ibi.web.pages import refusal


async def starting_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers `alive` at `/healthz`, and 503 everywhere else; each connection gets one answer."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    response = await _answer(Request(scope, receive))
    response.headers["connection"] = "close"
    await response(scope, receive, send)


async def _answer(request: Request) -> Response:
    if request.url.path == "/healthz":
        return await healthz(request)
    if request.url.path == "/readyz":
        return not_ready((ServerStarting(),))
    return refusal(ServerStarting(), request.scope)


async def _lifespan(receive: Receive, send: Send) -> None:
    for stage in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{stage}.complete"})


class StartingServer:
    """Serves `starting_app` on a listening socket of another server, in a thread, between `start` and `stop`."""

    def __init__(self, listener: socket) -> None:
        self._listener = listener
        self._server: Server | None = None
        self._thread: Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._server = server = Server(starting_app, grace=1)
            # A copy: this server closes its descriptor when it stops, and the server proper needs one.
            sockets = [self._listener.dup()]
            self._thread = Thread(target=lambda: server.run(sockets), name="starting", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join()
        self._server = self._thread = None
