"""Opens what a server resolves, and serves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ibi.composition.server.archive import OpenArchive
from ibi.composition.server.context import ServerContext
from ibi.composition.server.membership import Member
from ibi.composition.server.resolution import OpenResolver
from ibi.composition.server.resolver import open_resolver
from ibi.composition.server.standby import open_replica, open_standby
from ibi.services.jobs import Job
from ibi.services.sites import ResolverSite, StandbySite
from ibi.storage.sqlite.registry import SqliteRegistry
from ibi.web.capabilities.archive import serve_keys
from ibi.web.capabilities.resolver import serve_kept_register, serve_resolver, serve_standby
from ibi.web.capabilities.transfers import serve_releases
from ibi.web.opened import Opened, WebContext


class Resolving(NamedTuple):
    """What a server resolves."""

    resolver: OpenResolver | None
    standby: StandbySite | None
    standby_jobs: Sequence[Job] = ()

    @property
    def site(self) -> ResolverSite | None:
        """The resolver of this server."""
        return None if self.resolver is None else self.resolver.site


def open_resolving(
    server: ServerContext, registry: SqliteRegistry | None, archive: OpenArchive | None, member: Member | None
) -> Resolving:
    """Return the resolver of a server: that of its own `registry`, or a replica of another one."""
    settings, standby, resolver = server.settings, None, None
    if registry is not None:
        resolver = open_resolver(server, registry, archive, None if member is None else member.holders.named)
    elif not settings.has_archive and settings.resolver is not None:
        resolver = open_replica(server, settings.resolver)
    if archive is not None and archive.site.resolver is not None and registry is None:
        standby, jobs = open_standby(server, archive, archive.site.resolver)
        if member is not None and member.service is not None:
            standby.register.on_unlisted = member.service.renew
        return Resolving(resolver, standby, jobs)
    return Resolving(resolver, None)


def serve_resolving(web: WebContext, resolving: Resolving, archive: OpenArchive | None) -> list[Opened]:
    """Return the faces of a resolver, and the keys and the register of this server."""
    resolver, standby = resolving.resolver, resolving.standby
    kept = standby or resolving.site
    signing = None if archive is None else archive.signing
    return [
        serve_keys(web, None if archive is None else (archive.record.service, archive.signing), resolving.site),
        serve_kept_register(None if kept is None else kept.register, signing),
        *([] if resolver is None else [serve_resolver(web, resolver.site, resolver.jobs)]),
        *([] if standby is None else [serve_standby(web, standby, resolving.standby_jobs)]),
        serve_releases(
            web, None if archive is None else archive.transfers, None if resolver is None else resolver.releases
        ),
    ]
