"""Opens the items of a server's Archive: their endpoints, their use, and the objects for other Archives."""

from __future__ import annotations

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.app.server.membership import Member
from ibi.app.server.searching import OpenSearch
from ibi.archive.serving import serve_archive, serve_membership
from ibi.copies.service.giving import ObjectGiving
from ibi.copies.service.jobs import CopyWork
from ibi.harvesting.serving import serve_changes
from ibi.minting.service.queue import MintQueue
from ibi.reading.api.item_search import ItemSearch
from ibi.reading.serving.items import serve_items
from ibi.transfers.serving import serve_transfers
from ibi.usage.serving import serve_usage
from ibi.web.authentication import Callers
from ibi.web.opened import Opened, WebContext
from ibi.web.sites import ItemServices


def open_archive_answers(
    web: WebContext,
    callers: Callers,
    archive: OpenArchive,
    services: ItemServices,
    member: Member,
) -> list[Opened]:
    """Return the Archive's answers to resolvers, its membership and its feed of changes."""
    site, changes, version = archive.site, archive.store.changes, archive.store.catalog.recent_version
    return [
        serve_archive(web, callers, services, member.service),
        *([] if member.service is None else [serve_membership(member.service)]),
        serve_changes(site, changes, version, member.holders.named, member.holders.offers),
    ]


def open_items(
    server: ServerContext,
    web: WebContext,
    callers: Callers,
    queue: MintQueue,
    archive: OpenArchive,
    search: OpenSearch,
    copies: CopyWork,
) -> list[Opened]:
    """Return the endpoints of items, the count of their use and their transfers."""
    store, site = archive.store, archive.site
    giving = ObjectGiving(
        store.catalog,
        store.content,
        archive.record.service,
        integrity=store.integrity,
        key=archive.signing.read_public,
        is_sandbox=server.is_sandbox,
        require_sure=site.require_sure,
    )
    return [
        serve_items(
            web,
            callers,
            queue,
            search=ItemSearch(callers, search.searching, search.texts),
            giving=giving,
            transfers=archive.transfers,
            copies=copies,
        ),
        serve_usage(callers, archive.usage),
        serve_transfers(web, callers, archive.transfers),
    ]
