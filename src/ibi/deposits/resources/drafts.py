"""What a depositor has in drafts, and what became of one that was published."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from ibi.deposits.rules.drafts import DraftQuota, Holding
from ibi.standard.resource import Answer, Count, Links, Url, bounds, one_of
from ibi.standard.vocabulary import State


class DraftQuotaResource(Answer, frozen=True):
    drafts: Annotated[Count, Meta(description="How many you have, not counting those that were published.")]
    most_drafts: Annotated[
        Annotated[int, bounds(minimum=1)] | None,
        Meta(description="How many you may have (archive.most_drafts); null is any number."),
    ]
    size: Annotated[Count, Meta(description="The bytes of their files, those on their way included.")]
    most_size: Annotated[
        Annotated[int, bounds(minimum=1)] | None,
        Meta(description="How many these may be (archive.most_draft_bytes); null is any number."),
    ]

    @classmethod
    def of(cls, quota: DraftQuota, held: Holding) -> DraftQuotaResource:
        """Return what is held beside the quota, which has 0 for no bound."""
        return cls(held.drafts, quota.drafts or None, held.size, quota.size or None)


class PublicationResource(Answer, frozen=True):
    rep: str
    ibip: str | None
    persistent_url: Url
    url: Url
    version: Count
    removed: Annotated[list[str], Meta(description="Files to which links lead nowhere from now on.")]
    warnings: Annotated[
        list[str],
        Meta(
            description="Sentences for who published it: the URL of a Web service may be on a host that resolvers do"
            " not know."
        ),
    ]
    links: Links
    state: Annotated[
        str | UnsetType,
        one_of([State.DELETED]),
        Meta(description="The item was deleted since: the request was sent again with the key of the first time."),
    ] = UNSET
