"""Builds the Archive of a server from the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import time

import structlog

from ibi.archive.drafts import DraftQuota, DraftRules
from ibi.archive.profile import ALL_RELATIONS, ArchiveProfile, ArchiveUrls
from ibi.archive.reader_requests import RequestRules
from ibi.composition.archive_store import STORE, open_repaired
from ibi.composition.claim_exchange import claim_context
from ibi.composition.copies import copying_here
from ibi.composition.copy_work import SourceFinder, open_copy_work
from ibi.composition.membership import membership_status, own_keys, undeclared_host
from ibi.composition.minter import LocalLabels, LocalMinter
from ibi.composition.own_register import find_resolver_elsewhere
from ibi.composition.register import MailIncomplete, configured_mailer
from ibi.composition.side_stores import (
    open_collections,
    open_previews,
    open_requests,
    open_reviews,
    open_texts,
    open_usage,
)
from ibi.composition.transfers import RegisterReader, open_transfers, sandbox_check
from ibi.config import Settings
from ibi.demo.collection import fill
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.messages.identification import UrlKeys
from ibi.minting.errors import AnotherInstance, ClockRefused, DoubtUnreadable
from ibi.model.membership import ArchiveRecord
from ibi.origin import Origin
from ibi.ports.accounts import AuditLog, People
from ibi.ports.correspondence import Mailer
from ibi.ports.errors import CatalogDamaged, StorageError, StoreIncomplete
from ibi.services.correspondence.letters import AddressBook, LetterBox, ReviewLetters
from ibi.services.correspondence.reader_requests import ReaderRequests
from ibi.services.drafts.drafts import Drafts
from ibi.services.items.archive_beginning import begin_archive, follow_address
from ibi.services.items.archive_store import ArchiveStore
from ibi.services.items.deposits import Deposits
from ibi.services.items.dumps import DumpSchedule
from ibi.services.items.searching import Searching
from ibi.services.items.verification import DamageMail, VerificationSchedule
from ibi.services.membership.copy_holder_admin import CopyHolderAdmin, CopyOffers
from ibi.services.membership.named_copy_holders import NamedCopyHolders
from ibi.services.notifications.claim_context import ClaimContext
from ibi.services.notifications.inbox import ArrivalRate, NotificationInbox, RegisteredRate
from ibi.services.notifications.registered_senders import RegisteredSenders
from ibi.services.robots import is_robot
from ibi.services.sites import ArchiveSite, ItemServices
from ibi.storage.archive_state import ArchiveRecordFile, MembershipFiles, ServedAddress
from ibi.storage.copy_holders import CopyHoldersFile
from ibi.storage.draft_files import DraftFiles
from ibi.storage.dump_files import DumpDirectory
from ibi.storage.key_files import ARCHIVE
from ibi.storage.locks import WorkerLock
from ibi.storage.sqlite.notifications import SqliteNotifications
from ibi.storage.sqlite.tick_store import SqliteGivenOut
from ibi.storage.worker_state import ALONE, WorkerShare
from ibi.transport.item_source import HttpItemSources
from ibi.web.pages.reader import letter_translations

USAGE = "usage.sqlite"
"""The file with the usage counts of a data directory."""


def verification_schedule(settings: Settings, site: ArchiveSite) -> VerificationSchedule | None:
    """Return the verification schedule of a server's Archive. Wrong mail settings are logged and otherwise ignored."""
    if site.item_services is None or not isinstance(site.item_services.repository, ArchiveStore):
        return None
    archive = settings.archive
    return VerificationSchedule(
        site.item_services.repository,
        days=archive.verify_days,
        rate=archive.verify_rate,
        mail=_damage_mail(settings, site.public_url),
        hold=WorkerLock(settings.data / "verification.lock").hold,
    )


def dump_schedule(settings: Settings, site: ArchiveSite) -> DumpSchedule | None:
    """Return the dump schedule of a server's Archive; None unless the settings want dumps."""
    if site.feed is None or site.dumps is None or settings.archive.dump is None:
        return None
    hold = WorkerLock(settings.data / "dumps.lock").hold
    return DumpSchedule(site.feed, site.catalog, site.dumps, settings.archive.dump, hold=hold)


def _damage_mail(settings: Settings, public_url: str) -> DamageMail | None:
    try:
        mailer = configured_mailer(settings)
    except MailIncomplete as error:
        structlog.get_logger("ibi.integrity").error("damage is not told by mail", reason=str(error))
        return None
    to = settings.archive.admin_email
    return None if mailer is None or to is None else DamageMail(mailer, to, public_url)


def open_archive_site(
    settings: Settings,
    listening_url: str,
    minter: LocalMinter,
    opened: ExitStack,
    *,
    audit: AuditLog,
    demo: bool = False,
    on_rebuild: Callable[[int | None], None] = lambda _: None,
    on_item: Callable[[], None] = lambda: None,
    finder: SourceFinder | None = None,
    share: WorkerShare = ALONE,
    people: People | None = None,
) -> tuple[ArchiveSite | None, Callable[[], None]]:
    """Return the Archive of the data directory, and a check that its files are still the opened ones.

    The Archive is initialised if necessary, and filled if it is a `demo`. It is closed with `opened`. A rebuild of the
    catalogue may take long: `on_rebuild` is called first with the number of items, if known, and `on_item` for each
    item. `finder` finds the Archives to take Copies from. `share` is shared with other processes of the server. Changes
    go to the `audit` log. Without `people`, readers cannot send requests, since nobody could answer.

    The Archive is None while no label can be minted and there is no Archive yet: its own item needs a label.
    """
    public_url = (settings.public_url or listening_url).rstrip("/")
    log = structlog.get_logger("ibi.archive")
    store = opened.enter_context(_open_store(settings.data, on_rebuild, on_item, audit))
    for name, error in store.swept.unreadable:
        log.error("an item cannot be read", item=name, reason=str(error))
    if store.integrity is not None:
        store.integrity.ledger.damaged_items()  # opened before the event loop uses it
    address = _claim_address(settings.data, public_url, opened)
    is_new = ArchiveRecordFile(settings.data).read() is None
    try:
        record = _record(settings, public_url, minter, store, is_ours=address == public_url)
    except (ClockRefused, AnotherInstance, DoubtUnreadable) as refusal:
        log.error("no Archive is begun", reason=str(refusal))
        return None, store.check
    if demo:
        fill_with_demo(settings, public_url, minter, store)
    usage = open_usage(settings.data / USAGE, opened)
    searching = Searching(store.search, store.catalog.recent_version)
    opened.callback(searching.close)
    content_url = (settings.content_url or public_url).rstrip("/")
    given_out = SqliteGivenOut(settings.data)
    opened.callback(given_out.close)
    signing = own_keys(settings.data, ARCHIVE)
    holders, settled = CopyHoldersFile(settings.data), settings.archive.copies_at or ()
    own = own_addresses(public_url, listening_url)
    exchange = _open_exchange(settings, store, minter, record, opened)
    site = ArchiveSite(
        profile=ArchiveProfile(
            Origin.of_url(public_url).authority,
            record.service,
            ArchiveUrls(public_url, content_url),
            relations=ALL_RELATIONS if settings.archive.relations is None else settings.archive.relations,
            follow_editions=settings.archive.follow_editions,
            landing_page=settings.archive.landing_page,
            # The header field of answers cannot list items: the signed statement does.
            copies_at=tuple(holder.service for holder in settings.archive.copies_at or () if not holder.prefixes),
        ),
        catalog=store.catalog,
        content=store.content,
        keys=UrlKeys(record.url_key_secret),
        clocks=minter.clocks,
        public_url=public_url,
        content_url=content_url,
        resolver=settings.resolver,
        proxies=settings.trusted_proxies or (),
        changes=store.catalog.recent_version,
        feed=store.changes,
        given_out=given_out,
        usage=usage,
        recent=share.recent(),
        is_robot=is_robot,
        item_services=_item_services(
            settings, store, minter, record, own, finder, opened, exchange, people, public_url
        ),
        transfers=open_transfers(
            settings,
            store,
            record.service,
            public_url,
            minter.clocks,
            copying_here(settings, store, record, minter.clocks, own=own),
            opened,
            check_source=sandbox_check(is_sandbox=minter.identity.sandbox),
            sources=HttpItemSources(own, settings.copies.networks or (), is_sandbox=minter.identity.sandbox),
            resolves=settings.resolve.enabled is not False,
            lost=store.is_rebuilt,
            is_new=is_new,
            share=share,
        ),
        signing=signing,
        copy_holders=NamedCopyHolders(record.service, settled, signing, minter.clocks, holders),
        copy_holder_admin=CopyHolderAdmin(holders, record.service, settled, time, audit=audit),
        copy_offers=CopyOffers(holders, _senders(settings, public_url, minter), record.service, time),
        search=searching,
        texts=open_texts(settings, store, minter.clocks, opened),
        previews=open_previews(settings, opened),
        collections=open_collections(settings.data, store, minter, searching, audit, opened),
        integrity=store.integrity,
        admin_email=settings.archive.admin_email,
        dumps=None if settings.archive.dump is None else DumpDirectory(settings.data),
        served_elsewhere=None if address == public_url else address,
        is_switched_on=partial(_is_switched_on, MembershipFiles(settings.data)),
        warn_of_url=partial(undeclared_host, settings, public_url),
        public_key=signing.read_public,
        is_sandbox=minter.identity.sandbox,
        inbox=None if exchange is None else _open_inbox(settings, exchange, public_url, minter, share),
    )
    if site.transfers is not None:
        store.guard_changes(site.transfers.tracking.require_changeable, record.service)
    return site, store.check


def _claim_address(data: Path, public_url: str, opened: ExitStack) -> str:
    """Return the address that the Archive's own item leads to: this one, unless another server of the directory runs.

    Otherwise two servers with different addresses would rewrite that item in turn, each at its start.
    """
    log = structlog.get_logger("ibi.archive")
    served = ServedAddress(data)
    try:
        address = served.claim(public_url)
    except StorageError as error:  # the server starts all the same
        log.error("it is not known whether another server has this Archive's address", reason=str(error))
        return public_url
    opened.callback(served.release)
    if address != public_url:
        log.warning(
            "another server runs on this data directory at another address; the item of this Archive stays there",
            url=address,
            here=public_url,
        )
    return address


def _is_switched_on(files: MembershipFiles) -> bool:
    """Return whether the Archive is switched on. If the switch cannot be read, the Archive stays open."""
    try:
        return files.switched_on
    except StorageError:
        return True


def _open_store(
    data: Path, on_rebuild: Callable[[int | None], None], on_item: Callable[[], None], audit: AuditLog
) -> ArchiveStore:
    log = structlog.get_logger("ibi.archive")

    def begin_rebuild(expected: int | None) -> None:
        on_rebuild(expected)
        log.warning("the catalogue does not agree with the store, and is made anew from it", items=expected)

    def set_aside(error: CatalogDamaged, aside: Path | None) -> None:
        log.warning("the catalogue is set aside", reason=error.parameters["reason"], name=aside and aside.name)

    store = open_repaired(data, on_item=on_item, on_rebuild=begin_rebuild, on_aside=set_aside, audit=audit)
    if store.is_rebuilt:
        log.warning("the catalogue is made anew", items=store.swept.looked_at, unreadable=len(store.swept.unreadable))
    return store


def own_addresses(*urls: str) -> frozenset[tuple[str, int]]:
    """Return the addresses of this server. It never asks them for items."""
    origins = map(Origin.of_url, urls)
    return frozenset((origin.host, origin.effective_port) for origin in origins)


def _open_exchange(
    settings: Settings, store: ArchiveStore, minter: LocalMinter, record: ArchiveRecord, opened: ExitStack
) -> ClaimContext | None:
    if not settings.notify.inbox:
        return None
    notifications = SqliteNotifications(settings.data)
    opened.callback(notifications.close)
    return claim_context(notifications, store, minter.clocks, record.service, sandbox=minter.identity.sandbox)


def _open_inbox(
    settings: Settings, exchange: ClaimContext, public_url: str, minter: LocalMinter, share: WorkerShare
) -> NotificationInbox:
    return NotificationInbox(
        exchange,
        ArrivalRate(rows=share.notifications),
        senders=_senders(settings, public_url, minter),
        registered_rate=RegisteredRate(rows=share.signed_notifications),
    )


def _senders(settings: Settings, public_url: str, minter: LocalMinter) -> RegisteredSenders:
    register = RegisterReader(settings, find_resolver_elsewhere(settings, public_url))
    return RegisteredSenders(register.read, public_url, minter.clocks.seconds)


def _mailer(settings: Settings) -> Mailer | None:
    """Return the mailer. Wrong mail settings are logged and otherwise ignored."""
    try:
        return configured_mailer(settings)
    except MailIncomplete as error:
        structlog.get_logger("ibi.mail").error("no mail is sent", reason=str(error))
        return None


def _item_services(
    settings: Settings,
    store: ArchiveStore,
    minter: LocalMinter,
    record: ArchiveRecord,
    own: frozenset[tuple[str, int]],
    finder: SourceFinder | None,
    opened: ExitStack,
    exchange: ClaimContext | None = None,
    people: People | None = None,
    public_url: str = "",
) -> ItemServices:
    """Return the services that take deposits. Abandoned drafts are removed now, and later by a job."""
    archive = settings.archive
    quota = DraftQuota(archive.most_drafts, archive.most_draft_bytes, archive.disk_reserve, archive.draft_share)
    rules = DraftRules(archive.largest_deposit, archive.draft_days, quota)
    box, book = LetterBox(_mailer(settings)), AddressBook(people, archive.admin_email)
    opened.callback(box.close)
    drafts = Drafts(
        DraftFiles(settings.data, minter.clocks),
        store,
        minter.clocks,
        rules,
        service=record.service,
        reviews=open_reviews(settings, opened),
        is_reviewed=archive.review,
        news=ReviewLetters(box, book, public_url, settings.resolver, letter_translations),
        hold=WorkerLock(settings.data / "drafts.lock").hold,
    )
    drafts.sweep()
    unreadable = [name for name, _ in store.swept.unreadable]
    finder = finder or SourceFinder(settings)
    return ItemServices(
        store,
        drafts,
        minter.clocks,
        record.service,
        standing=lambda: {
            **dict(membership_status(settings)),
            "unreadable": unreadable,
            **dict(integrity_status(store)),
        },
        copy_work=open_copy_work(settings, store, record, minter.clocks, own, finder, opened),
        exchange=exchange,
        requests=None
        if people is None or not archive.requests
        else ReaderRequests(
            open_requests(settings, opened),
            store,
            minter.clocks,
            RequestRules(archive.request_days),
            box,
            book,
            public_url,
            service=record.service,
            translations_of=letter_translations,
        ),
    )


def _record(
    settings: Settings, public_url: str, minter: LocalMinter, store: ArchiveStore, *, is_ours: bool
) -> ArchiveRecord:
    """Return the Archive's own record. Its item follows this server if the address of the Archive `is_ours`."""
    records = ArchiveRecordFile(settings.data)
    record = records.read()
    deposits = Deposits(store, LocalLabels(minter.mint, "archive"), minter.clocks)
    if record is None:
        now = minter.clocks.read().wall
        return begin_archive(
            deposits, store, records, now, public_url=public_url, title="Archive service", who="archive"
        )
    records.note()
    _check_service(settings.data, record, store)
    if not is_ours:
        return record
    log = structlog.get_logger("ibi.archive")
    try:
        if follow_address(deposits, store, record.service, public_url, "archive"):
            log.info("the item of this Archive follows it to its new address", url=public_url)
    except IbiError as error:  # the server starts all the same
        log.error("the item of this Archive does not follow it", url=public_url, reason=str(error))
    return record


def _check_service(data: Path, record: ArchiveRecord, store: ArchiveStore) -> None:
    """Raise `StoreIncomplete` if the Archive's own item is missing. It cannot be deleted, so the store is another one,
    or empty."""
    service = record.service.rep
    if service is not None and not store.holds(service):
        items = sum(1 for _ in store.content.iterate()) + 1
        raise StoreIncomplete(path=data / STORE, missing="at least 1", items=items, example=str(service))


def integrity_status(store: ArchiveStore) -> Iterator[tuple[str, object]]:
    """Yield the damaged items and the times of verification, for the status."""
    integrity = store.integrity
    if integrity is None:
        return
    try:
        summary = integrity.summary().among(store.catalog.holdings().values())
    except StorageError as error:  # the rest of the status is still shown
        yield "damaged", [str(error)]
        return
    yield "damaged", sorted(integrity.ledger.damaged_items())
    yield "verified", summary.verified
    yield "never_verified", summary.never_verified
    yield "last_verification", None if summary.newest is None else str(Instant(summary.newest))
    yield "oldest_verification", None if summary.oldest is None else str(Instant(summary.oldest))


def fill_with_demo(settings: Settings, public_url: str, minter: LocalMinter, store: ArchiveStore) -> None:
    deposits = Deposits(store, LocalLabels(minter.mint, "demonstration"), minter.clocks)
    fill(deposits, settings.data, public_url)
