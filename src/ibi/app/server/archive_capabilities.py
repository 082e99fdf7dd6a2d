"""Opens the capabilities of a server's Archive, in their order."""

from __future__ import annotations

from typing import NamedTuple

from ibi.app.server.archive import OpenArchive
from ibi.app.server.claims import open_claims, open_exchange
from ibi.app.server.context import ServerContext
from ibi.app.server.copying import SourceFinder, open_copies
from ibi.app.server.deposits import open_deposits
from ibi.app.server.following import open_subscriptions
from ibi.app.server.items import open_archive_answers, open_items
from ibi.app.server.membership import Member
from ibi.app.server.requests import open_letters, open_requests
from ibi.app.server.schedules import open_harvesting, open_verification
from ibi.app.server.searching import open_collections, open_previews, open_search
from ibi.deposits.serving.reviews import serve_reviews
from ibi.following.service.subscriptions import Subscriptions
from ibi.items.service.verification import VerificationSchedule
from ibi.minting.service.queue import MintQueue
from ibi.web.authentication import Callers
from ibi.web.opened import Opened, WebContext
from ibi.web.sites import ItemOffers, ItemServices, ResolverSite


class ArchiveCapabilities(NamedTuple):
    """The capabilities of an Archive, with the services that other pages of the server show."""

    opened: list[Opened]
    member: Member
    services: ItemServices
    subscriptions: Subscriptions
    verification: VerificationSchedule
    offers: ItemOffers


def open_archive_capabilities(
    server: ServerContext,
    web: WebContext,
    archive: OpenArchive,
    queue: MintQueue,
    member: Member,
    resolver: ResolverSite | None,
    finder: SourceFinder,
) -> ArchiveCapabilities:
    """Open everything that an Archive can do. `finder` finds the holders of items elsewhere, and the `resolver` of this
    server their pages.

    Claims come before items: their paths could also be read as those of an item.
    """
    letters = open_letters(server)
    services, deposits = open_deposits(server, web, archive, queue, letters, open_exchange(server, archive))
    callers = Callers(archive.site, services, web.authentication)
    search = open_search(server, archive)
    collections, collecting = open_collections(server, archive, callers, search.searching)
    subscriptions, following = open_subscriptions(server, web, archive, finder)
    verification, verifying = open_verification(server, archive)
    requests = open_requests(server, web, archive, letters)
    copies, copying = open_copies(server, web, archive, callers, finder)
    opened = [
        *open_archive_answers(web, callers, archive, services, member),
        open_harvesting(server, archive, collections),
        open_claims(server, web, archive, services, resolver),
        *open_items(server, web, callers, queue, archive, search, copies),
        *search.opened,
        verifying,
        collecting,
        deposits,
        *([] if requests is None else [requests]),
        serve_reviews(web, callers, services.drafts, queue),
        copying,
        following,
    ]
    offers = ItemOffers(services, collections, open_previews(server), takes_requests=requests is not None)
    return ArchiveCapabilities(opened, member, services, subscriptions, verification, offers)
