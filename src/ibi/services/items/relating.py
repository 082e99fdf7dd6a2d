"""Editions, translations and metadata that a librarian records, for items deposited before or stored elsewhere.

Two items that are both here record their halves in the order of `stored_item`. If one is elsewhere, or belongs to
another account whose items the caller may not change, only the half of the other is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from ibi.accounts.rights import ItemAct
from ibi.archive.errors import ClaimAccepted, NoSuchClaim
from ibi.archive.life_cycle import Act, require
from ibi.archive.related_items import (
    ClaimState,
    check_joining,
    check_source,
    claim_state,
    claims_of,
    decline,
    find_forms,
    record_metadata_item,
    record_next_edition,
    record_translation,
    take_back_decline,
    withdraw_metadata_item,
    withdraw_next_edition,
    withdraw_translation,
)
from ibi.errors import ErrorKind, IbiError
from ibi.label import Label, RepositoryName
from ibi.languages import LanguageTag
from ibi.messages.identification import LabelForms
from ibi.model.account import Actor
from ibi.model.item import Item, name_one_item
from ibi.ports.archive_store import ContentDamaged
from ibi.ports.catalog import Catalog, Link
from ibi.services.items.deposits import Deposits
from ibi.services.items.item_repository import ItemRepository
from ibi.services.items.stored_item import with_backlink
from ibi.vocabulary import State

Into = Callable[[Item], Item]
Record = Callable[[Catalog, Item, LabelForms], Item]
Claim = Literal["edition_of", "translation_of", "describes"]


class ClaimedElsewhere(IbiError):
    """{label} belongs to {other} already, by what it says itself: withdraw that first."""

    code = "claimed-elsewhere"
    kind = ErrorKind.CONFLICT


class NotRelated(IbiError):
    """{label} says no such thing of {other}: there is nothing to withdraw."""

    code = "not-related"
    kind = ErrorKind.CONFLICT


class WrongLanguage(IbiError):
    """language: {label} is a text in {language}."""

    code = "wrong-language"
    kind = ErrorKind.CONFLICT
    request_field = "language"


@dataclass(frozen=True, slots=True)
class Relating:
    """Records and withdraws relations of one Archive's items. Each call returns the changed item."""

    repository: ItemRepository
    deposits: Deposits

    def record_next_edition(self, label: Label, new: Label, who: str) -> Item:
        return self._record(label, new, "edition_of", record_next_edition, who, "Next edition")

    def withdraw_next_edition(self, label: Label, new: Label, who: str) -> Item:
        known = self.repository.find(label).next_edition
        return self._withdraw(label, new, known, "edition_of", withdraw_next_edition, who, "Not the next edition")

    def record_metadata_item(self, label: Label, metadata: Label, who: str) -> Item:
        return self._record(label, metadata, "describes", record_metadata_item, who, "Metadata")

    def withdraw_metadata_item(self, label: Label, metadata: Label, who: str) -> Item:
        known = self.repository.find(label).metadata_item
        return self._withdraw(label, metadata, known, "describes", withdraw_metadata_item, who, "Not the metadata")

    def record_translation(self, label: Label, language: LanguageTag, new: Label, who: str) -> Item:
        source, forms, new = self._find_named(label), *self._other(new)
        changes: dict[Label, Into] = {}
        if self._is_changeable(new):
            check_source(self._catalog, source.labels, language, forms)
            changes[new] = lambda item: self._join_group(item, source, language)
        changes[label] = lambda item: record_translation(self._catalog, item, language, forms)
        return self.deposits.change(changes, who, f"Translation into {language}: {forms.labels[0]}")[label]

    def _join_group(self, item: Item, source: Item, language: LanguageTag) -> Item:
        check_joining(self._catalog, source, item)
        return _with_claim(_in_language(item, language), "translation_of", source.labels)

    def withdraw_translation(self, label: Label, language: LanguageTag, new: Label, who: str) -> Item:
        source = self.repository.find(label)
        known = source.translation(language)
        if known is not None and name_one_item(known, source.labels):
            known = None  # the source itself is not a translation
        withdraw = partial(withdraw_translation, language=language)
        return self._withdraw(label, new, known, "translation_of", withdraw, who, f"No translation into {language}")

    def _record(self, label: Label, other: Label, claim: Claim, record: Record, who: str, words: str) -> Item:
        """Record the relation to `other` in the item, and the claim in `other` if that can be changed."""
        named, forms, other = self._find_named(label), *self._other(other)
        record(self._catalog, named, forms)  # first, so that its errors, which name the relation, win
        changes: dict[Label, Into] = {}
        if self._is_changeable(other):
            changes[other] = lambda item: _with_claim(item, claim, named.labels)
        changes[label] = lambda item: record(self._catalog, item, forms)
        return self.deposits.change(changes, who, f"{words}: {forms.labels[0]}")[label]

    def _withdraw(
        self, label: Label, other: Label, known: LabelForms | None, claim: Claim, withdraw: Into, who: str, words: str
    ) -> Item:
        """Withdraw both halves. A claim of another's item is declined instead. `known` is the present value of the
        item."""
        named, forms, other = self._find_named(label), *self._other(other)
        if known is None or not name_one_item(known, forms):
            raise NotRelated(label=str(label), other=str(other))
        changes: dict[Label, Into] = {label: withdraw}
        if self._is_changeable(other):
            changes[other] = lambda item: _without_claim(item, claim, named.labels)
        elif (claimant := self._catalog.find(other)) is not None and _claims(claimant, claim, named):
            changes[label] = lambda item: decline(withdraw(item), claimant.labels)
        return self.deposits.change(changes, who, f"{words}: {forms.labels[0]}")[label]

    def withdraw_claim(self, label: Label, claim: Claim, named: Label, who: str) -> Item:
        """Withdraw the item's own claim on another, here or elsewhere. Withdraw the other half too, if it is recorded
        here and the actor may change it. `NotRelated` if the item makes no such claim (E79)."""
        item, forms, named = self._find_named(label), *self._other(named)
        said: LabelForms | None = getattr(item, claim)
        if said is None or not name_one_item(said, forms):
            raise NotRelated(label=str(label), other=str(named))
        changes: dict[Label, Into] = {label: lambda item: _without_claim(item, claim, forms)}
        if self._is_changeable(named):
            changes[named] = lambda other: without_backlink(other, claim, item.labels)
        return self.deposits.change(changes, who, f"No longer {claim.replace('_', ' ')} {forms.labels[0]}")[label]

    @property
    def _catalog(self) -> Catalog:
        return self.repository.catalog

    def _find_named(self, label: Label) -> Item:
        """Return the item of the relation, if the actor may change its relations."""
        item = self.repository.find(label)
        self.deposits.require(ItemAct.RELATE, item)
        return item

    def _other(self, label: Label) -> tuple[LabelForms, Label]:
        """Return the labels to record for the other item, and a label by which the catalogue finds it."""
        forms = self.deposits.forms(label)
        return forms, forms.labels[0]

    def _is_changeable(self, label: Label) -> bool:
        """Return whether the other half can be written too: it is an Original here, and the actor may change its
        relations."""
        item = self._catalog.find(label)
        return item is not None and item.state is State.ORIGINAL and self.deposits.may(ItemAct.RELATE, item)


def _with_claim(item: Item, field: Claim, named: LabelForms) -> Item:
    require(item, Act.RELATE)
    said: LabelForms | None = getattr(item, field)
    if said is not None and not name_one_item(said, named):
        raise ClaimedElsewhere(label=str(item.rep), other=str(said.labels[0]))
    return item if said is not None else _replace_claim(item, field, named)


def _claims(item: Item, field: Claim, named: Item) -> bool:
    said: LabelForms | None = getattr(item, field)
    return item.state is State.ORIGINAL and said is not None and name_one_item(said, named.labels)


def _without_claim(item: Item, field: Claim, named: LabelForms) -> Item:
    """Return the item without its claim on `named`; a claim on another item stays."""
    require(item, Act.RELATE)
    said: LabelForms | None = getattr(item, field)
    return item if said is None or not name_one_item(said, named) else _replace_claim(item, field, None)


def without_backlink(named: Item, claim: str, claimant: LabelForms) -> Item:
    """Return the item without its back-link to `claimant` for that claim, if it has one."""
    if claim == "edition_of" and _name_one(named.next_edition, claimant):
        return withdraw_next_edition(named)
    if claim == "describes" and _name_one(named.metadata_item, claimant):
        return withdraw_metadata_item(named)
    if claim == "translation_of":
        for language, forms in named.translations:
            if name_one_item(forms, claimant) and not name_one_item(forms, named.labels):
                return withdraw_translation(named, language)
    return named


def _name_one(forms: LabelForms | None, other: LabelForms) -> bool:
    return forms is not None and name_one_item(forms, other)


def _replace_claim(item: Item, field: Claim, forms: LabelForms | None) -> Item:
    match field:
        case "edition_of":
            return replace(item, edition_of=forms)
        case "translation_of":
            # It knows the translations of the group from its source.
            return replace(item, translation_of=forms, translations=() if forms is None else item.translations)
        case "describes":
            return replace(item, describes=forms)


def _in_language(item: Item, language: LanguageTag) -> Item:
    """Return the item in `language`, which is set if it was deposited without one."""
    if item.language is not None and item.language != language:
        raise WrongLanguage(label=str(item.rep), language=str(item.language))
    return item if item.language == language else replace(item, language=language)


# --- claims on items of others ----------------------------------------------------------------------------------------


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
