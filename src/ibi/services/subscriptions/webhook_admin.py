"""Adds, lists, enables and removes webhooks: for the command and the API alike."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.model.account import COMMAND, Actor
from ibi.model.audit import AuditEntry
from ibi.model.webhook import (
    SECRET_BYTES,
    Webhook,
    read_webhook_kinds,
    read_webhook_prefix,
    read_webhook_url,
    shown_secret,
    shown_url,
)
from ibi.ports.audit import AuditLog
from ibi.ports.changes import ChangeFeed
from ibi.ports.webhooks import WebhookStore
from ibi.services.subscriptions.follow_admin import time_text

MOST_WEBHOOKS: Final = 100
_END: Final = 1 << 62


class UnknownWebhook(IbiError):
    """There is no webhook with the id {id}; `ibi webhook list` shows those there are."""

    code = "unknown-webhook"


class TooManyWebhooks(IbiError):
    """There are {most} webhooks already: remove one first."""

    code = "too-many-webhooks"


class WebhookAdmin:
    """The webhooks of one data directory. Calls block."""

    def __init__(
        self,
        store: WebhookStore,
        feed: ChangeFeed,
        now: Callable[[], float],
        *,
        audit: AuditLog | None = None,
        actor: Actor = COMMAND,
    ) -> None:
        self._store, self._feed, self._now, self._audit, self._actor = store, feed, now, audit, actor

    def acting_as(self, actor: Actor) -> WebhookAdmin:
        return WebhookAdmin(self._store, self._feed, self._now, audit=self._audit, actor=actor)

    def add_webhook(self, url: str, prefix: str | None, kinds: Sequence[str]) -> dict[str, Any]:
        """A new webhook, told of what changes from now on. Its `secret` is in the answer, this once."""
        place, secret = self._feed.since(_END, 1), secrets.token_bytes(SECRET_BYTES)
        webhook = Webhook(
            id=secrets.token_hex(4),
            url=read_webhook_url(url),
            secret=secret,
            is_named_by_operator=self._actor.address == COMMAND.address,
            prefix=read_webhook_prefix(prefix),
            kinds=read_webhook_kinds(tuple(kinds)),
            created=int(self._now()),
            epoch=place.epoch,
            position=place.end,
        )
        if len(self._store.all()) >= MOST_WEBHOOKS:
            raise TooManyWebhooks(most=MOST_WEBHOOKS)
        self._store.add(webhook)
        self._note("create", webhook)
        return {**self._document(webhook), "secret": shown_secret(secret)}

    def list_webhooks(self) -> list[dict[str, Any]]:
        return [self._document(each) for each in self._store.all()]

    def remove_webhook(self, identity: str) -> dict[str, Any]:
        removed = self._store.remove(identity)
        if removed is None:
            raise UnknownWebhook(id=identity)
        self._note("remove", removed)
        return self._document(removed)

    def enable_webhook(self, identity: str) -> dict[str, Any]:
        """Tell it again, from where it was told last as far as that is known."""
        known = next((each for each in self._store.all() if each.id == identity), None)
        enabled = None if known is None else self._store.enable(identity, known.epoch, known.position)
        if enabled is None:
            raise UnknownWebhook(id=identity)
        self._note("enable", enabled)
        return self._document(enabled)

    def _document(self, webhook: Webhook) -> dict[str, Any]:
        """A webhook as it is listed, without its secret."""
        place = self._feed.since(_END, 1)
        is_same = place.epoch == webhook.epoch
        return {
            "id": webhook.id,
            "url": shown_url(webhook.url),
            "prefix": webhook.prefix,
            "kinds": sorted(kind.value for kind in webhook.kinds),
            "created": time_text(webhook.created),
            "position": webhook.position,
            "behind": max(0, place.end - webhook.position) if is_same else place.end,
            "delivered": time_text(webhook.delivered),
            "attempts": webhook.attempts,
            "failing_since": time_text(webhook.failing),
            "reason": webhook.reason,
            "disabled": time_text(webhook.disabled),
        }

    def _note(self, act: str, webhook: Webhook) -> None:
        if self._audit is not None:
            who, detail, when = self._actor, shown_url(webhook.url), Instant(int(self._now()))
            self._audit.append(
                [AuditEntry(when, act, f"webhook:{webhook.id}", who.account, who.token, who.address, detail)]
            )
