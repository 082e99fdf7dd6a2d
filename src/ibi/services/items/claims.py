"""Claims on the items of others: they wait until the owner of the item has answered.

An item that says `edition_of`, `translation_of` or `describes` makes a claim on another one. If the depositor may
answer for the item claimed, that gets its back-link at once (`backlinks`). Otherwise it gets none, so that no link of
it leads to the claimant, until the claim is accepted.

Nothing is kept of a claim that waits: it is a claim without a back-link. What was declined is written into the record
of the item claimed (`Item.declined`). So a catalogue that is made anew from the store knows all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from ibi.accounts.rights import ItemAct
from ibi.archive.errors import ClaimAccepted, NoSuchClaim
from ibi.archive.related_items import ClaimState, claim_state, claims_of, decline, find_forms, take_back_decline
from ibi.label import Label, RepositoryName
from ibi.model.account import Actor
from ibi.model.item import Item, name_one_item
from ibi.ports.catalog import Link
from ibi.services.items.backlinks import with_backlink
from ibi.services.items.deposits import Deposits
from ibi.services.items.item_repository import ItemRepository
from ibi.vocabulary import State

PENDING = frozenset({ClaimState.PENDING})


@dataclass(frozen=True, slots=True)
class ItemClaim:
    """What one item here says of another one here, and what has become of it."""

    claimant: Item
    link: Link
    item: Item
    state: ClaimState


def claim_document(claim: ItemClaim) -> dict[str, Any]:
    """A claim as JSON, for the API and the command."""
    return {
        "claimant": claim.claimant.rep.spelling,
        "claimant_owner": claim.claimant.owner,
        "relation": claim.link.value,
        "language": None if claim.claimant.language is None else str(claim.claimant.language),
        "item": claim.item.rep.spelling,
        "item_owner": claim.item.owner,
        "state": claim.state.value,
    }


@dataclass(frozen=True, slots=True)
class ItemClaims:
    """The claims on items of one Archive, as far as they concern the actor. Calls block, from any thread."""

    repository: ItemRepository
    deposits: Deposits
    actor: Actor

    def list(
        self, states: Collection[ClaimState] = PENDING, after: RepositoryName | None = None
    ) -> Iterator[ItemClaim]:
        """The claims that the actor may answer, and those that items of the actor's account make, in the order of the
        claimants."""
        for claimant in self.repository.catalog.claimants(after):
            for claim in self._claims_by(claimant):
                if claim.state in states and self._concerns(claim):
                    yield claim

    def accept(self, label: Label, claimant: Label, who: str) -> Item:
        """The item claimed, which names the claimant from now on. What keeps it from doing so, such as another next
        edition, is raised."""
        held, claiming = self._find(label, claimant)

        def accept(item: Item) -> Item:
            return with_backlink(self.repository.catalog, take_back_decline(item, claiming.labels), claiming)

        return self.deposits.change({held.rep: accept}, who, f"Accepted the claim of {claiming.rep}", act="accept")[
            held.rep
        ]

    def decline(self, label: Label, claimant: Label, who: str) -> Item:
        """The item claimed, which does not wait for this claim any more; it can still be accepted later."""
        held, claiming = self._find(label, claimant)
        if any(claim.state is ClaimState.ACCEPTED for claim in self._between(held, claiming)):
            raise ClaimAccepted(label=str(held.rep), claimant=str(claiming.rep))
        message = f"Declined the claim of {claiming.rep}"
        return self.deposits.change(
            {held.rep: lambda item: decline(item, claiming.labels)}, who, message, act="decline"
        )[held.rep]

    def _find(self, label: Label, claimant: Label) -> tuple[Item, Item]:
        held, claiming = self.repository.find(label), self.repository.find(claimant)
        self.deposits.require(ItemAct.ANSWER, held)
        if not any(self._between(held, claiming)):
            raise NoSuchClaim(label=str(held.rep), claimant=str(claiming.rep))
        return held, claiming

    def _between(self, held: Item, claimant: Item) -> Iterator[ItemClaim]:
        return (claim for claim in self._claims_by(claimant) if name_one_item(claim.item.labels, held.labels))

    def _claims_by(self, claimant: Item) -> Iterator[ItemClaim]:
        """Claims between Originals of this Archive: what is a Copy here is decided elsewhere."""
        if claimant.state is not State.ORIGINAL:
            return
        for link, forms in claims_of(claimant):
            held = find_forms(self.repository.catalog, forms)
            if held is not None and held.state is State.ORIGINAL:
                yield ItemClaim(claimant, link, held, claim_state(held, link, claimant.labels))

    def _concerns(self, claim: ItemClaim) -> bool:
        if self.deposits.may(ItemAct.ANSWER, claim.item):
            return True
        return claim.claimant.owner is not None and claim.claimant.owner == self.actor.account
