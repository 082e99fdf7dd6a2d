"""Opens the follows and webhooks of a server's Archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event
from time import time

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.app.server.copying import SourceFinder
from ibi.copies.opening import copying_here
from ibi.copies.service.copying import Brought, Copying
from ibi.copies.service.jobs import bring_many
from ibi.following.client.feed_client import SourceClient
from ibi.following.client.webhook_sender import HttpWebhookSender
from ibi.following.model.subscription import SourceAddress
from ibi.following.service.follow_worker import FollowerIntroduction, FollowWorker
from ibi.following.service.subscriptions import FollowAdmin, Subscriptions, WebhookAdmin
from ibi.following.service.webhook_worker import ArchivePlace, WebhookWorker
from ibi.following.serving import serve_subscriptions
from ibi.following.store.follows import SqliteFollows
from ibi.following.store.subscriptions import SqliteWebhooks
from ibi.membership.service.signers import OwnKeys
from ibi.net.address_guard import AddressGuard
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.web.opened import Opened, WebContext


class CopyBringer:
    """Brings followed items as Copies. Sources that were named through the API are contacted only within the address
    guard."""

    def __init__(self, server: ServerContext, archive: OpenArchive, finder: SourceFinder) -> None:
        """Prepare copying with and without the address guard. `finder` asks the resolver."""
        self._stopping, self._finder = Event(), finder
        self._any, self._guarded = (self._copying(server, archive, guarded) for guarded in (None, server.own_addresses))

    def _copying(self, server: ServerContext, archive: OpenArchive, own: frozenset[tuple[str, int]] | None) -> Copying:
        settings, clocks = server.settings, server.clocks
        return copying_here(settings, archive.store, archive.record, clocks, own=own, stopping=self._stopping)

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
    server: ServerContext, web: WebContext, archive: OpenArchive, finder: SourceFinder
) -> tuple[Subscriptions, Opened]:
    """Return the follows and webhooks of a server's Archive. `finder` finds the holders of items that moved."""
    data, site, own = server.settings.data, archive.site, server.own_addresses
    follows, webhooks = SqliteFollows(data), SqliteWebhooks(data)
    server.opened.callback(follows.close)
    server.opened.callback(webhooks.close)
    guard, networks = AddressGuard(own), server.settings.copies.networks or ()
    sources = SourceClient(guard, networks, introduce=_introduction(follows, archive.signing))
    sender, feed, audit = HttpWebhookSender(guard, networks), archive.store.changes, server.audit
    archive.transfers.tracking.sources = lambda: [each.source.url for each in follows.all()]
    place = ArchivePlace(str(site.profile.service.labels[0]), site.public_url)
    subscriptions = Subscriptions(
        FollowAdmin(follows, sources, time, own_url=site.public_url, audit=audit),
        WebhookAdmin(webhooks, feed, time, audit=audit),
        FollowWorker(follows, sources, CopyBringer(server, archive, finder), site.catalog, own_url=site.public_url),
        WebhookWorker(webhooks, sender, feed, place),
    )
    return subscriptions, serve_subscriptions(web, subscriptions)
