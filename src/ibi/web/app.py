"""The web application, built from the services it is given. Nothing here is global."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import Scope
from structlog.typing import FilteringBoundLogger

from ibi.errors import IbiError
from ibi.model.account import ROLE_SCOPE, Actor, person_account
from ibi.ports.accounts import AuditLog, People, Tokens
from ibi.ports.archive_state import UsageLog
from ibi.ports.clocks import Clocks, Ticks
from ibi.services.accounts.account_admin import LocalTokenAdmin
from ibi.services.accounts.provider_sign_in import ProviderSignIn
from ibi.services.accounts.recovery import AccountRecovery
from ibi.services.accounts.refusals import RefusalLog
from ibi.services.accounts.sign_in import SignIn
from ibi.services.copies.jobs import CopyWork
from ibi.services.feed_readers import FeedReaders
from ibi.services.items.dumps import DumpSchedule
from ibi.services.items.full_text import FullTextWorker
from ibi.services.items.verification import VerificationSchedule
from ibi.services.jobs import Job, JobRunner, write_later
from ibi.services.membership.membership import MembershipService
from ibi.services.minting.mint_queue import MintQueue
from ibi.services.notifications.courier import Courier
from ibi.services.readiness import Readiness, ReadinessCheck
from ibi.services.resolving.standby import KeptRegister
from ibi.services.sites import ArchiveSite, ResolverSite, StandbySite
from ibi.services.subscriptions.subscriptions import Subscriptions
from ibi.storage.worker_state import ALONE, WorkerShare
from ibi.web.api.archives import resolver_routes
from ibi.web.api.authentication import Authentication, TokenPages
from ibi.web.api.changes import ChangePages
from ibi.web.api.inbox import inbox_routes
from ibi.web.api.labels import Labels
from ibi.web.api.openapi import OpenApiPage
from ibi.web.api.record_routes import record_routes
from ibi.web.api.status import HealthPage, IdentityPage, KeyPages, healthz
from ibi.web.api.subscriptions import SubscriptionPages
from ibi.web.api.transfers import ReleasePages
from ibi.web.archive.content_host import BytesAlone, ContentHost
from ibi.web.archive.granted_files import granted_routes
from ibi.web.archive.listings import SITEMAP, DumpPage, ItemsFeed, RobotsPage, SitemapPages
from ibi.web.archive.oai import HarvestPages
from ibi.web.archive.search_export import SearchExports
from ibi.web.archive.service import ArchiveService
from ibi.web.archive.standby import Standby
from ibi.web.fast.connection_bounds import BufferBound, ConnectionBound
from ibi.web.fast.fast_path import Dispatcher, DispatchMiddleware, FastEndpoint, FastPath, Service, first_segments
from ibi.web.fast.server import LoadLog
from ibi.web.http.metrics import (
    FollowMetrics,
    HoldingsMetrics,
    IntegrityMetrics,
    JobCollector,
    PolledFigures,
    WorkerMetrics,
)
from ibi.web.http.request import ServedHosts
from ibi.web.http.request_middleware import (
    Identify,
    Metrics,
    MetricsPage,
    RefusalWatch,
    RequestMiddleware,
    request_names,
)
from ibi.web.pages import failure
from ibi.web.pages.account_pages import TransfersPage
from ibi.web.pages.admin_pages import admin_routes
from ibi.web.pages.admin_shell import Administration, AdminParts
from ibi.web.pages.appearance import Appearance
from ibi.web.pages.collection_pages import collection_routes
from ibi.web.pages.copies_pages import FollowsPage, JobPages
from ibi.web.pages.deposit_page import DepositPages
from ibi.web.pages.item_actions import ItemActionPages
from ibi.web.pages.middleware import ConnectionRefusals, HostCheck, KnownSite, SwitchGuard
from ibi.web.pages.people_account import OtherPages, people_routes
from ibi.web.pages.reader import Sessions
from ibi.web.pages.rendering import SiteFacts
from ibi.web.pages.request_copy import request_routes
from ibi.web.pages.review_pages import review_routes
from ibi.web.pages.search_page import page_routes
from ibi.web.resolver.endpoint import ResolverEndpoint
from ibi.web.resolver.persistent_url_app import PersistentUrlApp
from ibi.web.resolver.register_statement import KeptRegisterPage
from ibi.web.resolver.resolver_metrics import DisputeMetrics, ResolverMetrics, StandbyMetrics
from ibi.web.unrouted import FallbackApp, SlashRedirect, answer_unrouted, error_handler

_AUDIT_PAUSE: Final = 0.2
"""Longest time in seconds before a line of the audit log is synced to the disk. Deposits need the disk, too."""
_USAGE_PAUSE: Final = 1.0
"""Seconds for which uses are gathered before they are written."""


def create_app(
    *,
    queue: MintQueue | None,
    ticks: Ticks | None,
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
    recovery: AccountRecovery | None = None,
    provider: ProviderSignIn | None = None,
    bound: ConnectionBound | None = None,
    hosts: ServedHosts | None = None,
    verification: VerificationSchedule | None = None,
    dumping: DumpSchedule | None = None,
    texts: FullTextWorker | None = None,
    subscriptions: Subscriptions | None = None,
    courier: Courier | None = None,
    checks: Sequence[Callable[[], None]] = (),
    share: WorkerShare = ALONE,
    appearance: Appearance | None = None,
    admin: AdminParts | None = None,
    jobs: JobRunner | None = None,
) -> Starlette:
    """Return an ASGI application that runs the jobs of all parts. The caller closes the stores.

    Without a `queue`, nothing is minted. `ticks` and `clocks` are those of the queue. With an `archive`, its items are
    served too; its `membership` begins and ends with the application. With a `resolver`, persistent URLs are resolved;
    it stops with the application. A `standby` resolves the links that the Archive would leave to its resolver, while
    the resolver is away. `facts` are for every page. With `sign_in`, people can sign in to the pages; those in `people`
    may have tokens. The `audit` log receives changes of tokens and people. `recovery` sends invitations and links, and
    `provider` vouches for people. `admin` has the services that only the pages of administrators need. `checks` raise
    an error when a file in use is no longer the one that was opened; `/readyz` then reports it, and also a disk without
    room for deposits. The server asks `bound` how many connections a client may have. Pages and files are served under
    `hosts`; without them, under every host. `jobs` runs the jobs while the application runs. `share` is the state
    shared with other processes of the server. `appearance` is the look of the pages.
    """
    jobs = jobs or JobRunner()
    parts = (queue, resolver, standby, membership, verification, dumping, texts, subscriptions, courier)
    for part in (*parts, *_busy_parts(archive)):
        jobs.add(*(() if part is None else part.jobs()))
    jobs.add(*_writing_jobs(audit, None if archive is None else archive.usage))
    log = log or structlog.get_logger("ibi.web")
    is_prompt = (ticks is None or ticks.prompt) and tokens.prompt and (archive is None or archive.catalog.prompt)
    if archive is not None and archive.item_services is not None:
        checks = (*checks, ReadinessCheck("room", archive.item_services.drafts.check_space))
    readiness = Readiness(queue, ticks, clocks, checks=checks, is_prompt=is_prompt, log=log)
    metrics = Metrics()
    metrics.registry.register(JobCollector(jobs))
    counts = None if share.state is None else WorkerMetrics(share.state, share.slot, metrics.registry, metrics.answered)
    if queue is not None:
        queue.watch(metrics.count_group)
    authentication = Authentication(tokens, clocks, people)
    proxies = () if archive is None else archive.proxies
    token_admin = LocalTokenAdmin(tokens, clocks, people, audit=audit)
    token_pages = TokenPages(token_admin, authentication, proxies)
    readers = _feed_readers(archive)
    registers = resolver is not None and resolver.registrations is not None
    routes = [
        *_routes(
            queue,
            readiness,
            authentication,
            metrics,
            OpenApiPage(archive=archive is not None, register=registers, minting=queue is not None),
            [
                *_figures(metrics, archive, membership, resolver, subscriptions),
                *([] if standby is None else [StandbyMetrics(metrics.registry, standby.register)]),
            ],
            counts,
            HealthPage(readiness, archive, membership, standby),
        ),
        *token_pages.routes(),
        *KeyPages(archive, resolver).routes(),
        *KeptRegisterPage(_kept_register(resolver, standby), None if archive is None else archive.signing).routes(),
        *([] if subscriptions is None else SubscriptionPages(subscriptions, authentication, proxies).routes()),
        *([] if archive is None or readers is None else _changes_routes(archive, readers)),
        *_feed_routes(archive),
        *([] if archive is None or archive.search is None else SearchExports(archive, archive.search).routes()),
        *([] if archive is None else inbox_routes(archive, authentication, courier)),
        *_item_routes(archive, queue, authentication, metrics),
        *([] if resolver is None else resolver_routes(resolver, authentication)),
        *ReleasePages(archive, None if resolver is None else resolver.releases, share.secret).routes(),
        *([] if appearance is None else appearance.routes()),
        *collection_routes(archive),
        *(page_routes(archive) if resolver is None else page_routes(archive, resolver.resolving, resolver.public_url)),
    ]
    sessions = None if sign_in is None else Sessions(sign_in, facts.public_url if facts else "")
    if sign_in is not None and sessions is not None:
        copy_work, transfers = _copy_work(archive), None if archive is None else archive.transfers
        others = OtherPages(archive is not None, copy_work is not None, transfers is not None)
        recovery = recovery or AccountRecovery(sign_in, audit=audit)
        administered = (archive, resolver, membership, subscriptions, verification, share, jobs)
        administration = None if admin is None else Administration(admin, *administered)
        places = () if administration is None else administration.places
        routes += people_routes(sessions, recovery, token_admin, archive, others, provider, places)
        if archive is not None and archive.item_services is not None:
            routes += ItemActionPages(archive).routes()
        if transfers is not None:
            routes += TransfersPage(transfers, sessions).routes()
        routes += [*review_routes(archive, queue), *granted_routes(archive), *request_routes(archive)]
        if archive is not None and copy_work is not None:
            routes += JobPages(copy_work, sessions, archive).routes()
        if archive is not None and queue is not None:
            routes += DepositPages(archive, queue).routes()
        if subscriptions is not None:
            routes += FollowsPage(sessions, *subscriptions.lists).routes()
        routes += [] if administration is None else admin_routes(administration)
    url = facts.public_url if facts else "" if archive is None else archive.public_url
    routes.append(Route("/robots.txt", RobotsPage(url, has_sitemap=any(each.path == SITEMAP for each in routes)).get))
    patterns: dict[Any, str] = {route.endpoint: route.path for route in routes}
    names = request_names()
    middleware = [
        Middleware(RequestMiddleware, metrics=metrics, log=log, routes=patterns, names=names, failure=failure)
    ]
    if audit is not None:
        watched = RefusalLog(audit, clocks, rows=share.refusals)
        identify = _identification(authentication, sessions)
        middleware.append(Middleware(RefusalWatch, refusals=watched, identify=identify, proxies=proxies, log=log))
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
    persistent = None if resolver is None else PersistentUrlApp(resolver, log, archive)
    front = FallbackApp(
        archive,
        persistent,
        None if resolver is None else resolver.public_url,
        None if standby is None else Standby(standby, PersistentUrlApp(standby.resolver, log, archive)),
    )
    patterns |= {**front.patterns, **dict.fromkeys(services, "/{service}")}
    site = (facts or SiteFacts(sandbox=queue is not None and queue.identity.sandbox)).served_with(routes)
    middleware.append(Middleware(KnownSite, facts=site, sessions=sessions, appearance=appearance))
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
        exception_handlers={IbiError: error_handler(log), HTTPException: answer_unrouted},
        lifespan=_lifespan(jobs, counts, subscriptions, membership, standby, resolver),
    )
    app.router.redirect_slashes = False  # only pages redirect; see SlashRedirect
    if archive is not None or resolver is not None:
        app.router.default = SlashRedirect(front, routes)
    choose = dispatcher.endpoint if content_host is None else _elsewhere_than(content_host, dispatcher.endpoint)
    app.state.at_once = FastPath(choose, metrics=metrics, log=log, routes=patterns, names=names)
    app.state.ending = _ending(resolver if standby is None else standby.resolver, readers, membership)
    app.state.handing_over = None if membership is None else membership.hand_over
    app.state.counts = counts
    load, buffers = LoadLog(log, metrics), BufferBound()
    buffers.watch(load.note_unread)
    app.state.load, app.state.buffers = load, buffers
    app.state.refusals = ConnectionRefusals(site)
    if bound is not None:
        bound.watch(load.note_refused, load.note_displaced)
        if resolver is not None:
            misses = resolver.resolving.misses
            bound.pace(misses.connection_delay, misses.lines)
        app.state.bound = bound
    return app


def _kept_register(resolver: ResolverSite | None, standby: StandbySite | None) -> KeptRegister | None:
    """Return the register of another resolver, which this server keeps."""
    if standby is not None:
        return standby.register
    return None if resolver is None else resolver.register


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
    """Return the figures that `/metrics` reads from stores."""
    found: list[PolledFigures] = []
    if resolver is not None and resolver.disputes is not None:
        found.append(DisputeMetrics(metrics.registry, resolver.disputes))
    if archive is not None:
        found.append(HoldingsMetrics(metrics.registry, archive, membership))
    if archive is not None and archive.integrity is not None:
        found.append(IntegrityMetrics(metrics.registry, archive.integrity, holdings=archive.catalog.holdings))
    if subscriptions is not None:
        found.append(FollowMetrics(metrics.registry, *subscriptions.lists))
    return found


def _count(resolver: ResolverSite, metrics: Metrics) -> None:
    counted = ResolverMetrics(metrics.registry)
    resolver.resolving.watch(counted)
    resolver.resolving.misses.watch(counted.on_held_back)
    resolver.acknowledgments.watch(counted.on_acknowledged)


def _routes(
    queue: MintQueue | None,
    readiness: Readiness,
    authentication: Authentication,
    metrics: Metrics,
    description: OpenApiPage,
    figures: Sequence[PolledFigures],
    counts: WorkerMetrics | None,
    health: HealthPage,
) -> list[Route]:
    """Return the routes of the API, the busiest first."""
    routes = [
        Route("/api/openapi.json", description.get),
        Route("/healthz", healthz),
        Route("/readyz", health.readyz),
        Route("/metrics", MetricsPage(metrics, readiness, figures, counts).get),
    ]
    if queue is None:
        return routes
    labels = Route("/api/labels", Labels(queue, authentication, metrics), methods=["POST"])
    return [labels, Route("/api/identity", IdentityPage(queue, readiness).get), *routes]


def _item_routes(
    archive: ArchiveSite | None, queue: MintQueue | None, authentication: Authentication, metrics: Metrics
) -> list[Route]:
    if archive is None or queue is None:
        return []
    return record_routes(archive, authentication, queue, metrics.count_upload_refused)


def _changes_routes(archive: ArchiveSite, readers: FeedReaders) -> list[Route]:
    own = str(archive.profile.service.labels[0])
    return ChangePages(
        readers, archive.public_url, own, archive.catalog, archive.copy_holders, archive.copy_offers
    ).routes()


def _feed_routes(archive: ArchiveSite | None) -> list[Route]:
    """Return the routes for harvesters and crawlers, which read the feed of changes."""
    if archive is None or archive.feed is None:
        return []
    return [
        *HarvestPages(archive, archive.feed).routes(),
        *SitemapPages(archive, archive.feed).routes(),
        *ItemsFeed(archive, archive.feed).routes(),
        *([] if archive.dumps is None else DumpPage(archive.dumps).routes()),
    ]


class _Busy(Protocol):
    """A part of the server with background jobs."""

    def jobs(self) -> tuple[Job, ...]: ...


class _Stopped(Protocol):
    """A part of the server that has work left when its jobs have ended."""

    async def stop(self) -> None: ...


def _busy_parts(archive: ArchiveSite | None) -> Iterator[_Busy | None]:
    """Yield the parts of an Archive with background jobs."""
    if archive is None:
        return
    yield archive.transfers
    if archive.item_services is not None:
        yield archive.item_services.drafts
        yield archive.item_services.copy_work
        yield archive.item_services.requests


def _writing_jobs(audit: AuditLog | None, usage: UsageLog | None) -> Iterator[Job]:
    if audit is not None:
        yield write_later("audit log", _AUDIT_PAUSE, audit.watch, audit.sync)
    if usage is not None:
        yield write_later("usage", _USAGE_PAUSE, usage.watch, usage.flush)


def _lifespan(
    jobs: JobRunner, counts: WorkerMetrics | None, *stopped: _Stopped | None
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return a lifespan that runs the jobs, and then stops the `stopped` parts in this order."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if counts is not None:
            counts.start()
        jobs.start()
        try:
            yield
        finally:
            await jobs.stop()
            for part in (*stopped, counts):
                if part is not None:
                    await part.stop()

    return lifespan


def _copy_work(archive: ArchiveSite | None) -> CopyWork | None:
    return None if archive is None or archive.item_services is None else archive.item_services.copy_work


def _feed_readers(archive: ArchiveSite | None) -> FeedReaders | None:
    if archive is None or archive.feed is None or archive.changes is None:
        return None
    return FeedReaders(archive.feed, archive.changes)


def _ending(
    resolver: ResolverSite | None, readers: FeedReaders | None, membership: MembershipService | None
) -> Callable[[], None]:
    """Return the function to call when the server begins to stop: it answers the requests that only wait."""

    def end() -> None:
        if resolver is not None:
            resolver.resolving.misses.end()
        if readers is not None:
            readers.end()
        if membership is not None:
            membership.cease()

    return end
