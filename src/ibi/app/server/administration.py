"""Opens the pages of administrators and of people, and the audit log."""

from __future__ import annotations

from ibi.administration.opening import admin_parts
from ibi.administration.serving import serve_administration, serve_audit
from ibi.app.server.archive import OpenArchive
from ibi.app.server.archive_capabilities import ArchiveCapabilities
from ibi.app.server.context import ServerContext
from ibi.app.server.people import Accounts, open_people
from ibi.web.admin_shell import Administration
from ibi.web.opened import Opened, WebContext
from ibi.web.sites import ResolverSite


def open_administration(
    server: ServerContext,
    web: WebContext,
    accounts: Accounts,
    archive: OpenArchive | None,
    able: ArchiveCapabilities | None,
    resolver: ResolverSite | None,
) -> list[Opened]:
    """Return the pages under `/admin`, which show the services of the `archive` and of the `resolver`, and those of
    people."""
    administration = Administration(
        admin_parts(server.settings),
        archive=None if archive is None else archive.site,
        drafts=None if able is None else able.services.drafts,
        copy_holders=None if able is None else able.member.holders.admin,
        resolver=resolver,
        membership=None if able is None else able.member.service,
        subscriptions=None if able is None else able.subscriptions,
        verification=None if able is None else able.verification,
        share=server.share,
        jobs=server.jobs,
    )
    integrity = None if archive is None else archive.site.integrity
    return [
        serve_administration(administration),
        serve_audit(server.audit),
        *open_people(server, web, accounts, integrity, administration.places),
    ]
