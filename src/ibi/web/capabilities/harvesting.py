"""Harvesting: the feed of changes, OAI-PMH, the sitemap, the Atom feed and dumps."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ibi.ports.archive_state import DumpFiles
from ibi.ports.catalog import ChangeFeed
from ibi.services.feed_readers import FeedReaders
from ibi.services.items.collections import Collections
from ibi.services.items.dumps import DumpSchedule
from ibi.services.membership.copy_holder_admin import CopyOffers
from ibi.services.membership.named_copy_holders import NamedCopyHolders
from ibi.services.sites import ArchiveSite
from ibi.web.api.changes import ChangePages
from ibi.web.archive.listings import DumpPage, ItemsFeed, SitemapPages
from ibi.web.archive.oai import HarvestPages
from ibi.web.opened import Opened


def serve_changes(
    site: ArchiveSite,
    feed: ChangeFeed,
    changes: Callable[[], Hashable],
    copies: NamedCopyHolders | None,
    offers: CopyOffers | None,
) -> Opened:
    """Return the feed of changes for other Archives. `changes` returns another value after each change. `copies` are
    the holders of Copies, which a page announces. `offers` is told of followers."""
    readers = FeedReaders(feed, changes)
    own = str(site.profile.service.labels[0])
    pages = ChangePages(readers, site.public_url, own, site.catalog, copies, offers)
    return Opened(routes=pages.routes(), ending=[readers.end])


def serve_harvesting(
    site: ArchiveSite,
    feed: ChangeFeed,
    *,
    collections: Collections | None,
    admin_email: str | None,
    dumps: DumpFiles | None,
    schedule: DumpSchedule | None,
) -> Opened:
    """Return the lists of items for harvesters and crawlers. `admin_email` is the address for harvesters."""
    return Opened(
        routes=[
            *HarvestPages(site, feed, admin_email).routes(),
            *SitemapPages(site, feed, collections).routes(),
            *ItemsFeed(site, feed).routes(),
            *([] if dumps is None else DumpPage(dumps).routes()),
        ],
        jobs=() if schedule is None else schedule.jobs(),
    )
