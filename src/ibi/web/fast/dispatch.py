"""Dispatch before the router: requests to services, and persistent URLs, which need no route."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.web.fast.fast_path import FastAnswer
from ibi.web.http.raw_target import percent_decode, raw_path

RESERVED: Final = frozenset(
    "about account api claims col explain healthz language metrics readyz search search.atom sign-in sign-out"
    " static".split()
)
"""First segments that cannot begin a label; `/ibi/<label>` leads to an item whatever its label begins with."""


class FastApp(Protocol):
    """An ASGI application that has some of its answers at once."""

    def at_once(self, scope: Scope) -> FastAnswer | None: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Service(FastApp, Protocol):
    """What answers requests with a subject under a label of its own (R §6.1)."""

    def is_asked(self, path: bytes, query: bytes) -> bool: ...


class Dispatcher:
    """Chooses the endpoint of a request that need not be routed: a service, or the application for persistent URLs.

    A path that begins with one of `taken`, or is not plain, is left to the framework.
    """

    def __init__(
        self, services: Sequence[Service], persistent: FastApp | None = None, taken: Iterable[str] = ()
    ) -> None:
        self._services, self._persistent = tuple(services), persistent
        self._taken = frozenset(each.encode() for each in taken)

    def endpoint(self, scope: Scope) -> FastApp | None:
        path, query = scope.get("raw_path") or raw_path(scope), scope["query_string"]
        if query:  # a service request has a subject
            for service in self._services:
                if service.is_asked(path, query):
                    return service
        if self._persistent is None or b"%" in path:
            return None
        # Two segments at least, as every label has.
        end = path.find(b"/", 1)
        return None if end < 0 or path[1:end] in self._taken else self._persistent

    def is_for_service(self, scope: Scope) -> bool:
        path, query = raw_path(scope), scope["query_string"]
        return bool(query) and any(service.is_asked(path, query) for service in self._services)

    def may_be_persistent(self, scope: Scope) -> bool:
        """Whether the path can only be a persistent URL: it has two segments, and no page is below the first of
        them."""
        first, slash, rest = percent_decode(raw_path(scope)).removeprefix("/").partition("/")
        return bool(first and slash and rest) and first.encode() not in self._taken


class DispatchMiddleware:
    """Pure ASGI: a request whose endpoint the dispatcher knows bypasses the framework."""

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
    """First segments that begin no persistent URL: `api` of `/api/labels`, and the reserved ones."""
    return RESERVED | {path.split("/")[1] for path in paths}
