"""Opens the parts that each kind of resolver of a server has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.jobs.limits import link_limiter, trace_limiter
from ibi.jobs.runner import Job, write_later
from ibi.membership.rules.authority import ArchiveRef
from ibi.net.address_guard import AddressGuard
from ibi.resolver.client.gateways import Gateways
from ibi.resolver.opening.resolver import archive_gateway, archive_ref, resolution_policy
from ibi.resolver.rules.caching import NO_FEEDS, Cache, ChangeFeeds
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.misses import MissLimit
from ibi.resolver.service.resolution_runner import ForeignUrls
from ibi.resolver.service.resolver_service import Directory, ResolverService
from ibi.resolver.store.beliefs import SqliteBeliefs
from ibi.transfers.service.release_register import ReleaseRegister
from ibi.web.sites import ResolverSite

_BELIEFS_PAUSE: Final = 1.0
"""Seconds for which beliefs from readers' links are collected before they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenResolver:
    """The resolver of a server, with its jobs."""

    site: ResolverSite
    releases: ReleaseRegister | None = None
    """The releases of Originals that are believed; None without a register of its own."""
    jobs: Sequence[Job] = ()


def open_beliefs(server: ServerContext) -> tuple[SqliteBeliefs, list[Job]]:
    """Return the beliefs of a server, and the job that writes them."""
    beliefs = SqliteBeliefs(server.settings.data)
    server.opened.callback(beliefs.close)
    return beliefs, [write_later("beliefs", _BELIEFS_PAUSE, beliefs.watch, beliefs.write_group)]


def resolver_service(
    server: ServerContext,
    directory: Directory,
    beliefs: SqliteBeliefs,
    gateway: Gateways,
    archive: OpenArchive | None,
    cache: Cache | None = None,
    feeds: ChangeFeeds = NO_FEEDS,
) -> ResolverService:
    """Return the resolver service. `feeds` tell `cache` of changes."""
    wanted, share = server.settings.resolve, server.share
    return ResolverService(
        directory,
        gateway,
        policy=resolution_policy(server.settings),
        foreign_urls=ForeignUrls(wanted.foreign_urls),
        own=None if archive is None else own_ref(server, archive),
        memory=Memory(beliefs),
        changes=None if archive is None else archive.site.answers.watch,
        misses=MissLimit(wanted.misses_per_network / share.workers),
        cache=cache,
        feeds=feeds,
        traces=trace_limiter(part=share.divide),
        links=link_limiter(part=share.divide),
    )


def open_gateway(server: ServerContext, archive: OpenArchive | None, guard: AddressGuard) -> Gateways:
    own = None if archive is None else (archive.record.service, archive.site.answers)
    return archive_gateway(server.settings, own, guard, server.share)


def own_ref(server: ServerContext, archive: OpenArchive) -> ArchiveRef:
    return archive_ref(archive.record.service, archive.site.public_url, server.settings)
