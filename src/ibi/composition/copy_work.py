"""Builds the copying services of a server: the jobs, the finder of sources, follows and webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from threading import Event
from time import time
from typing import Final

from ibi.composition.copies import asking_resolver, copying_here
from ibi.config import Settings
from ibi.errors import IbiError
from ibi.label import Label
from ibi.model.membership import ArchiveRecord
from ibi.model.subscription import SourceAddress
from ibi.persistent_url import PersistentUrl
from ibi.ports.accounts import AuditLog
from ibi.ports.clocks import Clocks
from ibi.ports.copies import NoSource
from ibi.resolver.outcome import Redirect
from ibi.resolver.policy import NO_READER
from ibi.services.copies.copying import Brought, Copying
from ibi.services.copies.jobs import CopyWork, bring_many
from ibi.services.items.item_repository import ItemRepository
from ibi.services.membership.signers import OwnKeys
from ibi.services.sites import ArchiveSite, ItemServices, ResolverSite
from ibi.services.subscriptions.follow_worker import FollowerIntroduction, FollowWorker
from ibi.services.subscriptions.subscriptions import FollowAdmin, Subscriptions, WebhookAdmin
from ibi.services.subscriptions.webhook_worker import ArchivePlace, WebhookWorker
from ibi.storage.archive_state import ArchiveRecordFile
from ibi.storage.copy_parts import CopyParts
from ibi.storage.sqlite.copy_jobs import SqliteCopyJobs
from ibi.storage.sqlite.follows import SqliteFollows
from ibi.storage.sqlite.subscriptions import SqliteWebhooks
from ibi.transport.address_guard import AddressGuard
from ibi.transport.feed_client import SourceClient
from ibi.transport.webhook_sender import HttpWebhookSender
from ibi.web.pages.reader import translations
from ibi.web.resolver.alerts import alert_about

_PATIENCE: Final = 30.0
"""Seconds for one look-up by the resolver of the same server."""


class SourceFinder:
    """Finds holders of Originals for a server: by its own resolver, if there is one, else by the one of the settings.

    Call it from threads. The resolver runs on the server's event loop.
    """

    def __init__(self, settings: Settings) -> None:
        self._elsewhere = None if settings.resolver is None else asking_resolver(settings.resolver)
        self._resolver: ResolverSite | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def use(self, resolver: ResolverSite | None) -> None:
        self._resolver = resolver

    def note_loop(self) -> None:
        """Remember the event loop of the server; must be called on it."""
        self._loop = asyncio.get_running_loop()

    def __call__(self, label: Label) -> str:
        if self._resolver is not None and self._loop is not None:
            return self._ask_here(self._resolver, label, self._loop)
        if self._elsewhere is None:
            raise NoSource(label=str(label), reason="no resolver is known here")
        return self._elsewhere(label)

    @staticmethod
    def _ask_here(resolver: ResolverSite, label: Label, loop: asyncio.AbstractEventLoop) -> str:
        url = PersistentUrl(label, required_original=True)
        asked = resolver.resolving.resolve(url, (NO_READER,), base=resolver.base, fresh=True)
        try:
            resolved = asyncio.run_coroutine_threadsafe(asked, loop).result(_PATIENCE)
        except TimeoutError:
            raise NoSource(label=str(label), reason="the resolver took too long") from None
        if not isinstance(resolved.outcome, Redirect):
            alert = alert_about(resolved.outcome, url, translations("en"))
            raise NoSource(label=str(label), reason=alert.said.rstrip("."))
        archive = resolved.outcome.archive
        return f"{archive.protocol.scheme}://{archive.address}"


def open_copy_work(
    settings: Settings,
    store: ItemRepository,
    record: ArchiveRecord,
    clocks: Clocks,
    own: frozenset[tuple[str, int]],
    finder: SourceFinder,
    opened: ExitStack,
) -> CopyWork:
    """Return the copy jobs of a server at the addresses `own`. They are closed with `opened`."""
    jobs = SqliteCopyJobs(settings.data)
    opened.callback(jobs.close)
    copying = copying_here(settings, store, record, clocks, own=own, find_source=finder)
    return CopyWork(jobs, copying, CopyParts(settings.data), on_start=finder.note_loop)


# --- follows and webhooks ---------------------------------------------------------------------------------------------


class CopyBringer:
    """Brings followed items as Copies. Sources that were named through the API are contacted only within the address
    guard."""

    def __init__(
        self, settings: Settings, services: ItemServices, own: frozenset[tuple[str, int]], finder: SourceFinder
    ) -> None:
        """Prepare copying with and without the address guard. `own` are the addresses of this server; `finder` asks the
        resolver."""
        self._stopping, self._finder = Event(), finder
        self._any, self._guarded = (self._copying(settings, services, guarded) for guarded in (None, own))

    def _copying(self, settings: Settings, services: ItemServices, own: frozenset[tuple[str, int]] | None) -> Copying:
        record = ArchiveRecordFile(settings.data).read()
        return copying_here(settings, services.repository, record, services.clocks, own=own, stopping=self._stopping)

    def bring_many(
        self, labels: Sequence[Label], source: SourceAddress, token: str | None
    ) -> Iterator[tuple[Label, Brought | IbiError]]:
        copying = self._any if source.is_named_by_operator else self._guarded
        return bring_many(copying, labels, source.url, token, _ignore, who="follow")

    def find_holder(self, label: Label) -> str:
        return self._finder(label)

    def stop(self) -> None:
        self._stopping.set()


def _ignore(_: int) -> None:
    """Ignore the count of bytes."""


def _introduction(follows: SqliteFollows, keys: OwnKeys) -> FollowerIntroduction:
    return FollowerIntroduction(follows, lambda: keys.ring().key, time)


def open_subscriptions(
    settings: Settings,
    site: ArchiveSite | None,
    own: frozenset[tuple[str, int]],
    finder: SourceFinder,
    audit: AuditLog,
    opened: ExitStack,
) -> Subscriptions | None:
    """Return the follows and webhooks of a server's Archive, closed with `opened`. None without an Archive that takes
    items.

    `own` are the addresses of the server. `finder` finds the holders of items that moved.
    """
    if site is None or site.feed is None or site.item_services is None:
        return None
    follows, webhooks = SqliteFollows(settings.data), SqliteWebhooks(settings.data)
    opened.callback(follows.close)
    opened.callback(webhooks.close)
    guard, networks = AddressGuard(own), settings.copies.networks or ()
    introduction = None if site.signing is None else _introduction(follows, site.signing)
    sources, sender = SourceClient(guard, networks, introduce=introduction), HttpWebhookSender(guard, networks)
    bringer = CopyBringer(settings, site.item_services, own, finder)
    if site.transfers is not None:
        site.transfers.tracking.sources = lambda: [each.source.url for each in follows.all()]
    place = ArchivePlace(str(site.profile.service.labels[0]), site.public_url)
    return Subscriptions(
        FollowAdmin(follows, sources, time, own_url=site.public_url, audit=audit),
        WebhookAdmin(webhooks, site.feed, time, audit=audit),
        FollowWorker(follows, sources, bringer, site.catalog, own_url=site.public_url),
        WebhookWorker(webhooks, sender, site.feed, place),
    )
