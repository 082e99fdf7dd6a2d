"""The follows and webhooks of a server, on a data directory and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ibi.following.service.subscriptions import FollowAdmin, Subscriptions, WebhookAdmin
from ibi.following.service.webhook_worker import ArchivePlace, WebhookWorker
from ibi.following.store.follows import SqliteFollows
from ibi.following.store.subscriptions import SqliteWebhooks
from ibi.items.ports.catalog import ChangeFeed
from ibi.people.store.audit_log import FileAuditLog
from tests.support.followed_source import FollowedSource

NOW = 1_800_000_000


@dataclass
class KeptSubscriptions:
    subscriptions: Subscriptions
    source: FollowedSource
    follows: SqliteFollows
    webhooks: SqliteWebhooks
    audit: FileAuditLog


@contextmanager
def kept_subscriptions(data: Path, feed: ChangeFeed) -> Iterator[KeptSubscriptions]:
    follows, webhooks, source, audit = SqliteFollows(data), SqliteWebhooks(data), FollowedSource(), FileAuditLog(data)
    place = ArchivePlace("lab.br/svc/2008/03.17.15.17", "http://arq.example")

    def now() -> float:
        return NOW

    bundle = Subscriptions(
        FollowAdmin(follows, source, now, own_url="http://arq.example", audit=audit),
        WebhookAdmin(webhooks, feed, now, audit=audit),
        None,
        WebhookWorker(webhooks, _Unheard(), feed, place, now=now),
    )
    try:
        yield KeptSubscriptions(bundle, source, follows, webhooks, audit)
    finally:
        follows.close()
        webhooks.close()
        audit.close()


class _Unheard:
    async def send(self, *_: object) -> str | None:
        return "nothing is sent in a test"
