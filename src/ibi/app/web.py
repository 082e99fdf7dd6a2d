"""The web application, built from what each capability registers. Nothing here is global."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import Scope

from ibi.app.front import Front
from ibi.app.openapi import OpenApiPage
from ibi.app.unrouted import SlashRedirect, answer_unrouted, error_handler
from ibi.harvesting.api.listings import SITEMAP, RobotsPage
from ibi.people.model.account import ROLE_SCOPE, Actor, person_account
from ibi.people.service.refusals import RefusalLog
from ibi.reading.delivery.content_host import BytesAlone, ContentHost
from ibi.server.connection_bounds import BufferBound
from ibi.server.fast_path import Dispatcher, DispatchMiddleware, FastEndpoint, FastPath, first_segments
from ibi.server.server import LoadLog
from ibi.standard.errors import IbiError
from ibi.web.authentication import Authentication
from ibi.web.metrics import JobCollector, WorkerMetrics
from ibi.web.middleware import ConnectionRefusals, HostCheck, KnownSite, SwitchGuard
from ibi.web.opened import Opened, WebContext
from ibi.web.page_answers import failure
from ibi.web.reader import Sessions
from ibi.web.rendering import SiteFacts
from ibi.web.request_middleware import Identify, MetricsPage, RefusalWatch, RequestMiddleware, request_names
from ibi.web.status import HealthPage, healthz


def create_app(context: WebContext, opened: Sequence[Opened], front: Front) -> Starlette:
    """Return an ASGI application with all capabilities in `opened`. The caller closes the stores.

    The jobs run while the application runs. Routes match in the order of the capabilities.
    """
    metrics, log, share = context.metrics, context.log, context.share
    for each in opened:
        context.jobs.add(*each.jobs)
        context.readiness.add(*each.readiness)
    metrics.registry.register(JobCollector(context.jobs))
    counts = None if share.state is None else WorkerMetrics(share.state, share.slot, metrics.registry, metrics.answered)
    routes = [*_server_routes(context, opened, front, counts), *(route for each in opened for route in each.routes)]
    routes.append(_robots(front, routes))
    services = tuple(service for each in opened for service in each.services)
    dispatcher = Dispatcher(services, front.links.persistent, first_segments(route.path for route in routes))
    patterns: dict[Any, str] = {route.endpoint: route.path for route in routes}
    patterns |= {**front.links.fallback.patterns, **dict.fromkeys(services, "/{service}")}
    site = context.facts.served_with(routes, (link for each in opened for link in each.menu))
    names = request_names()
    outer = Middleware(RequestMiddleware, metrics=metrics, log=log, routes=patterns, names=names, failure=failure)
    app = Starlette(
        routes=routes,
        middleware=[outer, *_middleware(context, front, site, dispatcher)],
        exception_handlers={IbiError: error_handler(log), HTTPException: answer_unrouted},
        lifespan=_lifespan(context, opened, counts),
    )
    app.router.redirect_slashes = False  # only pages redirect; see SlashRedirect
    if front.links.fallback.patterns:
        app.router.default = SlashRedirect(front.links.fallback, routes)
    host = front.content_host
    choose = dispatcher.endpoint if host is None else _elsewhere_than(host, dispatcher.endpoint)
    app.state.at_once = FastPath(choose, metrics=metrics, log=log, routes=patterns, names=names)
    app.state.ending = _call_all([call for each in opened for call in each.ending])
    app.state.handing_over = _call_all([call for each in opened for call in each.handing_over])
    app.state.counts = counts
    _watch_connections(app, context, front, site)
    return app


def _server_routes(
    context: WebContext, opened: Sequence[Opened], front: Front, counts: WorkerMetrics | None
) -> list[Route]:
    """Return the routes for the state of the server as a whole."""
    parts = {each.api_part for each in opened}
    described = OpenApiPage(archive="archive" in parts, register="register" in parts, minting="minting" in parts)
    figures = [figure for each in opened for figure in each.figures]
    notices = [find for each in opened for find in each.notices]
    health = HealthPage(context.readiness, front.find_doubt, notices)
    return [
        Route("/api/openapi.json", described.get),
        Route("/healthz", healthz),
        Route("/readyz", health.readyz),
        Route("/metrics", MetricsPage(context.metrics, context.readiness, figures, counts).get),
    ]


def _robots(front: Front, routes: Sequence[Route]) -> Route:
    has_sitemap = any(each.path == SITEMAP for each in routes)
    return Route("/robots.txt", RobotsPage(front.public_url, has_sitemap=has_sitemap).get)


def _middleware(context: WebContext, front: Front, site: SiteFacts, dispatcher: Dispatcher) -> list[Middleware]:
    """Return the middleware inside that of all requests, the outermost first."""
    found, log = [], context.log
    if context.audit is not None:
        watched = RefusalLog(context.audit, context.clocks, rows=context.share.refusals)
        identify = _identification(context.authentication, context.sessions)
        found.append(Middleware(RefusalWatch, refusals=watched, identify=identify, proxies=context.proxies, log=log))
    if front.hosts is not None:
        known, refused = dispatcher, context.metrics.count_misdirected
        url, hosts = front.public_url, front.hosts
        found.append(Middleware(HostCheck, hosts=hosts, dispatcher=known, public_url=url, refused=refused, log=log))
    if front.content_host is not None:
        found.append(Middleware(BytesAlone, host=front.content_host))
    found.append(Middleware(KnownSite, facts=site, sessions=context.sessions, appearance=front.appearance))
    if front.is_switched_on is not None:
        found.append(Middleware(SwitchGuard, is_on=front.is_switched_on))
    if dispatcher.has_endpoints:
        found.append(Middleware(DispatchMiddleware, dispatcher=dispatcher))
    return found


def _watch_connections(app: Starlette, context: WebContext, front: Front, site: SiteFacts) -> None:
    load, buffers = LoadLog(context.log, context.metrics), BufferBound()
    buffers.watch(load.note_unread)
    app.state.load, app.state.buffers = load, buffers
    app.state.refusals = ConnectionRefusals(site)
    if front.bound is not None:
        front.bound.watch(load.note_refused, load.note_displaced)
        if (misses := front.links.misses) is not None:
            front.bound.pace(misses.connection_delay, misses.lines)
        app.state.bound = front.bound


def _identification(authentication: Authentication, sessions: Sessions | None) -> Identify:
    async def identify(scope: Scope) -> Actor | None:
        signed = None if sessions is None else sessions.current(scope)
        if signed is None:
            return await authentication.identify(scope["headers"])
        return Actor(person_account(signed.person.name), ROLE_SCOPE[signed.person.role])

    return identify


def _elsewhere_than(
    host: ContentHost, choose: Callable[[Scope], FastEndpoint | None]
) -> Callable[[Scope], FastEndpoint | None]:
    return lambda scope: None if host.is_asked(scope) else choose(scope)


def _call_all(calls: Sequence[Callable[[], object]]) -> Callable[[], None]:
    def call_all() -> None:
        for call in calls:
            call()

    return call_all


def _lifespan(
    context: WebContext, opened: Sequence[Opened], counts: WorkerMetrics | None
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return a lifespan that runs the jobs, and then stops the capabilities in reverse order."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if counts is not None:
            counts.start()
        context.jobs.start()
        try:
            yield
        finally:
            await context.jobs.stop()
            for each in reversed(opened):
                for stop in each.stop:
                    await stop()
            if counts is not None:
                await counts.stop()

    return lifespan
