"""What surrounds every request: a name for the log, headers on the answer, a count, and a net under the application."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from logging import DEBUG, INFO, WARNING
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.storage.descriptors import is_exhaustion
from ibi.storage.errors import TooManyOpenFiles
from ibi.web.http.errors import problem
from ibi.web.http.headers import HARDENING
from ibi.web.http.metrics import Metrics
from ibi.web.http.reader_address import truncated
from ibi.web.http.request_errors import InternalError, ServerStopping

REQUEST = "ibi.request"
"""Where in a scope the name of the request stands: the log and the caller know it by that."""

REQUEST_HEADER = b"x-request-id"
"""The header of an answer in which the same name stands, as its last one."""

_LONGEST_PATH = 200
_HARDENED = frozenset(name for name, _ in HARDENING)
_EMPTY = (b"content-length", b"0")
_OF_NOTHING = tuple(each for each in HARDENING if each[0] == b"referrer-policy")
"""An answer without a body, as redirects are, has nothing that a browser could load, run or mistake."""


class AnswerBroken(Exception):
    """An answer whose rest must not be sent, and why is told already. The server then closes the connection before
    what the head of the answer promised: no reader takes it for whole."""


def request_names() -> Iterator[str]:
    """Chance once, then a number: asking the system for chance at each request would cost more than routing it."""
    chance = secrets.token_hex(4)
    return (f"{chance}{number:08x}" for number in count(1))


def hardened(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, with what every answer carries but for the name of its request."""
    given = list(given)
    needed = _OF_NOTHING if _EMPTY in given else HARDENING
    present = _HARDENED.intersection([key for key, _ in given])
    added = [each for each in needed if each[0] not in present] if present else needed
    return [*given, *added]


class RequestMiddleware:
    """Pure ASGI, around everything that has routes. Nothing that a caller must not see leaves it."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        log: FilteringBoundLogger,
        routes: Mapping[Any, str],
        names: Iterator[str],
    ) -> None:
        """`routes` tells the pattern of each endpoint, for counting; `names` are those of requests."""
        self._app, self._metrics, self._log, self._routes, self._names = app, metrics, log, routes, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = scope[REQUEST] = next(self._names)
        answer = _Answer(send, name)
        began = time.perf_counter()
        try:
            await self._app(scope, receive, answer.send)
        except (ClientDisconnect, AnswerBroken):
            return  # the reader has gone, or gets no more
        except asyncio.CancelledError:
            # The server stops and has waited long enough.
            if answer.status is not None:
                raise
            await problem(ServerStopping())(scope, receive, answer.send)
        except Exception as error:
            # The last net: a caller gets a problem, the log gets the whole story.
            self._log.error("request failed", request=name, **_described(scope), exc_info=True)
            if answer.status is not None:
                raise  # half an answer is out: the server breaks the connection, so that nobody takes it for whole
            told = TooManyOpenFiles() if is_exhaustion(error) else InternalError(request=name)
            await problem(told)(scope, receive, answer.send)
        finally:
            self._account(scope, answer.status, name, time.perf_counter() - began)

    def _account(self, scope: Scope, status: int | None, name: str, seconds: float) -> None:
        if status is None:
            return
        self._metrics.answered(self._routes.get(scope.get("endpoint")), scope["method"], status)
        level = DEBUG if status < 400 else INFO if status < 500 else WARNING
        if self._log.is_enabled_for(level):
            told = {**_described(scope), "status": int(status), "seconds": round(seconds, 6)}
            self._log.log(level, "request", request=name, **told)


class _Answer:
    """Passes an answer on, with what every answer carries."""

    __slots__ = ("_name", "_send", "status")

    def __init__(self, send: Send, name: str) -> None:
        self._send, self._name = send, name.encode("ascii")
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = hardened(message.get("headers", ()))
            headers.append((REQUEST_HEADER, self._name))
            message = {**message, "headers": headers}
        await self._send(message)


def _described(scope: Scope) -> dict[str, object]:
    """A request for the log: neither its query nor any header, for they may hold secrets."""
    client = scope.get("client")
    return {
        "method": scope["method"],
        "path": scope["path"][:_LONGEST_PATH],
        "client": truncated(client[0]) if client else "unknown",
    }
