"""Opens what all faces of a server share, and its front: its hosts, links by label, and bounds of connections."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import structlog

from ibi.app.front import Front, find_no_doubt, open_links
from ibi.app.server.archive import OpenArchive, is_switched_on
from ibi.app.server.context import ServerContext
from ibi.app.server.minting import Minting
from ibi.app.server.people import Accounts
from ibi.app.server.resolving import Resolving
from ibi.reading.delivery.content_host import ContentHost
from ibi.server.connection_bounds import ConnectionBound
from ibi.storage.machine import most_connections, raise_limit
from ibi.web.appearance import Appearance
from ibi.web.authentication import Authentication
from ibi.web.opened import WebContext
from ibi.web.readiness import Readiness
from ibi.web.rendering import SiteFacts
from ibi.web.request import ServedHosts
from ibi.web.request_middleware import Metrics
from ibi.web.site_files import PageDirectory
from ibi.web.sites import ItemOffers


def open_web(server: ServerContext, minting: Minting | None, accounts: Accounts) -> WebContext:
    """Return the parts that all faces of the server share."""
    settings, log = server.settings, structlog.get_logger("ibi.web")
    ticks, queue = (None, None) if minting is None else (minting.ticks, minting.queue)
    return WebContext(
        clocks=server.clocks,
        log=log,
        metrics=Metrics(),
        jobs=server.jobs,
        readiness=Readiness(queue, ticks, server.clocks, log=log),
        authentication=Authentication(accounts.tokens, server.clocks, server.people),
        sessions=accounts.sessions,
        audit=server.audit,
        proxies=settings.trusted_proxies or (),
        facts=SiteFacts(
            settings.site.name,
            server.public_url,
            sandbox=server.is_sandbox,
            description=settings.site.description,
            contact=settings.site.contact,
            data=named_directory(settings.data),
        ),
        share=server.share,
    )


def open_appearance(server: ServerContext) -> Appearance:
    site = server.settings.site
    return Appearance(PageDirectory(server.settings.data), colour=site.colour, header_colour=site.header_colour)


def open_front(
    server: ServerContext,
    web: WebContext,
    archive: OpenArchive | None,
    offers: ItemOffers,
    resolving: Resolving,
    appearance: Appearance,
) -> Front:
    """Return the front. The pages of the Archive's items have the `offers`."""
    settings, site, data = server.settings, None if archive is None else archive.site, server.settings.data
    urls = [server.public_url, *([] if settings.content_url is None else [settings.content_url])]
    return Front(
        public_url=server.public_url,
        links=open_links(web.log, site, offers, resolving.site, resolving.standby),
        content_host=ContentHost(site) if site is not None and site.has_own_content_host else None,
        is_switched_on=None if site is None else lambda: is_switched_on(data),
        find_doubt=find_no_doubt if site is None else site.find_doubt,
        hosts=ServedHosts(urls, settings.hosts or (), {settings.host, server.listening[0]}),
        bound=ConnectionBound(
            server.share.divide(settings.connections_per_client),
            settings.trusted_proxies or (),
            most_connections(raise_limit()),
        ),
        appearance=appearance,
    )


def named_directory(data: Path) -> str | None:
    """Return the data directory as a shell argument that is valid in any directory; None for the default one."""
    return None if data == Path("ibi-data") else quote(str(data.absolute()))
