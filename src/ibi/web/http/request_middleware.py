"""Middleware around every request: its name in the log, headers of the answer, metrics, and a handler for all
errors."""

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
from ibi.web.http.reader_address import truncate_address
from ibi.web.http.request_errors import InternalError, ServerStopping

REQUEST = "ibi.request"
"""The key in a scope of the request's name, by which log and caller know it."""

REQUEST_HEADER = b"x-request-id"
"""The last header of an answer, which has the same name."""

_LONGEST_PATH = 200
_HARDENED = frozenset(name for name, _ in HARDENING)
_EMPTY = (b"content-length", b"0")
_OF_NOTHING = tuple(each for each in HARDENING if each[0] == b"referrer-policy")
"""Headers of an answer without a body, such as a redirect: a browser finds nothing in it to load, run or mistake."""


class AnswerBroken(Exception):
    """Raised when the rest of an answer must not be sent; the reason is logged already. The server closes the
    connection before the promised length, so that no reader takes the answer for whole."""


def request_names() -> Iterator[str]:
    """Names of requests: random once, then counted up, because fresh randomness for each would cost more than routing
    it."""
    chance = secrets.token_hex(4)
    return (f"{chance}{number:08x}" for number in count(1))


def harden_headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with those of every answer, except the name of its request."""
    given = list(given)
    needed = _OF_NOTHING if _EMPTY in given else HARDENING
    present = _HARDENED.intersection([key for key, _ in given])
    added = [each for each in needed if each[0] not in present] if present else needed
    return [*given, *added]


class RequestMiddleware:
    """Pure ASGI around all routes. Details of internal errors stay inside."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        log: FilteringBoundLogger,
        routes: Mapping[Any, str],
        names: Iterator[str],
    ) -> None:
        """`routes` has the pattern of each endpoint, for counting; `names` are those of requests."""
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
            # The server is stopping and has waited long enough.
            if answer.status is not None:
                raise
            await problem(ServerStopping())(scope, receive, answer.send)
        except Exception as error:
            # The last resort: the caller gets a problem, the log the traceback.
            self._log.error("request failed", request=name, **_log_fields(scope), exc_info=True)
            if answer.status is not None:
                raise  # half the answer is sent: the server breaks the connection, so that it is not taken for whole
            told = TooManyOpenFiles() if is_exhaustion(error) else InternalError(request=name)
            await problem(told)(scope, receive, answer.send)
        finally:
            self._account(scope, answer.status, name, time.perf_counter() - began)

    def _account(self, scope: Scope, status: int | None, name: str, seconds: float) -> None:
        if status is None:
            return
        self._metrics.count_answer(self._routes.get(scope.get("endpoint")), scope["method"], status)
        level = DEBUG if status < 400 else INFO if status < 500 else WARNING
        if self._log.is_enabled_for(level):
            told = {**_log_fields(scope), "status": int(status), "seconds": round(seconds, 6)}
            self._log.log(level, "request", request=name, **told)


class _Answer:
    """Passes an answer on, with the headers of every answer."""

    __slots__ = ("_name", "_send", "status")

    def __init__(self, send: Send, name: str) -> None:
        self._send, self._name = send, name.encode("ascii")
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = harden_headers(message.get("headers", ()))
            headers.append((REQUEST_HEADER, self._name))
            message = {**message, "headers": headers}
        await self._send(message)


def _log_fields(scope: Scope) -> dict[str, object]:
    """A request for the log, without query and headers: they may hold secrets."""
    client = scope.get("client")
    return {
        "method": scope["method"],
        "path": scope["path"][:_LONGEST_PATH],
        "client": truncate_address(client[0]) if client else "unknown",
    }
