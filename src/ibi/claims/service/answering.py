"""The answers of people to claims between Archives."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from ibi.claims.model import ReceivedClaim, RemoteClaimState, SentClaim
from ibi.claims.ports import Rows
from ibi.claims.service.claim_context import ClaimContext, ClaimWithdrawn, LanguageNotKnown
from ibi.items.model.item import Description, Draft, Item
from ibi.items.model.related_link import ClaimRelation, RelatedLink
from ibi.items.ports.catalog import Link
from ibi.items.rules.errors import ClaimAccepted, NoSuchClaim
from ibi.items.rules.life_cycle import Act, require
from ibi.items.rules.related_items import ClaimState, claim_state, decline, take_back_decline
from ibi.items.rules.rights import ItemAct
from ibi.items.service.deposits import Deposits
from ibi.items.service.stored_item import with_backlink_to
from ibi.standard.label import Label, RepositoryName, parse
from ibi.standard.languages import LanguageTag

Row = TypeVar("Row", ReceivedClaim, SentClaim)
_PAGE = 500
PENDING = frozenset({RemoteClaimState.PENDING})
ANSWERS: Final = ("accept", "decline", "decline-network")
"""The last one declines all other claims of the same network, too."""
_ANSWERS = {ClaimState.ACCEPTED: RemoteClaimState.ACCEPTED, ClaimState.DECLINED: RemoteClaimState.DECLINED}


@dataclass(frozen=True, slots=True)
class RemoteClaims:
    """Claims between this Archive and others, as far as they concern an actor. Calls block, from any thread.

    An answer is written into the record of the item, as for claims within one Archive. The record then settles the
    claim. So a crash between the two only delays the answer.
    """

    context: ClaimContext
    deposits: Deposits
    """With the rights of the actor."""

    def received(
        self, states: Collection[RemoteClaimState] = PENDING, after: int = 0
    ) -> Iterator[tuple[ReceivedClaim, Item]]:
        """Yield the claims on items here that the actor may answer, in the order in which they came, each with its
        item."""
        for claim in _every(self.context.store.received, states, after):
            item = self._find_permitted(claim.item, ItemAct.ANSWER)
            if item is not None:
                yield claim, item

    def find(self, number: int) -> ReceivedClaim | None:
        """Return the claim of that number, if the actor may answer it."""
        claim = self.context.store.received.find(number)
        return None if claim is None or self._find_permitted(claim.item, ItemAct.ANSWER) is None else claim

    def sent(self, states: Collection[RemoteClaimState] = PENDING, after: int = 0) -> Iterator[tuple[SentClaim, Item]]:
        """Yield the claims of items here with relations that the actor may change, in the order in which they were
        made."""
        for claim in _every(self.context.store.sent, states, after):
            item = self._find_permitted(claim.claimant, ItemAct.RELATE)
            if item is not None:
                yield claim, item

    def _find_permitted(self, name: str, act: ItemAct) -> Item | None:
        item = self.context.catalog.find(RepositoryName.parse(name))
        return item if item is not None and self.deposits.may(act, item) else None

    def answer(self, word: str, label: Label, claimant: Label | str, who: str) -> Item:
        """Give one of `ANSWERS`, and return the item claimed."""
        match word:
            case "accept":
                return self.accept(label, claimant, who)
            case "decline":
                return self.decline(label, claimant, who)
        return self.decline_network(label, claimant, who)

    def accept(self, label: Label, claimant: Label | str, who: str) -> Item:
        """Accept a claim, and return the item claimed, which names the claimant from now on, by its label or its URL.
        Raises the error that prevents this."""
        item, claims = self._find(label, claimant)
        claim = claims[0]

        def accepted(now: Item) -> Item:
            return self._accept(now, claim)

        changed = self.deposits.change({item.rep: accepted}, who, f"Accepted the claim of {claim.url}", act="accept")
        for each in claims:
            self.context.settle(each, RemoteClaimState.ACCEPTED)
        return changed[item.rep]

    def decline(self, label: Label, claimant: Label | str, who: str) -> Item:
        """Decline a claim, and return the item claimed. The claim can still be accepted later. A review that was
        accepted is no longer shown."""
        item, claims = self._find(label, claimant)
        claim = claims[0]
        if claim.relation.is_backlink and _said_to(item, claim) is ClaimState.ACCEPTED:
            raise ClaimAccepted(label=str(item.rep), claimant=str(claimant))
        message = f"Declined the claim of {claim.url}"
        changed = self.deposits.change({item.rep: lambda now: _decline(now, claim)}, who, message, act="decline")
        for each in claims:
            self.context.settle(each, RemoteClaimState.DECLINED)
        return changed[item.rep]

    def decline_network(self, label: Label, claimant: Label | str, who: str) -> Item:
        """Decline a claim, and all other waiting claims of its network, or of its registered Archive, that the actor
        may answer. Return the item of the first one."""
        network = self._find(label, claimant)[1][0].network
        changed = self.decline(label, claimant, who)
        for claim in self.context.store.pending(network):
            item = self._find_permitted(claim.item, ItemAct.ANSWER)
            if item is None:
                continue
            with suppress(NoSuchClaim, ClaimWithdrawn, ClaimAccepted):  # answered or withdrawn meanwhile
                self.decline(item.rep, parse(claim.claimant[0]) if claim.claimant else claim.url, who)
        return changed

    def _find(self, label: Label, claimant: Label | str) -> tuple[Item, list[ReceivedClaim]]:
        """Return the item, and all notifications of the one claim, verified ones first."""
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
    """Return the state of a claim, by the item's record. If the record says nothing, the answer that the sender got
    decides."""
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
    """Return the claimant's statement about the item, as a draft that could be here."""
    match claim.relation:
        case ClaimRelation.EDITION_OF:
            return Draft(description=Description(edition_of=item.labels))
        case ClaimRelation.DESCRIBES:
            return Draft(description=Description(describes=item.labels))
    if claim.language is None:
        raise LanguageNotKnown(
            label=str(item.rep), claimant=claim.claimant[0], reason=claim.reason or "it is asked at this moment"
        )
    language = LanguageTag.parse(claim.language, registered=False)
    return Draft(description=Description(translation_of=item.labels, language=language))


def _is_made_by(claim: ReceivedClaim, claimant: Label | str) -> bool:
    return claim.url == claimant if isinstance(claimant, str) else claim.is_made_by(claimant)
