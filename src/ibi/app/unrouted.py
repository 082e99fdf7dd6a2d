"""Requests without a route: files and pages of items, persistent URLs, and pages with a superfluous slash.

There are two reasons against routes here. A route sees only the decoded path. And a route that takes every path would
hide requests with a wrong method.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.reading.delivery.collection import Collection
from ibi.reading.delivery.persistent_urls import PersistentUrls
from ibi.resolver.api.persistent_url_app import PersistentUrlApp
from ibi.server.fast_path import RESERVED
from ibi.standard.errors import ErrorKind, IbiError
from ibi.web.errors import problem
from ibi.web.page_answers import failure, refusal, wants_page
from ibi.web.request import percent_decode, raw_path
from ibi.web.request_errors import InternalError, MethodNotAllowed, PathNotFound
from ibi.web.request_middleware import DENIED, REQUEST


class FallbackApp:
    """Serves requests without a route: the files and pages of the collection, and persistent URLs. It resolves
    persistent URLs, or finds them in this Archive."""

    def __init__(self, collection: Collection | None, persistent: PersistentUrlApp | PersistentUrls | None) -> None:
        """Without a `collection`, this server has no items. Without `persistent`, it serves no persistent URLs."""
        self._collection, self._persistent = collection, persistent

    @property
    def patterns(self) -> Mapping[Any, str]:
        """The name of each endpoint in the metrics."""
        found = {self._collection: "/col/{path}", self._persistent: "/{ibi}"}
        return {endpoint: pattern for endpoint, pattern in found.items() if endpoint is not None}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["endpoint"] = endpoint = self._endpoint(raw_path(scope))
        await endpoint(scope, receive, send)

    def _endpoint(self, path: bytes) -> Collection | PersistentUrls | PersistentUrlApp:
        # Decoded before the comparison: `/%61pi/` is the same place as `/api/`.
        first, _, rest = percent_decode(path).removeprefix("/").partition("/")
        if first == "col" and rest:
            if self._collection is not None:
                return self._collection
            if self._persistent is not None:
                return self._persistent  # E21: links like /col/<label>/doc/<path> work at a resolver too
        if first in RESERVED or not first or self._persistent is None:
            raise PathNotFound()
        return self._persistent


_FOR_PROGRAMS: Final = ("/api/", "/static/")
"""Prefixes of addresses for programs. These addresses are not redirected: each has one spelling."""


class SlashRedirect:
    """Redirects a reader from `/search/` to `/search` if the latter is a page, and passes everything else to `app`.

    Only requests without a route come here, and only routes are targets. Labels and files of items have no routes, so
    that a slash in their addresses keeps its meaning. The redirect gives each page one address, for caches, citations
    and search engines. Status 308 keeps the typed text of a form.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[Route]) -> None:
        self._app = app
        self._pages = [route for route in routes if not route.path.startswith(_FOR_PROGRAMS)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = self._page_without_slash(scope)
        if place is None:
            await self._app(scope, receive, send)
            return
        query = scope["query_string"].decode("latin-1")
        where = f"{place}?{query}" if query else place
        await Response(b"", HTTPStatus.PERMANENT_REDIRECT, {"location": where})(scope, receive, send)

    def _page_without_slash(self, scope: Scope) -> str | None:
        # A second slash at the beginning would turn the rest into a host name.
        raw = raw_path(scope)
        if scope["type"] != "http" or not raw.endswith(b"/") or raw.startswith(b"//"):
            return None
        asked = {**scope, "path": scope["path"].rstrip("/")}
        found = any(route.matches(asked)[0] is not Match.NONE for route in self._pages)
        return raw.rstrip(b"/").decode("latin-1") if found else None


def error_handler(log: FilteringBoundLogger) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return the handler of errors in routes. The handler notes refused requests for the audit log."""

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, IbiError)
        if error.kind in (ErrorKind.UNAUTHENTICATED, ErrorKind.FORBIDDEN) or error.parameters.get("is_denied"):
            request.scope[DENIED] = error
        if not error.kind.is_told:
            log.error("refused", request=request.scope.get(REQUEST), code=error.code, detail=str(error), exc_info=error)
        return _error_answer(error, request)

    return refuse


async def answer_unrouted(request: Request, error: Exception) -> Response:
    """Return the answer to an error of the router."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted(dict(error.headers or {}).get("Allow", "").split(", ")))
        return _error_answer(MethodNotAllowed(method=request.method[:20], allowed=allowed), request)
    if error.status_code == 404:
        return _error_answer(PathNotFound(), request)
    return failure(InternalError(request=request.scope.get(REQUEST)), request.scope)


def _error_answer(error: IbiError, request: Request) -> Response:
    """Return the answer to an error: a page for a browser, except for paths of programs."""
    if not error.kind.is_told:
        return failure(error, request.scope)
    is_for_people = not request.url.path.startswith("/api/")
    return refusal(error, request.scope) if is_for_people and wants_page(request.scope["headers"]) else problem(error)
