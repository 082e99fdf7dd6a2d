"""Answers that need no waiting, given while the request is read: without a task and without the framework.

Resolvers and readers send most requests, and most of them need one look-up. A task and the way through the application
would take longer than the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from logging import DEBUG
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.web.request import has_subject, percent_decode, raw_path
from ibi.web.request_middleware import REQUEST, REQUEST_HEADER, Metrics, harden_headers

Begun = TypeVar("Begun")

_NAMED: Final = b"%b" + REQUEST_HEADER + b": %b\r\n"


def _nothing() -> None:
    """The default: nothing is done after the answer."""


class Head(NamedTuple):
    """Headers in written form, with those of every answer. Their number reveals an injected line."""

    lines: bytes
    number: int

    @classmethod
    def of(cls, headers: Iterable[tuple[bytes, bytes]]) -> Head:
        lines = [b"%b: %b\r\n" % header for header in harden_headers(headers)]
        return cls(b"".join(lines), len(lines))

    def fill(self, *values: bytes) -> Head:
        """Return the head with `values` in place of each `%b`, so that common lines are written once."""
        return Head(self.lines % values, self.number)

    def with_request_name(self, request: str) -> Head:
        """Return the head with the header that names the request."""
        return Head(_NAMED % (self.lines, request.encode("ascii")), self.number + 1)


_server_lines: tuple[Sequence[tuple[bytes, bytes]], Head] = ((), Head(b"", 0))


def server_lines(headers: Sequence[tuple[bytes, bytes]]) -> Head:
    """Return the server's own headers in written form. They come before all others.

    The server replaces the list once a second, with the date. The written form is cached until then.
    """
    global _server_lines
    if _server_lines[0] is not headers:
        lines = [b"%b: %b\r\n" % header for header in headers]
        _server_lines = headers, Head(b"".join(lines), len(lines))
    return _server_lines[1]


class FastAnswer(NamedTuple):
    """A whole answer, and a function to call once it is being sent."""

    status: int
    headers: list[tuple[bytes, bytes]] | Head
    body: bytes = b""
    after: Callable[[], object] = _nothing


class RawResponse(NamedTuple):
    """An answer that lacks only its status line and the server's own headers."""

    status: int
    head: Head
    body: bytes = b""
    after: Callable[[], object] = _nothing


class FastEndpoint(Protocol):
    """An ASGI application that can give some of its answers at once."""

    def at_once(self, scope: Scope) -> FastAnswer | None:
        """Return the answer; None if the request has to go through the application, with the work so far in its
        scope."""


class Handover(Generic[Begun]):
    """Work that a fast endpoint began and could not finish at once.

    The request's scope carries it to the application, which continues it. Each endpoint that begins work has its own
    handover.
    """

    __slots__ = ("_key",)

    def __init__(self, name: str) -> None:
        self._key = f"ibi.handover.{name}"

    def leave(self, scope: Scope, begun: Begun) -> None:
        scope[self._key] = begun

    def take(self, scope: Scope) -> Begun | None:
        """Return the work once; None if the request came by another way."""
        begun: Begun | None = scope.pop(self._key, None)
        return begun


class FastPath:
    """The fast path, which the connection asks before the application. Its answers equal the application's, byte for
    byte."""

    def __init__(
        self,
        choose: Callable[[Scope], FastEndpoint | None],
        *,
        metrics: Metrics,
        log: FilteringBoundLogger,
        routes: Mapping[Any, str],
        names: Iterator[str],
    ) -> None:
        """`choose` returns the fast endpoint of a request, or None. `routes` has the pattern of each endpoint, for
        counting. `names` are those of requests."""
        self._choose, self._metrics, self._routes, self._names = choose, metrics, routes, names
        self._log = log.bind()  # an unbound logger would be bound at each use

    def __call__(self, scope: Scope) -> RawResponse | None:
        """Return the answer to a request without a body; None if it has to go through the application."""
        if self._log.is_enabled_for(DEBUG):
            return None  # the middleware then logs every request, in one place
        endpoint = self._choose(scope)
        if endpoint is None:
            return None
        try:
            answer = endpoint.at_once(scope)
        except Exception:  # noqa: BLE001 - the application raises it too, and handles it
            return None
        if answer is None:
            return None
        status, headers, body, after = answer
        head = headers if isinstance(headers, Head) else Head.of(headers)
        name = scope[REQUEST] = next(self._names)
        finish = partial(self._finish, after, name, self._routes.get(endpoint), scope["method"], status)
        return RawResponse(status, head.with_request_name(name), body, finish)

    def _finish(self, after: Callable[[], object], name: str, route: str | None, method: str, status: int) -> None:
        """Count the answer, which the reader has already: a later error does not concern the reader."""
        self._metrics.count_answer(route, method, status)
        try:
            after()
        except Exception:  # noqa: BLE001 - the parser must not mistake it for a bad request
            self._log.error("request failed", request=name, exc_info=True)


RESERVED: Final = frozenset(
    ".well-known about account admin api claims col collections deposit dump.ndjson.gz explain healthz"
    " inbox items.atom jobs language metrics oai readyz resolver robots.txt search search.atom sign-in"
    " sign-out sitemap.xml static".split()
)
"""First segments that cannot begin a label, including those of later parts of a server. `/ibi/<label>` leads to an item
with any label."""


class FastApp(Protocol):
    """An ASGI application that can give some of its answers at once."""

    def at_once(self, scope: Scope) -> FastAnswer | None: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Service(FastApp, Protocol):
    """An application that answers requests with a subject under a label of its own (R §6.1)."""

    def is_asked(self, path: bytes) -> bool:
        """Return whether the path is its label. The request must have a subject."""


class Dispatcher:
    """Chooses the endpoint of a request that needs no routing: a service, or the application for persistent URLs.

    A path that begins with one of `taken`, or is not plain, is left to the framework.
    """

    def __init__(
        self, services: Sequence[Service], persistent: FastApp | None = None, taken: Iterable[str] = ()
    ) -> None:
        self._services, self._persistent = tuple(services), persistent
        self._taken = frozenset(each.encode() for each in taken)

    @property
    def has_endpoints(self) -> bool:
        return bool(self._services) or self._persistent is not None

    def endpoint(self, scope: Scope) -> FastApp | None:
        path, query = scope.get("raw_path") or raw_path(scope), scope["query_string"]
        if query and has_subject(query):
            for service in self._services:
                if service.is_asked(path):
                    return service
        if self._persistent is None or b"%" in path:
            return None
        # Every label has at least two segments.
        end = path.find(b"/", 1)
        return None if end < 0 or path[1:end] in self._taken else self._persistent

    def is_for_service(self, scope: Scope) -> bool:
        path, query = raw_path(scope), scope["query_string"]
        return bool(query) and has_subject(query) and any(service.is_asked(path) for service in self._services)

    def may_be_persistent(self, scope: Scope) -> bool:
        """Return whether the path can only be a persistent URL: it has two segments, and no page is below the first
        one."""
        first, slash, rest = percent_decode(raw_path(scope)).removeprefix("/").partition("/")
        return bool(first and slash and rest) and first.encode() not in self._taken


class DispatchMiddleware:
    """Pure ASGI middleware: a request with an endpoint that the dispatcher knows bypasses the framework."""

    def __init__(self, app: ASGIApp, dispatcher: Dispatcher) -> None:
        self._app, self._endpoint = app, dispatcher.endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoint(scope) if scope["type"] == "http" else None
        if endpoint is None:
            await self._app(scope, receive, send)
        else:
            scope["endpoint"] = endpoint
            await endpoint(scope, receive, send)


def first_segments(paths: Iterable[str]) -> frozenset[str]:
    """Return the first segments that begin no persistent URL: `api` of `/api/labels`, and the reserved ones."""
    return RESERVED | {path.split("/")[1] for path in paths}
