"""The web application, built from the services it is given. Nothing here is global."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.errors import IbiError
from ibi.ports.accounts import People, Tokens
from ibi.ports.audit import AuditLog
from ibi.ports.clocks import Clocks, Ticks
from ibi.services.accounts.account_admin import LocalTokenAdmin
from ibi.services.accounts.sign_in import SignIn
from ibi.services.copies.jobs import CopyWork
from ibi.services.items.dumping import DumpSchedule
from ibi.services.items.following import FeedReaders
from ibi.services.items.verification import VerificationSchedule
from ibi.services.membership.membership import MembershipService
from ibi.services.minting.mint_queue import MintQueue
from ibi.services.notifications.courier import Courier
from ibi.services.readiness import Readiness
from ibi.services.sites import ArchiveSite, ResolverSite, StandbySite
from ibi.services.subscriptions.subscriptions import Subscriptions
from ibi.web.api.authentication import Authentication
from ibi.web.api.changes import ChangePages
from ibi.web.api.inbox import inbox_routes
from ibi.web.api.keys import KeyPages
from ibi.web.api.labels import Labels
from ibi.web.api.openapi import OpenApiPage
from ibi.web.api.record_routes import record_routes
from ibi.web.api.resolver_routes import resolver_routes
from ibi.web.api.status import HealthPage, IdentityPage, healthz
from ibi.web.api.subscriptions import SubscriptionPages
from ibi.web.api.tokens import TokenPages
from ibi.web.api.transfers import ReleasePages
from ibi.web.archive.collection import Collection
from ibi.web.archive.content_host import BytesAlone, ContentHost
from ibi.web.archive.dump_page import DumpPage
from ibi.web.archive.items_feed import ItemsFeed
from ibi.web.archive.oai import HarvestPages
from ibi.web.archive.persistent_urls import PersistentUrls
from ibi.web.archive.service import ArchiveService
from ibi.web.archive.sitemap import SitemapPages
from ibi.web.archive.standby import Standby
from ibi.web.archive.switched_off import SwitchGuard
from ibi.web.fast.connection_bounds import BufferBound, ConnectionBound
from ibi.web.fast.fast_path import (
    RESERVED,
    Dispatcher,
    DispatchMiddleware,
    FastEndpoint,
    FastPath,
    Service,
    first_segments,
)
from ibi.web.fast.server import LoadLog
from ibi.web.http.errors import answer_to, problem
from ibi.web.http.follow_metrics import FollowMetrics
from ibi.web.http.holdings_metrics import HoldingsMetrics
from ibi.web.http.polled_figures import IntegrityMetrics, PolledFigures
from ibi.web.http.request import ServedHosts, by_method, percent_decode, raw_path
from ibi.web.http.request_errors import InternalError, MethodNotAllowed, PathNotFound
from ibi.web.http.request_middleware import (
    REQUEST,
    Metrics,
    MetricsPage,
    RequestMiddleware,
    request_names,
)
from ibi.web.pages import refusal, wants_page
from ibi.web.pages.follows_page import FollowsPage
from ibi.web.pages.jobs_page import JobPages
from ibi.web.pages.refusals import ConnectionRefusals, HostCheck
from ibi.web.pages.rendering import SiteFacts
from ibi.web.pages.robots_txt import SITEMAP, RobotsPage
from ibi.web.pages.routes import KnownSite, page_routes
from ibi.web.pages.sessions import Sessions
from ibi.web.pages.sign_in import SignInPages
from ibi.web.pages.transfers_page import TransfersPage
from ibi.web.resolver.endpoint import ResolverEndpoint
from ibi.web.resolver.persistent_url_app import PersistentUrlApp
from ibi.web.resolver.resolver_metrics import DisputeMetrics, ResolverMetrics


def create_app(
    *,
    queue: MintQueue,
    ticks: Ticks,
    tokens: Tokens,
    clocks: Clocks,
    log: FilteringBoundLogger | None = None,
    archive: ArchiveSite | None = None,
    membership: MembershipService | None = None,
    resolver: ResolverSite | None = None,
    standby: StandbySite | None = None,
    facts: SiteFacts | None = None,
    sign_in: SignIn | None = None,
    people: People | None = None,
    audit: AuditLog | None = None,
    bound: ConnectionBound | None = None,
    hosts: ServedHosts | None = None,
    verification: VerificationSchedule | None = None,
    dumping: DumpSchedule | None = None,
    subscriptions: Subscriptions | None = None,
    courier: Courier | None = None,
    checks: Sequence[Callable[[], None]] = (),
) -> Starlette:
    """An ASGI application that starts and stops the `queue`; closing the stores is left to the caller.

    `ticks` and `clocks` are those of the queue. With an `archive`, its items are served too; its `membership` is begun
    and ended with the application. With a `resolver`, persistent URLs are resolved; it is stopped with the application.
    With a `standby`, those are resolved that the Archive would leave to its resolver, while that is away.
    `facts` are for every page. With `sign_in`, people can sign in to the pages; those in `people` may have tokens. The
    `audit` log is told of changes of tokens.
    `checks` raise an error when a file in use is no longer the one that was opened; `/readyz` then reports it, and also
    a disk without room for deposits. The server asks `bound` how many connections a client may have. `hosts` are those
    for which there are pages and files; without them every host has them. `verification`, `dumping`, `courier` and the
    workers of `subscriptions` run while the application does.
    """
    log = log or structlog.get_logger("ibi.web")
    is_prompt = ticks.prompt and tokens.prompt and (archive is None or archive.catalog.prompt)
    if archive is not None and archive.item_services is not None:
        checks = (*checks, archive.item_services.drafts.check_space)
    readiness = Readiness(queue, ticks, clocks, checks=checks, is_prompt=is_prompt, log=log)
    metrics = Metrics()
    queue.watch(metrics.count_group)
    authentication = Authentication(tokens, clocks, people)
    proxies = () if archive is None else archive.proxies
    token_pages = TokenPages(LocalTokenAdmin(tokens, clocks, people, audit=audit), authentication, proxies)
    readers = _feed_readers(archive)
    registers = resolver is not None and resolver.registrations is not None
    routes = [
        *_routes(
            queue,
            readiness,
            authentication,
            metrics,
            OpenApiPage(archive=archive is not None, register=registers),
            _figures(metrics, archive, membership, resolver, subscriptions),
        ),
        *_token_routes(token_pages),
        *KeyPages(archive, resolver).routes(),
        *([] if subscriptions is None else SubscriptionPages(subscriptions, authentication, proxies).routes()),
        *([] if archive is None or readers is None else _changes_routes(archive, readers)),
        *_feed_routes(archive),
        *([] if archive is None else inbox_routes(archive, authentication, courier)),
        *([] if archive is None else record_routes(archive, authentication, queue, metrics.count_upload_refused)),
        *([] if resolver is None else resolver_routes(resolver, authentication)),
        *ReleasePages(archive, None if resolver is None else resolver.releases).routes(),
        *(page_routes(archive) if resolver is None else page_routes(archive, resolver.resolving, resolver.public_url)),
    ]
    sessions = None if sign_in is None else Sessions(sign_in, facts.public_url if facts else "")
    if sign_in is not None and sessions is not None:
        integrity = None if archive is None else archive.integrity
        copy_work, transfers = _copy_work(archive), None if archive is None else archive.transfers
        routes += SignInPages(
            sign_in,
            sessions,
            proxies,
            integrity,
            has_claims=archive is not None,
            has_jobs=copy_work is not None,
            has_transfers=transfers is not None,
        ).routes()
        if transfers is not None:
            routes += TransfersPage(transfers, sessions).routes()
        if archive is not None and copy_work is not None:
            routes += JobPages(copy_work, sessions, archive).routes()
        if subscriptions is not None:
            routes += FollowsPage(sessions, *subscriptions.lists).routes()
    url = facts.public_url if facts else "" if archive is None else archive.public_url
    has_sitemap = any(route.path == SITEMAP for route in routes)
    routes.append(Route("/robots.txt", RobotsPage(url, has_sitemap=has_sitemap).get))
    patterns: dict[Any, str] = {route.endpoint: route.path for route in routes}
    names = request_names()
    middleware = [Middleware(RequestMiddleware, metrics=metrics, log=log, routes=patterns, names=names)]
    services = _services(archive, resolver, log)
    taken = first_segments(route.path for route in routes)
    if hosts is not None:
        known, url = Dispatcher(services, taken=taken), facts.public_url if facts else ""
        middleware.append(
            Middleware(
                HostCheck, hosts=hosts, dispatcher=known, public_url=url, refused=metrics.count_misdirected, log=log
            )
        )
    content_host = ContentHost(archive) if archive is not None and archive.has_own_content_host else None
    if content_host is not None:
        middleware.append(Middleware(BytesAlone, host=content_host))
    persistent = None if resolver is None else PersistentUrlApp(resolver, log)
    front = FallbackApp(
        archive,
        persistent,
        None if resolver is None else resolver.public_url,
        None if standby is None else Standby(standby, PersistentUrlApp(standby.resolver, log)),
    )
    patterns |= {**front.patterns, **dict.fromkeys(services, "/{service}")}
    middleware.append(
        Middleware(KnownSite, facts=facts or SiteFacts(sandbox=queue.identity.sandbox), sessions=sessions)
    )
    if archive is not None:
        middleware.append(Middleware(SwitchGuard, is_on=archive.is_switched_on))
    dispatcher = Dispatcher(services, persistent, taken)
    if services or persistent is not None:
        middleware.append(Middleware(DispatchMiddleware, dispatcher=dispatcher))
    for counted in (resolver, None if standby is None else standby.resolver):
        if counted is not None:
            _count(counted, metrics)
    app = Starlette(
        routes=routes,
        middleware=middleware,
        exception_handlers={IbiError: _error_handler(log), HTTPException: _not_routed},
        lifespan=_lifespan(
            *(queue, resolver, standby, membership, verification, dumping),
            *(_copy_work(archive), None if archive is None else archive.transfers, subscriptions, courier),
        ),
    )
    app.router.redirect_slashes = False  # one address each; a wrong one costs no second request
    if archive is not None or resolver is not None:
        # Not a route: routes see only the decoded path, and one that takes every path would hide wrong methods.
        app.router.default = front
    choose = dispatcher.endpoint if content_host is None else _elsewhere_than(content_host, dispatcher.endpoint)
    app.state.at_once = FastPath(choose, metrics=metrics, log=log, routes=patterns, names=names)
    app.state.ending = _ending(resolver if standby is None else standby.resolver, readers)
    load, buffers = LoadLog(log, metrics), BufferBound()
    buffers.watch(load.note_unread)
    app.state.load, app.state.buffers = load, buffers
    app.state.refusals = ConnectionRefusals(facts or SiteFacts())
    if bound is not None:
        bound.watch(load.note_refused, load.note_displaced)
        if resolver is not None:
            bound.pace(resolver.resolving.misses.connection_delay)
        app.state.bound = bound
    return app


def _elsewhere_than(
    host: ContentHost, choose: Callable[[Scope], FastEndpoint | None]
) -> Callable[[Scope], FastEndpoint | None]:
    return lambda scope: None if host.is_asked(scope) else choose(scope)


def _services(
    archive: ArchiveSite | None, resolver: ResolverSite | None, log: FilteringBoundLogger
) -> tuple[Service, ...]:
    found: list[Service] = [] if archive is None else [ArchiveService(archive, log)]
    if resolver is not None and resolver.registrations is not None:
        found.append(ResolverEndpoint(resolver.registrations, log, proxies=resolver.proxies))
    return tuple(found)


def _figures(
    metrics: Metrics,
    archive: ArchiveSite | None,
    membership: MembershipService | None,
    resolver: ResolverSite | None,
    subscriptions: Subscriptions | None,
) -> list[PolledFigures]:
    """What `/metrics` asks of stores."""
    found: list[PolledFigures] = []
    if resolver is not None and resolver.disputes is not None:
        found.append(DisputeMetrics(metrics.registry, resolver.disputes))
    if archive is not None:
        found.append(HoldingsMetrics(metrics.registry, archive, membership))
    if archive is not None and archive.integrity is not None:
        found.append(IntegrityMetrics(metrics.registry, archive.integrity))
    if subscriptions is not None:
        found.append(FollowMetrics(metrics.registry, *subscriptions.lists))
    return found


def _count(resolver: ResolverSite, metrics: Metrics) -> None:
    counted = ResolverMetrics(metrics.registry)
    resolver.resolving.watch(counted)
    resolver.resolving.misses.watch(counted.on_held_back)
    resolver.acknowledgments.watch(counted.on_acknowledged)


def _routes(
    queue: MintQueue,
    readiness: Readiness,
    authentication: Authentication,
    metrics: Metrics,
    description: OpenApiPage,
    figures: Sequence[PolledFigures],
) -> list[Route]:
    """The routes of the API, the busiest first."""
    return [
        Route("/api/labels", Labels(queue, authentication, metrics), methods=["POST"]),
        Route("/api/identity", IdentityPage(queue, readiness).get),
        Route("/api/openapi.json", description.get),
        Route("/healthz", healthz),
        Route("/readyz", HealthPage(readiness).readyz),
        Route("/metrics", MetricsPage(metrics, readiness, figures).get),
    ]


def _changes_routes(archive: ArchiveSite, readers: FeedReaders) -> list[Route]:
    own = str(archive.profile.service.labels[0])
    return ChangePages(readers, archive.public_url, own, archive.copy_holders).routes()


def _feed_routes(archive: ArchiveSite | None) -> list[Route]:
    """What harvesters and crawlers read of the feed of changes."""
    if archive is None or archive.feed is None:
        return []
    return [
        *HarvestPages(archive, archive.feed).routes(),
        *SitemapPages(archive, archive.feed).routes(),
        *ItemsFeed(archive, archive.feed).routes(),
        *([] if archive.dumps is None else DumpPage(archive.dumps).routes()),
    ]


def _token_routes(pages: TokenPages) -> list[Route]:
    return [
        Route("/api/tokens", by_method(GET=pages.list, POST=pages.create), methods=["GET", "POST"]),
        Route("/api/tokens/{id}", pages.revoke, methods=["DELETE"]),
    ]


class _Worker(Protocol):
    """What runs while the application does."""

    def start(self) -> None: ...

    async def stop(self) -> None: ...


def _lifespan(*workers: _Worker | None) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Starts the workers in this order, and stops them in the opposite one."""
    there = [each for each in workers if each is not None]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        for worker in there:
            worker.start()
        try:
            yield
        finally:
            for worker in reversed(there):
                await worker.stop()

    return lifespan


def _copy_work(archive: ArchiveSite | None) -> CopyWork | None:
    return None if archive is None or archive.item_services is None else archive.item_services.copy_work


def _feed_readers(archive: ArchiveSite | None) -> FeedReaders | None:
    if archive is None or archive.feed is None or archive.changes is None:
        return None
    return FeedReaders(archive.feed, archive.changes)


def _ending(resolver: ResolverSite | None, readers: FeedReaders | None) -> Callable[[], None]:
    """Called when the server begins to stop: answers what only waits."""

    def end() -> None:
        if resolver is not None:
            resolver.resolving.misses.end()
        if readers is not None:
            readers.end()

    return end


def _error_handler(log: FilteringBoundLogger) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, IbiError)
        answer = answer_to(error)
        if not answer.told:
            log.error("refused", request=request.scope.get(REQUEST), code=error.code, detail=str(error), exc_info=error)
        return _error_answer(error, request)

    return refuse


async def _not_routed(request: Request, error: Exception) -> Response:
    """The answer to an error of the router."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted(dict(error.headers or {}).get("Allow", "").split(", ")))
        return _error_answer(MethodNotAllowed(method=request.method[:20], allowed=allowed), request)
    if error.status_code == 404:
        return _error_answer(PathNotFound(), request)
    return problem(InternalError(request=request.scope.get(REQUEST)))


def _error_answer(error: IbiError, request: Request) -> Response:
    """The answer to an error: a page for a browser, except for paths that are meant for programs."""
    is_for_people = answer_to(error).told and not request.url.path.startswith("/api/")
    return refusal(error, request.scope) if is_for_people and wants_page(request.scope["headers"]) else problem(error)


class FallbackApp:
    """Serves requests without a route: the collection, and persistent URLs, which are resolved or found in this
    Archive."""

    def __init__(
        self,
        archive: ArchiveSite | None,
        resolver: PersistentUrlApp | None,
        resolver_url: str | None,
        standby: Standby | None = None,
    ) -> None:
        self._collection = None if archive is None else Collection(archive, resolver_url, standby)
        self._persistent: PersistentUrlApp | PersistentUrls | None = resolver
        if resolver is None and archive is not None:
            self._persistent = PersistentUrls(archive, standby)

    @property
    def patterns(self) -> Mapping[Any, str]:
        """The name of each endpoint in the metrics."""
        found = {self._collection: "/col/{path}", self._persistent: "/{ibi}"}
        return {endpoint: pattern for endpoint, pattern in found.items() if endpoint is not None}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["endpoint"] = endpoint = self._endpoint(raw_path(scope))
        await endpoint(scope, receive, send)

    def _endpoint(self, path: bytes) -> Collection | PersistentUrls | PersistentUrlApp:
        # Decoded before it is compared: `/%61pi/` is the same place as `/api/`.
        first, _, rest = percent_decode(path).removeprefix("/").partition("/")
        if first == "col" and rest:
            if self._collection is not None:
                return self._collection
            if self._persistent is not None:
                return self._persistent  # E21: a link to where an Archive has the files of an item
        if first in RESERVED or not first or self._persistent is None:
            raise PathNotFound()
        return self._persistent
