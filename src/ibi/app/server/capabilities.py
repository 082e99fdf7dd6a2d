"""Opens the capabilities of a server in their order, and hands them to the web application."""

from __future__ import annotations

from typing import NamedTuple

from starlette.applications import Starlette

from ibi.administration.serving import serve_appearance
from ibi.app.server.administration import open_administration
from ibi.app.server.archive import OpenArchive, open_stored_archive
from ibi.app.server.archive_capabilities import open_archive_capabilities
from ibi.app.server.beginning import open_archive_store
from ibi.app.server.context import ServerContext
from ibi.app.server.copying import SourceFinder
from ibi.app.server.front import open_appearance, open_front, open_web
from ibi.app.server.membership import open_member
from ibi.app.server.minting import Minting
from ibi.app.server.people import Accounts, open_accounts
from ibi.app.server.resolving import open_resolving, serve_resolving
from ibi.app.server.schedules import state_copies
from ibi.app.server.stores import Stores
from ibi.app.starting import StartingServer
from ibi.app.web import create_app
from ibi.membership.store.registry import SqliteRegistry
from ibi.minting.serving import serve_minting
from ibi.reading.serving.explaining import serve_explanations
from ibi.web.opened import Opened
from ibi.web.readiness import ReadinessCheck
from ibi.web.sites import ItemOffers, ResolverSite


class OpenServer(NamedTuple):
    """A server that is ready to serve, with the parts that its start message names."""

    app: Starlette
    context: ServerContext
    accounts: Accounts
    minting: Minting | None
    archive: OpenArchive | None
    resolver: ResolverSite | None


def open_capabilities(
    server: ServerContext,
    stores: Stores,
    registry: SqliteRegistry | None,
    minting: Minting | None,
    starting: StartingServer,
    *,
    demo: bool,
) -> OpenServer:
    checks = [ReadinessCheck("state", stores.state.check)]
    archive = None
    if minting is not None:
        store = open_archive_store(server, starting.start, starting.count_item)
        checks.append(ReadinessCheck("archive", store.check))
        archive = open_stored_archive(server, minting.minter, store, demo=demo)
    member = None if archive is None else open_member(server, archive)
    resolving = open_resolving(server, registry, archive, member)
    finder = SourceFinder(server.settings, resolving.site)
    accounts = open_accounts(server, stores)
    web = open_web(server, minting, accounts)
    opened = [
        Opened(jobs=[state_copies(server.settings.data, stores.state)], readiness=checks),
        *([] if minting is None else [serve_minting(web, minting.queue)]),
        *serve_resolving(web, resolving, archive),
    ]
    able = None
    if archive is not None and minting is not None and member is not None:
        able = open_archive_capabilities(server, web, archive, minting.queue, member, resolving.site, finder)
        opened += able.opened
    appearance = open_appearance(server)
    opened += [
        serve_appearance(appearance),  # before the static files, among which is the style sheet of the site
        serve_explanations(None if archive is None else archive.site, resolving.site),
        *open_administration(server, web, accounts, archive, able, resolving.site),
    ]
    front = open_front(server, web, archive, ItemOffers() if able is None else able.offers, resolving, appearance)
    return OpenServer(create_app(web, opened, front), server, accounts, minting, archive, resolving.site)
