"""Claims on items: within one Archive, those of others on items here, and those of items here on items elsewhere."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from ibi.claims import model as model
from ibi.claims.model import DeliveryState, RemoteClaimState, SenderCheck
from ibi.items.model.item import Item
from ibi.items.model.related_link import ClaimRelation
from ibi.items.ports.catalog import Link
from ibi.items.rules.related_items import ClaimState
from ibi.standard.resource import Answer, Page, Request, Url, one_of

Owner = Annotated[str | None, Meta(description="Its account; null if it is the Archive's.")]
StateWord = Annotated[str, one_of(RemoteClaimState)]
LinkWord = Annotated[str, one_of([relation for relation in ClaimRelation if relation.is_backlink])]
Second = Annotated[int, Meta(description="Seconds since 1970.")]
ChangeSecond = Annotated[int | None, Meta(description="When the state changed last.")]


class ClaimAnswer(Request, frozen=True):
    item: Annotated[str, Meta(description="A label: the item claimed.")]
    claimant: Annotated[
        str,
        Meta(description="A label: the item that makes the claim, here or elsewhere; or the address of a review."),
    ]
    answer: Annotated[
        str,
        one_of(["accept", "decline", "decline-network"]),
        Meta(description="The last one declines all other claims that wait and came from the same network, too."),
    ]


class ItemClaimResource(Answer, frozen=True):
    claimant: Annotated[str, Meta(description="The repository name of the item that makes the claim.")]
    claimant_owner: Owner
    relation: LinkWord
    language: Annotated[str | None, Meta(description="The language of the claimant.")]
    item: Annotated[str, Meta(description="The repository name of the item claimed.")]
    item_owner: Owner
    state: Annotated[str, one_of(ClaimState)]

    @classmethod
    def of(cls, claimant: Item, link: Link, item: Item, state: ClaimState) -> ItemClaimResource:
        return cls(
            claimant=claimant.rep.spelling,
            claimant_owner=claimant.owner,
            relation=link.value,
            language=None if claimant.language is None else str(claimant.language),
            item=item.rep.spelling,
            item_owner=item.owner,
            state=state.value,
        )


class ItemClaimsResource(Page, frozen=True):
    claims: list[ItemClaimResource]


class ReceivedClaimResource(Answer, frozen=True):
    number: Annotated[int, Meta(ge=1)]
    claimant: Annotated[
        str, Meta(description="The label of the item that makes the claim, or the address of what does.")
    ]
    claimant_url: Url
    claimant_title: str | None
    relation: Annotated[str, one_of(ClaimRelation)]
    language: str | None
    item: Annotated[str, Meta(description="The repository name of the item claimed.")]
    item_owner: Owner
    state: StateWord
    archive: Annotated[Url, Meta(description="Who sent it, by its own word.")]
    archive_name: str | None
    check: Annotated[
        str, one_of(SenderCheck), Meta(description="Whether the claimant was found to say so where it is kept.")
    ]
    reason: Annotated[str | None, Meta(description="Why it is not verified.")]
    received: Second
    changed: ChangeSecond
    notification: Url | UnsetType = UNSET

    @classmethod
    def of(cls, claim: model.ReceivedClaim, item: Item, notification: str | UnsetType = UNSET) -> ReceivedClaimResource:
        """Return a claim on an item here; `notification` is its place in the inbox."""
        return cls(
            number=claim.number,
            claimant=claim.claimant[0] if claim.claimant else claim.url,
            claimant_url=claim.url,
            claimant_title=claim.title,
            relation=claim.relation.value,
            language=claim.language,
            item=item.rep.spelling,
            item_owner=item.owner,
            state=claim.state.value,
            archive=claim.origin,
            archive_name=claim.name,
            check=claim.check.value,
            reason=claim.reason,
            received=claim.received,
            changed=claim.changed,
            notification=notification,
        )


class ReceivedClaims(Page, frozen=True):
    claims: list[ReceivedClaimResource]


class SentClaimResource(Answer, frozen=True):
    number: Annotated[int, Meta(ge=1)]
    claimant: Annotated[str, Meta(description="The repository name of the item here.")]
    claimant_owner: Owner
    relation: LinkWord
    item: Annotated[str, Meta(description="A label of the item elsewhere.")]
    state: StateWord
    is_confirmed: Annotated[
        bool, Meta(description="Whether the record of the item elsewhere shows that it was accepted.")
    ]
    delivery: Annotated[str, one_of(DeliveryState)]
    reason: Annotated[str | None, Meta(description="Why it is not delivered.")]
    inbox: Url | None
    summary: Annotated[str | None, Meta(description="What the other Archive says of its answer.")]
    made: Second
    changed: ChangeSecond

    @classmethod
    def of(cls, claim: model.SentClaim, item: Item) -> SentClaimResource:
        """Return a claim of an item here."""
        return cls(
            number=claim.number,
            claimant=item.rep.spelling,
            claimant_owner=item.owner,
            relation=claim.relation.value,
            item=claim.item[0],
            state=claim.state.value,
            is_confirmed=claim.is_confirmed,
            delivery=claim.delivery.value,
            reason=claim.reason,
            inbox=claim.inbox,
            summary=claim.summary,
            made=claim.made,
            changed=claim.changed,
        )


class SentClaims(Page, frozen=True):
    claims: list[SentClaimResource]
