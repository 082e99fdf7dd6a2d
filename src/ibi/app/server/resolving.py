"""Opens what a server resolves, and serves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.app.server.membership import Member
from ibi.app.server.resolution import OpenResolver
from ibi.app.server.resolver import open_resolver
from ibi.app.server.standby import open_replica, open_standby
from ibi.archive.serving import serve_keys
from ibi.jobs.runner import Job
from ibi.membership.store.registry import SqliteRegistry
from ibi.resolver.serving import serve_kept_register, serve_resolver, serve_standby
from ibi.transfers.serving import serve_releases
from ibi.web.opened import Opened, WebContext
from ibi.web.sites import ResolverSite, StandbySite


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
