"""Follows and webhooks."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ibi.following.model import subscription as model
from ibi.following.model.subscription import FollowCounts, FollowedState, FollowKind
from ibi.following.model.webhook import Webhook, shown_secret, shown_url
from ibi.items.model.change import ChangeKind
from ibi.standard.resource import Answer, Count, Request, Time, one_of, time_text

ChangeWord = Annotated[str, one_of(ChangeKind)]


class FollowRequest(Request, frozen=True):
    source: Annotated[str, Meta(description="The other Archive, `http(s)://host[:port]`.")]
    label: str | None = None
    prefix: str | None = None
    search: Annotated[str | None, Meta(description="Words, as the search of the other Archive takes them.")] = None
    all: bool = False
    token: Annotated[
        str | None,
        Meta(
            description="A token of the scope copy of the other Archive, for restricted items. It is never shown again."
        ),
    ] = None


class ItemsOfFollow(Answer, frozen=True):
    copy: Count
    deleted: Count
    purged: Count
    moved: Count
    gone: Count
    dropped: Count
    own: Count


class FollowResource(Answer, frozen=True):
    id: str
    kind: Annotated[str, one_of(FollowKind)]
    text: str
    source: str
    has_token: bool
    created: Time
    epoch: Annotated[str | None, Meta(description="Of the feed of the source; null before it was heard first.")]
    position: Count
    end: Count
    behind: Annotated[Count, Meta(description="Changes that are not taken in, and items that wait to be brought.")]
    waiting: Count
    refused: Count
    refused_reason: str | None
    items: Annotated[ItemsOfFollow, Meta(description="How many items there are, by what became of them.")]
    heard: Time | None
    current: Annotated[Time | None, Meta(description="When nothing was left to do last.")]
    failing_since: Time | None
    reason: str | None

    @classmethod
    def of(cls, follow: model.Follow, counts: FollowCounts) -> FollowResource:
        """Return a follow as it is listed: whether it has a token, and never which."""
        states = FollowedState
        return cls(
            id=follow.id,
            kind=follow.target.kind.value,
            text=follow.target.text,
            source=follow.source.url,
            has_token=follow.token is not None,
            created=time_text(follow.created),
            epoch=follow.epoch or None,
            position=follow.position,
            end=follow.end,
            behind=model.entries_behind(follow, counts),
            waiting=counts.waiting,
            refused=counts.refused,
            refused_reason=counts.reason,
            items=ItemsOfFollow(
                **{state.value: counts.states.get(state, 0) for state in states if state is not states.WAITING}
            ),
            heard=time_text(follow.heard),
            current=time_text(follow.current),
            failing_since=time_text(follow.failing),
            reason=follow.reason,
        )


class Follows(Answer, frozen=True):
    follows: list[FollowResource]


class WebhookRequest(Request, frozen=True):
    url: Annotated[str, Meta(description="A public address, or one in `copies.networks`.")]
    prefix: Annotated[str | None, Meta(description="Only of items with this prefix.")] = None
    kinds: Annotated[tuple[ChangeWord, ...], Meta(description="Only of these changes; all without it.")] = ()


class WebhookResource(Answer, frozen=True):
    id: str
    url: Annotated[str, Meta(description="Without its query.")]
    prefix: str | None
    kinds: list[ChangeWord]
    created: Time
    position: Count
    behind: Count
    delivered: Time | None
    attempts: Count
    failing_since: Time | None
    reason: str | None
    disabled: Time | None

    @classmethod
    def of(cls, webhook: Webhook, behind: int) -> WebhookResource:
        """Return a webhook as it is listed, without its secret."""
        return WebhookResource(
            id=webhook.id,
            url=shown_url(webhook.url),
            prefix=webhook.prefix,
            kinds=sorted(kind.value for kind in webhook.kinds),
            created=time_text(webhook.created),
            position=webhook.position,
            behind=behind,
            delivered=time_text(webhook.delivered),
            attempts=webhook.attempts,
            failing_since=time_text(webhook.failing),
            reason=webhook.reason,
            disabled=time_text(webhook.disabled),
        )


class NewWebhook(WebhookResource, frozen=True):
    secret: Annotated[str, Meta(description="`whsec_` and Base64.")]

    @classmethod
    def with_secret(cls, webhook: WebhookResource, secret: bytes) -> NewWebhook:
        """Return a new webhook with the secret that signs its deliveries. No other answer has it."""
        return cls(**msgspec.structs.asdict(webhook), secret=shown_secret(secret))


class Webhooks(Answer, frozen=True):
    webhooks: list[WebhookResource]
