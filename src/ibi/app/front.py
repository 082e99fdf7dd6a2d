"""What stands around the routes of a server: its hosts, links by label, files of items, and the look of its pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from structlog.typing import FilteringBoundLogger

from ibi.app.unrouted import FallbackApp
from ibi.reading.delivery.collection import Collection
from ibi.reading.delivery.content_host import ContentHost
from ibi.reading.delivery.persistent_urls import PersistentUrls
from ibi.resolver.api.persistent_url_app import PersistentUrlApp
from ibi.resolver.api.standby import Standby
from ibi.resolver.service.misses import MissLimit
from ibi.server.connection_bounds import ConnectionBound
from ibi.web.appearance import Appearance
from ibi.web.request import ServedHosts
from ibi.web.sites import ArchiveDoubt, ArchiveSite, ItemOffers, ResolverSite, StandbySite


class Links(NamedTuple):
    """The endpoints of links by label."""

    fallback: FallbackApp
    """Takes requests without a route."""
    persistent: PersistentUrlApp | None
    """Resolves persistent URLs; None if another server does."""
    misses: MissLimit | None
    """Bounds the resolutions for each network."""


def open_links(
    log: FilteringBoundLogger,
    archive: ArchiveSite | None,
    offers: ItemOffers,
    resolver: ResolverSite | None,
    standby: StandbySite | None,
) -> Links:
    """Return the endpoints of links. `offers` are for the pages of the Archive's items. A `standby` resolves the links
    that the Archive leaves to its resolver, while the resolver is away."""
    persistent = None if resolver is None else PersistentUrlApp(resolver, log, archive)
    misses = None if resolver is None else resolver.resolving.misses
    if archive is None:
        return Links(FallbackApp(None, persistent), persistent, misses)
    stand_in = None if standby is None else Standby(standby, PersistentUrlApp(standby.resolver, log, archive))
    collection = Collection(archive, offers, None if resolver is None else resolver.public_url, stand_in)
    return Links(FallbackApp(collection, persistent or PersistentUrls(archive, stand_in)), persistent, misses)


def find_no_doubt() -> ArchiveDoubt | None:
    """Return None: without an Archive nothing is in doubt."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """The parts of a server that take requests before its routes, and after them."""

    public_url: str
    links: Links
    content_host: ContentHost | None = None
    """The host of deposited bytes; None if they have none of their own."""
    is_switched_on: Callable[[], bool] | None = None
    """Returns whether the Archive shows its items; None without an Archive."""
    find_doubt: Callable[[], ArchiveDoubt | None] = find_no_doubt
    """Returns the doubt whether the Archive was restored from a backup."""
    hosts: ServedHosts | None = None
    """The hosts of pages and files; None: every host."""
    bound: ConnectionBound | None = None
    """Bounds the connections of each client."""
    appearance: Appearance | None = None
    """The look of the pages."""
