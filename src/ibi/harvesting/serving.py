"""Harvesting: the feed of changes, OAI-PMH, the sitemap, the Atom feed and dumps."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ibi.collections.service import Collections
from ibi.following.api.changes import ChangePages
from ibi.harvesting.api.listings import DumpPage, ItemsFeed, SitemapPages
from ibi.harvesting.api.oai import HarvestPages
from ibi.harvesting.ports import DumpFiles
from ibi.harvesting.service.dumps import DumpSchedule
from ibi.items.ports.catalog import ChangeFeed
from ibi.items.service.feed_readers import FeedReaders
from ibi.membership.service.copy_holder_admin import CopyOffers
from ibi.membership.service.named_copy_holders import NamedCopyHolders
from ibi.web.opened import Opened
from ibi.web.sites import ArchiveSite


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
