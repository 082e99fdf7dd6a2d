"""The Archive of a test, with as many of its parts as the test needs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from typing import Any

from ibi.archive.rules.profile import ArchiveProfile
from ibi.archive.service.answers import MAX_AGE, NO_DOUBTS, ArchiveAnswers
from ibi.claims.service.inbox import NotificationInbox
from ibi.collections.service import Collections
from ibi.copies.service.jobs import CopyWork
from ibi.harvesting.ports import DumpFiles
from ibi.items.ports.archive_store import Content
from ibi.items.ports.catalog import Catalog, ChangeFeed
from ibi.items.service.change_watch import ChangeWatch
from ibi.items.service.full_text import FullTextSearch
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.previews import MarkdownPreviews
from ibi.items.service.searching import Searching
from ibi.membership.service.copy_holder_admin import CopyHolderAdmin
from ibi.minting.ports import GivenOut
from ibi.requests.service import ReaderRequests
from ibi.standard.clock_reading import Clocks
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.networks import IpNetwork
from ibi.transfers.service.worker import TransferWorker
from ibi.usage.ports import UsageLog
from ibi.usage.rules.counting import Recent
from ibi.usage.service import UseCounter
from ibi.web.sites import ArchiveSite, ItemServices


@dataclass(frozen=True, kw_only=True)
class ArchiveParts:
    """The capabilities of an Archive. One without its service is left out."""

    services: ItemServices | None = None
    search: Searching | None = None
    texts: FullTextSearch | None = None
    previews: MarkdownPreviews | None = None
    collections: Collections | None = None
    transfers: TransferWorker | None = None
    copy_work: CopyWork | None = None
    requests: ReaderRequests | None = None
    inbox: NotificationInbox | None = None
    dumps: DumpFiles | None = None
    admin_email: str | None = None
    copy_holders: CopyHolderAdmin | None = None
    changes: Callable[[], Hashable] | None = None
    """Returns another value after each change of the catalogue; without it there is no feed of changes."""
    is_switched_on: Callable[[], bool] = lambda: True
    is_sandbox: bool = False


PARTS = frozenset(each.name for each in fields(ArchiveParts))


def split_options(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of the parts, and those of the site."""
    return (
        {name: value for name, value in options.items() if name in PARTS},
        {name: value for name, value in options.items() if name not in PARTS},
    )


def make_site(
    profile: ArchiveProfile,
    catalog: Catalog,
    content: Content,
    clocks: Clocks,
    public_url: str,
    *,
    content_url: str | None = None,
    resolver: str | None = None,
    proxies: tuple[IpNetwork, ...] = (),
    feed: ChangeFeed | None = None,
    integrity: Integrity | None = None,
    tracking: Any = None,
    inbox_url: str | None = None,
    warn_of_url: Callable[[str], str | None] = lambda _: None,
    changes: Callable[[], Hashable] | None = None,
    given_out: GivenOut | None = None,
    usage: UsageLog | None = None,
    recent: Recent | None = None,
    is_robot: Callable[[str], bool] = lambda _: False,
    max_age: int = MAX_AGE,
) -> ArchiveSite:
    """Return the site. Without `changes`, which returns another value after each change of the catalogue, nothing is
    cached between requests."""
    recent = Recent() if recent is None else recent
    answers = ArchiveAnswers(
        profile,
        catalog,
        UrlKeys(b"s" * 32),
        clocks,
        watch=None if changes is None else ChangeWatch(catalog, changes, feed),
        given_out=given_out,
        proxies=proxies,
        usage=usage,
        recent=recent,
        max_age=max_age,
        doubts=NO_DOUBTS if tracking is None else tracking,
    )
    own_urls = tuple(filter(None, (public_url, content_url, resolver)))
    return ArchiveSite(
        profile=profile,
        catalog=catalog,
        content=content,
        clocks=clocks,
        public_url=public_url,
        content_url=content_url or public_url,
        resolver=resolver,
        proxies=proxies,
        feed=feed,
        integrity=integrity,
        uses=UseCounter(usage, recent=recent, is_robot=is_robot, own_urls=own_urls),
        tracking=tracking,
        inbox_url=inbox_url,
        warn_of_url=warn_of_url,
        answers=answers,
    )
