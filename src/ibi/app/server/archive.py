"""Opens the Archive of a server: its store, its own record, and the parts that its capabilities share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ibi.app.server.beginning import StoredArchive, begin_stored_archive, fill_with_demo
from ibi.app.server.context import ServerContext
from ibi.app.server.transfers import open_server_transfers
from ibi.app.server.usage import open_usage
from ibi.archive.rules.profile import ALL_RELATIONS, ArchiveProfile, ArchiveUrls
from ibi.archive.service.answers import ArchiveAnswers
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.change_watch import ChangeWatch
from ibi.membership.model.membership import ArchiveRecord
from ibi.membership.opening.membership import own_keys, undeclared_host
from ibi.membership.service.signers import OwnKeys, confirm
from ibi.membership.store.archive_state import MembershipFiles
from ibi.membership.store.key_files import ARCHIVE
from ibi.minting.opening import LocalMinter
from ibi.minting.store.tick_store import SqliteGivenOut
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.origin import Origin
from ibi.standard.storage_errors import StorageError
from ibi.transfers.opening.own_register import find_resolver_elsewhere
from ibi.transfers.service.worker import Tracking, TransferWorker
from ibi.usage.ports import UsageLog
from ibi.usage.rules.robots import is_robot
from ibi.usage.service import UseCounter
from ibi.web.sites import ArchiveSite

USAGE = "usage.sqlite"
"""The file with the usage counts of a data directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenArchive:
    """The Archive of a server, with the parts that its capabilities share."""

    store: ArchiveStore
    record: ArchiveRecord
    site: ArchiveSite
    usage: UsageLog | None
    transfers: TransferWorker
    signing: OwnKeys
    """The keys with which the Archive signs."""
    served_elsewhere: str | None
    """The address of another server of this data directory, to which the Archive's own item leads."""


def open_stored_archive(
    server: ServerContext, minter: LocalMinter, store: ArchiveStore, *, demo: bool
) -> OpenArchive | None:
    """Return the Archive of the data directory, which is filled if it is a `demo`. It is None while no label can be
    minted and there is no Archive yet."""
    stored = begin_stored_archive(server, minter, store)
    if stored is None:
        return None
    if demo:
        fill_with_demo(server, stored)
    return _open_archive(server, stored)


def _open_archive(server: ServerContext, stored: StoredArchive) -> OpenArchive:
    """Return the Archive with its answers to resolvers, its transfers and the count of its use."""
    settings, store, record, public_url = server.settings, stored.store, stored.record, server.public_url
    usage = open_usage(settings.data / USAGE, server.opened)
    signing = own_keys(settings.data, ARCHIVE)
    transfers = open_server_transfers(server, stored)
    store.guard_changes(transfers.tracking.require_changeable, record.service)
    return OpenArchive(
        store=store,
        record=record,
        site=_open_site(server, stored, usage, transfers.tracking, signing),
        usage=usage,
        transfers=transfers,
        signing=signing,
        served_elsewhere=None if stored.address == public_url else stored.address,
    )


def _open_site(
    server: ServerContext, stored: StoredArchive, usage: UsageLog | None, tracking: Tracking, signing: OwnKeys
) -> ArchiveSite:
    settings, store, record = server.settings, stored.store, stored.record
    public_url, content_url = server.public_url, (settings.content_url or server.public_url).rstrip("/")
    given_out, recent, proxies = SqliteGivenOut(settings.data), server.share.recent(), settings.trusted_proxies or ()
    server.opened.callback(given_out.close)
    profile = ArchiveProfile(
        Origin.of_url(public_url).authority,
        record.service,
        ArchiveUrls(public_url, content_url),
        relations=ALL_RELATIONS if settings.archive.relations is None else settings.archive.relations,
        follow_editions=settings.archive.follow_editions,
        landing_page=settings.archive.landing_page,
        # The header field of answers cannot list items: the signed statement does.
        copies_at=tuple(holder.service for holder in settings.archive.copies_at or () if not holder.prefixes),
    )
    answers = ArchiveAnswers(
        profile,
        store.catalog,
        UrlKeys(record.url_key_secret),
        server.clocks,
        watch=ChangeWatch(store.catalog, store.catalog.recent_version, store.changes),
        given_out=given_out,
        proxies=proxies,
        usage=usage,
        recent=recent,
        doubts=tracking,
    )
    answers.prove = partial(confirm, signing)
    resolver = find_resolver_elsewhere(settings, public_url)
    own_urls = tuple(filter(None, (public_url, content_url, resolver)))
    return ArchiveSite(
        profile=profile,
        catalog=store.catalog,
        content=store.content,
        clocks=server.clocks,
        public_url=public_url,
        content_url=content_url,
        resolver=resolver,
        proxies=proxies,
        feed=store.changes,
        integrity=store.integrity,
        uses=UseCounter(usage, recent=recent, is_robot=is_robot, own_urls=own_urls),
        tracking=tracking,
        inbox_url=f"{public_url}/inbox" if settings.notify.inbox else None,
        warn_of_url=partial(undeclared_host, settings, public_url),
        answers=answers,
    )


def is_switched_on(data: Path) -> bool:
    """Return whether the Archive shows its items. If the switch cannot be read, the Archive stays open."""
    try:
        return MembershipFiles(data).switched_on
    except StorageError:
        return True
