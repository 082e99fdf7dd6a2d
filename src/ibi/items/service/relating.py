"""Editions, translations and metadata that a librarian records, for items deposited before or stored elsewhere.

Two items that are both here record their halves in the order of `stored_item`. If one is elsewhere, or belongs to
another account whose items the caller may not change, only the half of the other is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from ibi.items.model.item import Item, name_one_item
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.life_cycle import Act, require
from ibi.items.rules.related_items import (
    check_joining,
    check_source,
    decline,
    record_metadata_item,
    record_next_edition,
    record_translation,
    withdraw_metadata_item,
    withdraw_next_edition,
    withdraw_translation,
)
from ibi.items.rules.rights import ItemAct
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import Label
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State

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
            return replace(item, description=replace(item.description, edition_of=forms))
        case "translation_of":
            # It knows the translations of the group from its source.
            description = replace(item.description, translation_of=forms)
            return replace(item, description=description, translations=() if forms is None else item.translations)
        case "describes":
            return replace(item, description=replace(item.description, describes=forms))


def _in_language(item: Item, language: LanguageTag) -> Item:
    """Return the item in `language`, which is set if it was deposited without one."""
    if item.language is not None and item.language != language:
        raise WrongLanguage(label=str(item.rep), language=str(item.language))
    return (
        item if item.language == language else replace(item, description=replace(item.description, language=language))
    )
