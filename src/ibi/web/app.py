"""The web application, put together from what is handed in. Nothing here is global."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from structlog.typing import FilteringBoundLogger

from ibi.errors import IbiError
from ibi.ports.clocks import Clocks
from ibi.ports.ticks import Ticks
from ibi.ports.tokens import Tokens
from ibi.services.membership import MembershipService
from ibi.services.mint_queue import MintQueue
from ibi.services.readiness import Readiness
from ibi.services.token_desk import LocalTokenDesk
from ibi.web.archive_service import ArchiveService
from ibi.web.archive_site import ArchiveSite
from ibi.web.authentication import Authentication
from ibi.web.boundary import REQUEST, Boundary
from ibi.web.errors import answer_to, problem
from ibi.web.front import ArchiveFront, ServiceFirst
from ibi.web.health import HealthPage, healthz
from ibi.web.identity import IdentityPage
from ibi.web.labels import Labels
from ibi.web.metrics import Metrics, MetricsPage
from ibi.web.openapi import OpenApiPage
from ibi.web.records import RecordPages
from ibi.web.refusals import InternalError, MethodNotAllowed, NotFound
from ibi.web.tokens import TokenPages

__all__ = ["create_app"]


def create_app(
    *,
    queue: MintQueue,
    ticks: Ticks,
    tokens: Tokens,
    clocks: Clocks,
    log: FilteringBoundLogger | None = None,
    archive: ArchiveSite | None = None,
    membership: MembershipService | None = None,
) -> Starlette:
    """An ASGI application that starts and stops the `queue`; closing the stores is left to whoever opened them.

    `ticks` and `clocks` are those of the queue. With an `archive`, its items are served too; its `membership` is begun
    and ended with the application.
    """
    log = log or structlog.get_logger("ibi.web")
    metrics, readiness = Metrics(), Readiness(queue, ticks, clocks)
    queue.watch(metrics.group)
    authentication = Authentication(tokens, clocks)
    token_pages = TokenPages(LocalTokenDesk(tokens, clocks), authentication)
    routes = [
        *_routes(queue, readiness, authentication, metrics, OpenApiPage(archive=archive is not None)),
        *_token_routes(token_pages),
        *([] if archive is None else _record_routes(RecordPages(archive))),
    ]
    patterns: dict[Any, str] = {route.endpoint: route.path for route in routes}
    middleware = [Middleware(Boundary, metrics=metrics, log=log, routes=patterns)]
    if archive is not None:
        front, service = ArchiveFront(archive), ArchiveService(archive, log)
        patterns |= {**front.patterns, service: "/{service}"}
        middleware.append(Middleware(ServiceFirst, service=service))
    app = Starlette(
        routes=routes,
        middleware=middleware,
        exception_handlers={IbiError: _refusing(log), HTTPException: _not_routed},
        lifespan=_lifespan(queue, membership),
    )
    app.router.redirect_slashes = False  # one address each, and an answer instead of a second request
    if archive is not None:
        # Not a route: routes know a path decoded only, and one that takes every path would hide wrong methods.
        app.router.default = front
    return app


def _routes(
    queue: MintQueue, readiness: Readiness, authentication: Authentication, metrics: Metrics, description: OpenApiPage
) -> list[Route]:
    """The busiest first."""
    return [
        Route("/api/labels", Labels(queue, authentication, metrics), methods=["POST"]),
        Route("/api/identity", IdentityPage(queue, readiness).get),
        Route("/api/openapi.json", description.get),
        Route("/healthz", healthz),
        Route("/readyz", HealthPage(readiness).readyz),
        Route("/metrics", MetricsPage(metrics, readiness).get),
    ]


def _token_routes(pages: TokenPages) -> list[Route]:
    return [
        Route("/api/tokens", _by_method(GET=pages.list, POST=pages.create), methods=["GET", "POST"]),
        Route("/api/tokens/{id}", pages.revoke, methods=["DELETE"]),
    ]


def _record_routes(pages: RecordPages) -> list[Route]:
    """A label is any number of segments: what follows it comes first."""
    return [
        Route("/api/records/{label:path}/files", pages.files),
        Route("/api/records/{label:path}/usage", pages.usage),
        Route("/api/records/{label:path}", pages.get),
    ]


def _by_method(**handlers: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """One route for several methods, so that any other is told which ones there are."""

    async def handle(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return handle


def _lifespan(
    queue: MintQueue, membership: MembershipService | None
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        queue.start()
        if membership is not None:
            membership.start()
        try:
            yield
        finally:
            if membership is not None:
                await membership.stop()
            await queue.stop()

    return lifespan


def _refusing(log: FilteringBoundLogger) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, IbiError)
        answer = answer_to(error)
        if not answer.told:
            log.error("refused", request=request.scope.get(REQUEST), code=error.code, detail=str(error), exc_info=error)
        return problem(error)

    return refuse


async def _not_routed(request: Request, error: Exception) -> Response:
    """What the router found wrong, as a problem."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted(dict(error.headers or {}).get("Allow", "").split(", ")))
        return problem(MethodNotAllowed(method=request.method[:20], allowed=allowed))
    if error.status_code == 404:
        return problem(NotFound())
    return problem(InternalError(request=request.scope.get(REQUEST)))
