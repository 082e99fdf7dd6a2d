"""Subscriptions of an Archive: adds, lists and removes follows and webhooks, for the command, the API and the page."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from ibi.following.model.subscription import Follow, FollowCounts, FollowKind, FollowTarget, SourceAddress
from ibi.following.model.webhook import (
    SECRET_BYTES,
    Webhook,
    read_webhook_kinds,
    read_webhook_prefix,
    read_webhook_url,
    shown_url,
)
from ibi.following.ports.subscriptions import FollowStore
from ibi.following.ports.webhooks import WebhookStore
from ibi.following.resources.subscriptions import FollowResource, NewWebhook, WebhookResource
from ibi.following.service.follow_worker import FollowWorker, SourceGateway
from ibi.following.service.webhook_worker import WebhookWorker
from ibi.items.ports.catalog import ChangeFeed
from ibi.jobs.promptness import beside
from ibi.jobs.runner import Job
from ibi.people.model.account import COMMAND, Actor, AuditEntry
from ibi.people.ports import AuditLog
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.origin import InvalidOrigin, Origin, authority_of, is_same_place


class UnknownFollow(IbiError):
    """Nothing is followed under the id {id}; `ibi follow list` shows what is."""

    code = "unknown-follow"
    kind = ErrorKind.NOT_FOUND
    request_field = "id"


class FollowsItself(IbiError):
    """{source} is this Archive itself: it has its own Originals."""

    code = "follows-itself"
    kind = ErrorKind.MALFORMED
    request_field = "source"


class InsecureSource(IbiError):
    """A token is not sent to {source} over plain http, where others can read it: use https."""

    code = "insecure-source"
    kind = ErrorKind.MALFORMED
    request_field = "token"


class UnusableSourceToken(IbiError):
    """The token for the source holds characters that no token has."""

    # The error does not repeat the token.
    code = "unusable-source-token"
    kind = ErrorKind.MALFORMED
    request_field = "token"


class UnknownAtSource(IbiError):
    """{source} has no item {label}."""

    code = "unknown-at-source"
    kind = ErrorKind.NOT_FOUND
    request_field = "label"


class FollowDirectory(Protocol):
    """Lists and removes follows, here or on a server. Calls block."""

    def list_follows(self) -> list[FollowResource]: ...

    def remove_follow(self, identity: str) -> FollowResource: ...


class FollowAdmin:
    """The follows of one data directory."""

    def __init__(
        self,
        store: FollowStore,
        sources: SourceGateway,
        now: Callable[[], float],
        *,
        own_url: str | None = None,
        audit: AuditLog | None = None,
        actor: Actor = COMMAND,
    ) -> None:
        """`own_url` is that of this Archive. The `audit` log records changes of follows, with the `actor`."""
        self._store, self._sources, self._now, self._own_url = store, sources, now, own_url
        self._audit, self._actor = audit, actor

    def acting_as(self, actor: Actor) -> FollowAdmin:
        """Return the same service for a caller of the API, whose sources have to be public, or in networks that the
        settings name."""
        return FollowAdmin(self._store, self._sources, self._now, own_url=self._own_url, audit=self._audit, actor=actor)

    async def add(self, kind: FollowKind, text: str, source_url: str, token: str | None) -> tuple[FollowResource, bool]:
        """Follow something from now on. Return the follow, and whether it is new.

        The source is asked for its feed, and for the item, before anything is stored.
        """
        source = SourceAddress(_origin(source_url), self._actor.address == COMMAND.address)
        if self._own_url is not None and is_same_place(source.url, self._own_url):
            raise FollowsItself(source=source.url)
        if token is not None:
            _check_token(source.url, token)
        target = FollowTarget.of(kind, text)
        place = await self._sources.page(source, None, "", 0)
        if target.kind is FollowKind.ITEM:
            found = await self._sources.record(source, target.label, token)
            if found is None:
                raise UnknownAtSource(source=source.url, label=target.text)
            target = FollowTarget(FollowKind.ITEM, str(found.name))
        now = int(self._now())
        # The follow is behind by the whole feed until a server has begun to work on it.
        identity = secrets.token_hex(4)
        follow = Follow(id=identity, target=target, source=source, token=token, created=now, end=place.end)
        is_new = await beside(lambda: self._store.add(follow))
        await beside(lambda: self._note("follow", follow))
        return next(each for each in await beside(self.list_follows) if _is_same(each, follow)), is_new

    def list_follows(self) -> list[FollowResource]:
        """Return all follows. Blocks."""
        counts: Mapping[str, FollowCounts] = self._store.counts()
        return [FollowResource.of(each, counts.get(each.id, FollowCounts({}))) for each in self._store.all()]

    def remove_follow(self, identity: str) -> FollowResource:
        """Remove a follow; Copies stay. Blocks."""
        counts = self._store.counts().get(identity, FollowCounts({}))
        removed = self._store.remove(identity)
        if removed is None:
            raise UnknownFollow(id=identity)
        self._note("unfollow", removed)
        return FollowResource.of(removed, counts)

    def _note(self, act: str, follow: Follow) -> None:
        if self._audit is not None:
            who, detail = self._actor, f"{follow.target} of {follow.source.url}"
            when = Instant(int(self._now()))
            self._audit.append(
                [AuditEntry(when, act, f"follow:{follow.id}", who.account, who.token, who.address, detail)]
            )


def _origin(url: str) -> str:
    """Return the address of the source: a scheme, a host and perhaps a port, in one spelling."""
    if "@" in authority_of(url):
        # Not repeated: the user part may hold a password.
        raise InvalidOrigin(authority_of(url).rpartition("@")[2], 0, "a user name has no place in it")
    origin = Origin.of_url(url)
    rest = url.partition("://")[2].partition("/")
    if rest[2]:
        raise InvalidOrigin(url, url.index("/", url.index("://") + 3), "an Archive is named without a path")
    return str(replace(origin, host=origin.host.lower()))


def _check_token(source: str, token: str) -> None:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UnusableSourceToken()
    origin = Origin.of_url(source)
    is_here = origin.name == "localhost" or (origin.address is not None and origin.address.is_loopback)
    if origin.scheme != "https" and not is_here:
        raise InsecureSource(source=source)


def _is_same(listed: FollowResource, follow: Follow) -> bool:
    wanted = follow.target.kind.value, follow.target.text, follow.source.url
    return (listed.kind, listed.text, listed.source) == wanted


MOST_WEBHOOKS: Final = 100
_END: Final = 1 << 62


class UnknownWebhook(IbiError):
    """There is no webhook with the id {id}; `ibi webhook list` shows those there are."""

    code = "unknown-webhook"
    kind = ErrorKind.NOT_FOUND
    request_field = "id"


class TooManyWebhooks(IbiError):
    """There are {most} webhooks already: remove one first."""

    code = "too-many-webhooks"
    kind = ErrorKind.CONFLICT


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

    def add_webhook(self, url: str, prefix: str | None, kinds: Sequence[str]) -> NewWebhook:
        """Create a webhook, which hears of changes from now on. Only this answer holds its `secret`."""
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
        return NewWebhook.with_secret(self._listed(webhook), secret)

    def list_webhooks(self) -> list[WebhookResource]:
        return [self._listed(each) for each in self._store.all()]

    def remove_webhook(self, identity: str) -> WebhookResource:
        removed = self._store.remove(identity)
        if removed is None:
            raise UnknownWebhook(id=identity)
        self._note("remove", removed)
        return self._listed(removed)

    def enable_webhook(self, identity: str) -> WebhookResource:
        """Enable a webhook again, from its last known position."""
        known = next((each for each in self._store.all() if each.id == identity), None)
        enabled = None if known is None else self._store.enable(identity, known.epoch, known.position)
        if enabled is None:
            raise UnknownWebhook(id=identity)
        self._note("enable", enabled)
        return self._listed(enabled)

    def _listed(self, webhook: Webhook) -> WebhookResource:
        place = self._feed.since(_END, 1)
        is_same = place.epoch == webhook.epoch
        return WebhookResource.of(webhook, max(0, place.end - webhook.position) if is_same else place.end)

    def _note(self, act: str, webhook: Webhook) -> None:
        if self._audit is not None:
            who, detail, when = self._actor, shown_url(webhook.url), Instant(int(self._now()))
            self._audit.append(
                [AuditEntry(when, act, f"webhook:{webhook.id}", who.account, who.token, who.address, detail)]
            )


FollowListing = Callable[[], list[FollowResource]]
WebhookListing = Callable[[], list[WebhookResource]]
"""Both block."""


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The follows and webhooks of an Archive, as a server needs them."""

    follows: FollowAdmin
    webhooks: WebhookAdmin
    follow_worker: FollowWorker | None
    webhook_worker: WebhookWorker

    @property
    def lists(self) -> tuple[FollowListing, WebhookListing]:
        """The functions that list follows and webhooks."""
        return self.follows.list_follows, self.webhooks.list_webhooks

    def jobs(self) -> tuple[Job, ...]:
        follows = () if self.follow_worker is None else self.follow_worker.jobs()
        return (*follows, *self.webhook_worker.jobs())

    async def stop(self) -> None:
        await self.webhook_worker.stop()
        if self.follow_worker is not None:
            await self.follow_worker.stop()
