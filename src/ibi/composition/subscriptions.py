"""Builds what a server needs of follows and webhooks, from the settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from threading import Event
from time import time

from ibi.composition.copies import copying_here
from ibi.composition.copy_work import SourceFinder
from ibi.config import Settings
from ibi.errors import IbiError
from ibi.label import Label
from ibi.model.follow import SourceAddress
from ibi.ports.audit import AuditLog
from ibi.services.copies.copying import Brought, Copying
from ibi.services.copies.many import bring_many
from ibi.services.sites import ArchiveSite, ItemServices
from ibi.services.subscriptions.follow_admin import FollowAdmin
from ibi.services.subscriptions.follow_worker import FollowWorker
from ibi.services.subscriptions.subscriptions import Subscriptions
from ibi.services.subscriptions.webhook_admin import WebhookAdmin
from ibi.services.subscriptions.webhook_worker import ArchivePlace, WebhookWorker
from ibi.storage.archive_state import ArchiveRecordFile
from ibi.storage.sqlite.follows import SqliteFollows
from ibi.storage.sqlite.webhooks import SqliteWebhooks
from ibi.transport.address_guard import AddressGuard
from ibi.transport.source_client import SourceClient
from ibi.transport.webhook_sender import HttpWebhookSender


class CopyBringer:
    """Brings what is followed as Copies; of sources that the API named, within the address guard."""

    def __init__(
        self, settings: Settings, services: ItemServices, own: frozenset[tuple[str, int]], finder: SourceFinder
    ) -> None:
        """`own` are the addresses of this server; `finder` asks the resolver."""
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
    """Bytes are not counted."""


def open_subscriptions(
    settings: Settings,
    site: ArchiveSite | None,
    own: frozenset[tuple[str, int]],
    finder: SourceFinder,
    audit: AuditLog,
    opened: ExitStack,
) -> Subscriptions | None:
    """The follows and webhooks of a server's Archive, closed with `opened`; None without an Archive that takes items.
    `own` are the addresses of the server; `finder` finds the holders of items that moved."""
    if site is None or site.feed is None or site.item_services is None:
        return None
    follows, webhooks = SqliteFollows(settings.data), SqliteWebhooks(settings.data)
    opened.callback(follows.close)
    opened.callback(webhooks.close)
    guard, networks = AddressGuard(own), settings.copies.networks or ()
    sources, sender = SourceClient(guard, networks), HttpWebhookSender(guard, networks)
    bringer = CopyBringer(settings, site.item_services, own, finder)
    place = ArchivePlace(str(site.profile.service.labels[0]), site.public_url)
    return Subscriptions(
        FollowAdmin(follows, sources, time, own_url=site.public_url, audit=audit),
        WebhookAdmin(webhooks, site.feed, time, audit=audit),
        FollowWorker(follows, sources, bringer, site.catalog),
        WebhookWorker(webhooks, sender, site.feed, place),
    )
