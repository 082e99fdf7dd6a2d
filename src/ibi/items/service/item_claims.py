"""Claims between items of one Archive, and the answers of their owners."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ibi.items.model.item import Item, name_one_item
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.ports.catalog import Link
from ibi.items.rules.errors import ClaimAccepted, NoSuchClaim
from ibi.items.rules.related_items import ClaimState, claim_state, claims_of, decline, find_forms, take_back_decline
from ibi.items.rules.rights import ItemAct
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import with_backlink
from ibi.people.model.account import Actor
from ibi.standard.label import Label, RepositoryName
from ibi.standard.vocabulary import State

PENDING = frozenset({ClaimState.PENDING})


@dataclass(frozen=True, slots=True)
class ItemClaim:
    """A claim of one item here on another one here, with its state."""

    claimant: Item
    link: Link
    item: Item
    state: ClaimState


@dataclass(frozen=True, slots=True)
class ItemClaims:
    """The claims on items of one Archive, as far as they concern the actor. Calls block, from any thread.

    `edition_of`, `translation_of` and `describes` are claims on another item. If the depositor may answer for that
    item, it gets its back-link at once (`stored_item`). Otherwise it gets none until its owner accepts the claim, so
    that no link of it leads to the claimant.

    A pending claim is not stored: it is a claim without a back-link. A declined claim is in the record of the item
    claimed (`Item.declined`). So a catalogue that is rebuilt from the store knows all of them.
    """

    repository: ItemRepository
    deposits: Deposits
    actor: Actor

    def list(
        self, states: Collection[ClaimState] = PENDING, after: RepositoryName | None = None
    ) -> Iterator[ItemClaim]:
        """Yield the claims that the actor may answer, and those of items of the actor's account, in the order of the
        claimants."""
        for claimant in self.repository.catalog.claimants(after):
            for claim in self._claims_by(claimant):
                if claim.state in states and self._concerns(claim):
                    yield claim

    def accept(self, label: Label, claimant: Label, who: str) -> Item:
        """Accept a claim, and return the item claimed, which names the claimant from now on. Raises the error that
        prevents this, such as another next edition."""
        held, claiming = self._find(label, claimant)

        def accept(item: Item) -> Item:
            return with_backlink(self.repository.catalog, take_back_decline(item, claiming.labels), claiming)

        return self.deposits.change({held.rep: accept}, who, f"Accepted the claim of {claiming.rep}", act="accept")[
            held.rep
        ]

    def decline(self, label: Label, claimant: Label, who: str) -> Item:
        """Decline a claim, and return the item claimed. The claim can still be accepted later."""
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
        """Yield the claims between Originals of this Archive: another Archive decides about those of a Copy."""
        if claimant.state is not State.ORIGINAL:
            return
        for link, forms in claims_of(claimant):
            try:
                held = find_forms(self.repository.catalog, forms)
            except ContentDamaged:  # its owner can answer when it is whole again
                continue
            if held is not None and held.state is State.ORIGINAL:
                yield ItemClaim(claimant, link, held, claim_state(held, link, claimant.labels))

    def _concerns(self, claim: ItemClaim) -> bool:
        if self.deposits.may(ItemAct.ANSWER, claim.item):
            return True
        return claim.claimant.owner is not None and claim.claimant.owner == self.actor.account
