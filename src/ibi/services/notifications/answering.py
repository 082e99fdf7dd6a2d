"""Answers to claims of other Archives on items here, by who may answer for the item.

What is accepted or declined is written into the record of the item, as it is for claims within one Archive, and the
claim is settled by what the record says. So a crash between the two only delays the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ibi.accounts.rights import ItemAct
from ibi.archive.errors import ClaimAccepted, NoSuchClaim
from ibi.archive.life_cycle import Act, require
from ibi.archive.related_items import ClaimState, claim_state, decline, take_back_decline
from ibi.label import Label, RepositoryName
from ibi.languages import LanguageTag
from ibi.model.item import Draft, Item
from ibi.model.notification import ClaimRelation, ReceivedClaim, RelatedLink, RemoteClaimState, SentClaim
from ibi.ports.catalog import Link
from ibi.ports.notifications import Rows
from ibi.services.items.backlinks import with_backlink_to
from ibi.services.items.deposits import Deposits
from ibi.services.notifications.context import ClaimContext, ClaimWithdrawn, LanguageNotKnown

Row = TypeVar("Row", ReceivedClaim, SentClaim)
_PAGE = 500
PENDING = frozenset({RemoteClaimState.PENDING})
_ANSWERS = {ClaimState.ACCEPTED: RemoteClaimState.ACCEPTED, ClaimState.DECLINED: RemoteClaimState.DECLINED}


@dataclass(frozen=True, slots=True)
class RemoteClaims:
    """Claims between this Archive and others, as far as they concern an actor. Calls block, from any thread."""

    context: ClaimContext
    deposits: Deposits
    """With the rights of the actor."""

    def received(
        self, states: Collection[RemoteClaimState] = PENDING, after: int = 0
    ) -> Iterator[tuple[ReceivedClaim, Item]]:
        """Claims on items here that the actor may answer, in the order in which they came, each with its item."""
        for claim in _every(self.context.store.received, states, after):
            item = self._find_permitted(claim.item, ItemAct.ANSWER)
            if item is not None:
                yield claim, item

    def find(self, number: int) -> ReceivedClaim | None:
        """The claim of that number, if the actor may answer it."""
        claim = self.context.store.received.find(number)
        return None if claim is None or self._find_permitted(claim.item, ItemAct.ANSWER) is None else claim

    def sent(self, states: Collection[RemoteClaimState] = PENDING, after: int = 0) -> Iterator[tuple[SentClaim, Item]]:
        """Claims of items here whose relations the actor may change, in the order in which they were made."""
        for claim in _every(self.context.store.sent, states, after):
            item = self._find_permitted(claim.claimant, ItemAct.RELATE)
            if item is not None:
                yield claim, item

    def _find_permitted(self, name: str, act: ItemAct) -> Item | None:
        item = self.context.catalog.find(RepositoryName.parse(name))
        return item if item is not None and self.deposits.may(act, item) else None

    def accept(self, label: Label, claimant: Label | str, who: str) -> Item:
        """The item claimed, which names the claimant from now on, by its label or its URL. What keeps it from doing so
        is raised."""
        item, claims = self._find(label, claimant)
        claim = claims[0]

        def accepted(now: Item) -> Item:
            return self._accept(now, claim)

        changed = self.deposits.change({item.rep: accepted}, who, f"Accepted the claim of {claim.url}", act="accept")
        for each in claims:
            self.context.settle(each, RemoteClaimState.ACCEPTED)
        return changed[item.rep]

    def decline(self, label: Label, claimant: Label | str, who: str) -> Item:
        """The item claimed, which does not wait for this claim any more; it can still be accepted later. A review that
        was accepted is shown no longer."""
        item, claims = self._find(label, claimant)
        claim = claims[0]
        if claim.relation.is_backlink and _said_to(item, claim) is ClaimState.ACCEPTED:
            raise ClaimAccepted(label=str(item.rep), claimant=str(claimant))
        message = f"Declined the claim of {claim.url}"
        changed = self.deposits.change({item.rep: lambda now: _decline(now, claim)}, who, message, act="decline")
        for each in claims:
            self.context.settle(each, RemoteClaimState.DECLINED)
        return changed[item.rep]

    def _find(self, label: Label, claimant: Label | str) -> tuple[Item, list[ReceivedClaim]]:
        """The item, and all notifications of the one claim: those that were verified first."""
        item = self.context.repository.find(label)
        self.deposits.require(ItemAct.ANSWER, item)
        found = [each for each in self.context.store.received.about(str(item.rep)) if _is_made_by(each, claimant)]
        if not found:
            raise NoSuchClaim(label=str(item.rep), claimant=str(claimant))
        standing = [each for each in found if each.state is not RemoteClaimState.WITHDRAWN]
        if not standing:
            raise ClaimWithdrawn(label=str(item.rep), claimant=str(claimant))
        first = min(standing, key=lambda each: (each.inbox is None, -each.number))
        return item, [first, *(each for each in standing if each != first and each.relation is first.relation)]

    def _accept(self, item: Item, claim: ReceivedClaim) -> Item:
        forms = claim.forms
        if forms is None:
            return with_related_link(item, claim)
        said = _as_draft(item, claim)
        return with_backlink_to(self.context.catalog, take_back_decline(item, forms), said, forms)


def _every(rows: Rows[Row], states: Collection[RemoteClaimState], after: int) -> Iterator[Row]:
    while found := rows.list(states, after, _PAGE):
        yield from found
        after = found[-1].number


def settled_state(item: Item, claim: ReceivedClaim) -> RemoteClaimState:
    """What has become of a claim, by what the item says; and what its sender was told, if the item says nothing."""
    if claim.state is RemoteClaimState.WITHDRAWN or not claim.relation.is_backlink:
        return claim.state
    said = _said_to(item, claim)
    if said is not ClaimState.PENDING:
        return _ANSWERS[said]
    # It named the claimant once: that was taken back here.
    return RemoteClaimState.DECLINED if claim.answered is RemoteClaimState.ACCEPTED else RemoteClaimState.PENDING


def with_related_link(item: Item, claim: ReceivedClaim) -> Item:
    require(item, Act.RELATE)
    link = RelatedLink(
        claim.relation, claim.url, claim.name, claim.iri if claim.relation is ClaimRelation.RELATED else None
    )
    return replace(item, related=(*_without_link(item, claim), link))


def _without_link(item: Item, claim: ReceivedClaim) -> tuple[RelatedLink, ...]:
    return tuple(each for each in item.related if (each.kind, each.url) != (claim.relation, claim.url))


def _decline(item: Item, claim: ReceivedClaim) -> Item:
    forms = claim.forms
    if forms is not None:
        return decline(item, forms)
    return replace(item, related=_without_link(item, claim))


def _said_to(item: Item, claim: ReceivedClaim) -> ClaimState:
    forms = claim.forms
    assert forms is not None  # a claim of an item has its label
    return claim_state(item, Link(claim.relation.value), forms)


def _as_draft(item: Item, claim: ReceivedClaim) -> Draft:
    """What the claimant says of the item, as if it were here."""
    match claim.relation:
        case ClaimRelation.EDITION_OF:
            return Draft(edition_of=item.labels)
        case ClaimRelation.DESCRIBES:
            return Draft(describes=item.labels)
    if claim.language is None:
        raise LanguageNotKnown(
            label=str(item.rep), claimant=claim.claimant[0], reason=claim.reason or "it is asked at this moment"
        )
    return Draft(translation_of=item.labels, language=LanguageTag.parse(claim.language, registered=False))


def _is_made_by(claim: ReceivedClaim, claimant: Label | str) -> bool:
    return claim.url == claimant if isinstance(claimant, str) else claim.is_made_by(claimant)


def received_document(claim: ReceivedClaim, item: Item) -> dict[str, Any]:
    """A claim on an item here as JSON, for the API and the command."""
    return {
        "number": claim.number,
        "claimant": claim.claimant[0] if claim.claimant else claim.url,
        "claimant_url": claim.url,
        "claimant_title": claim.title,
        "relation": claim.relation.value,
        "language": claim.language,
        "item": item.rep.spelling,
        "item_owner": item.owner,
        "state": claim.state.value,
        "archive": claim.origin,
        "archive_name": claim.name,
        "check": claim.check.value,
        "reason": claim.reason,
        "received": claim.received,
        "changed": claim.changed,
    }


def sent_document(claim: SentClaim, item: Item) -> dict[str, Any]:
    """A claim of an item here as JSON."""
    return {
        "number": claim.number,
        "claimant": item.rep.spelling,
        "claimant_owner": item.owner,
        "relation": claim.relation.value,
        "item": claim.item[0],
        "state": claim.state.value,
        "is_confirmed": claim.is_confirmed,
        "delivery": claim.delivery.value,
        "reason": claim.reason,
        "inbox": claim.inbox,
        "summary": claim.summary,
        "made": claim.made,
        "changed": claim.changed,
    }
