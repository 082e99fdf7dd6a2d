"""Relations between items: editions in a chain, translations around one source, and metadata items (R §5).

The new edition says `edition_of`. The Archive with the Original of the old one records `next_edition`: at once if both
are here, otherwise when its librarian accepts the claim. An item never gets a second successor.

A translation of a metadata item is metadata of the same item. That item still names only the source: readers who want
another language are led on from there (R Table 9.5, `.metadata.translation`).

A step leads to an item held here, to an item known only by its IBI, or to metadata. An item known only by its IBI
allows no further step: the resolver goes on from there (R §8.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from ibi.items.model.description_values import LEGACY, Alternate
from ibi.items.model.item import Item, Translations, name_one_item
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.ports.catalog import Catalog, Link
from ibi.items.rules.errors import (
    DescribedMetadata,
    EditionLoop,
    MetadataOfItself,
    MetadataOfMetadata,
    SecondMetadataItem,
    SecondSuccessor,
    SecondTranslation,
    TranslationLanguageMissing,
    TranslationOfTranslation,
    TranslationsOfItsOwn,
)
from ibi.items.rules.life_cycle import Act, require
from ibi.standard.label import Label, RepositoryName
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.standard.relation import Metadata, Relation, Step, Translation
from ibi.standard.vocabulary import State


def find_labelled(catalog: Catalog, label: Label) -> Item | None:
    """Return the item here with this label, or with it as another name if the label is from before 2008 (E72). Among
    several, return the first that is not deleted."""
    if label.is_dated:
        return catalog.find(label)
    found = catalog.find_alternate(Alternate(LEGACY, str(label)))
    return next((item for item in found if item.state is not State.DELETED), found[0] if found else None)


def find_forms(catalog: Catalog, forms: LabelForms) -> Item | None:
    """Return the item here that bears one of these labels."""
    return next((item for item in map(catalog.find, forms.labels) if item is not None), None)


def later_editions(catalog: Catalog, item: Item) -> Iterator[Item | None]:
    """Yield the editions after `item`, nearest first. If the chain leaves this Archive, end with None.

    A loop, made by hand or by another Archive, ends with None too (E23).
    """
    seen = {item.rep}
    while item.next_edition is not None:
        following = find_forms(catalog, item.next_edition)
        if following is None or following.rep in seen:
            yield None
            return
        seen.add(following.rep)
        yield following
        item = following


def last_edition(catalog: Catalog, item: Item) -> Item | None:
    """Return the end of the chain if all of it is here; `item` itself if nothing follows it. None if the end is
    unknown."""
    for following in later_editions(catalog, item):
        if following is None or following.state is State.DELETED:
            return None
        item = following
    return item


def record_next_edition(catalog: Catalog, item: Item, new: LabelForms) -> Item:
    """Return `item` with `new` as its next edition. Repeating this changes nothing."""
    require(item, Act.RELATE)
    known = item.next_edition
    if known is not None and name_one_item(known, new):
        return item
    if known is not None:
        raise SecondSuccessor(label=str(item.rep), successor=str(known.labels[0]))
    _check_no_loop(catalog, item, new)
    return replace(item, next_edition=new)


def withdraw_next_edition(item: Item) -> Item:
    """Return `item` as the end of its chain: the claim was a mistake."""
    require(item, Act.RELATE)
    return replace(item, next_edition=None)


def _check_no_loop(catalog: Catalog, item: Item, new: LabelForms) -> None:
    """Raise `EditionLoop` if `new` or a later edition is `item`, or if `item` is an edition after `new`."""
    first = find_forms(catalog, new)
    after = () if first is None else later_editions(catalog, first)
    if name_one_item(new, item.labels) or any(other is not None and other.rep == item.rep for other in after):
        raise EditionLoop(label=str(item.rep), new=str(new.labels[0]))
    before: Item | None = item
    seen = {item.rep}
    while before is not None and before.edition_of is not None:
        if name_one_item(before.edition_of, new):
            raise EditionLoop(label=str(item.rep), new=str(new.labels[0]))
        before = find_forms(catalog, before.edition_of)
        if before is None or before.rep in seen:
            return
        seen.add(before.rep)


def group(catalog: Catalog, item: Item) -> dict[LanguageTag, LabelForms]:
    """Return every text of the group that this Archive knows, by language. It includes `item` if it has a language.

    The source's statements come first, then those of its members. Labels keep their recorded forms (E29). A text that
    was deleted here frees its language.
    """
    known: dict[LanguageTag, LabelForms] = {}
    for member in _members(catalog, item):
        for tag, forms in _known_translations(member):
            if tag not in known and not _is_deleted(find_forms(catalog, forms)):
                known[tag] = forms
    if item.language is not None and not _is_deleted(item) and not _names(known.get(item.language), item):
        known[item.language] = item.labels
    return known


def _known_translations(item: Item) -> Translations:
    own = ((item.language, item.labels),) if item.language is not None else ()
    return *item.translations, *own


def _names(forms: LabelForms | None, item: Item) -> bool:
    return forms is not None and name_one_item(forms, item.labels)


def _is_deleted(item: Item | None) -> bool:
    return item is not None and item.state is State.DELETED


def _members(catalog: Catalog, item: Item) -> Iterable[Item]:
    """Return all items here that any of them names as translations. The source comes first if it is here.

    The group need not be a star. Two Archives may each accept a claim where one Archive would not accept both, and a
    transfer unites the items. Every member gives the same group.
    """
    found: dict[RepositoryName, Item] = {}
    ahead = [_source(catalog, item)]
    for forms in ahead:
        held = find_forms(catalog, forms)
        linked = (member for label in forms.labels for member in catalog.find_linked(Link.TRANSLATION_OF, label))
        for member in (held, *(member for member in linked if held is None or _is_admitted(held, member))):
            if member is not None and member.rep not in found:
                found[member.rep] = member
                ahead.append(member.labels)
    return found.values()


def _is_admitted(source: Item, member: Item) -> bool:
    """Return whether a text that says `translation_of` belongs to the group of the source. If the source is an Original
    here, its owner decides: another's claim waits until it is accepted."""
    if source.state is not State.ORIGINAL or (
        have_one_owner(source, member) and not is_declined(source, member.labels)
    ):
        return True
    return any(name_one_item(forms, member.labels) for _, forms in source.translations)


def have_one_owner(held: Item, claimant: Item) -> bool:
    """Return whether an Original here and its claimant have one owner. A Copy belongs to another institution, so its
    claim waits to be accepted."""
    return claimant.state is not State.COPY and held.owner == claimant.owner


class ClaimState(Enum):
    """The state of a claim on an item here."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    DECLINED = "declined"


def claims_of(claimant: Item) -> Iterator[tuple[Link, LabelForms]]:
    """Yield the statements of an item about others that need a matching statement in return. A translation of metadata
    makes no claim on the item described, which names only the source of the metadata."""
    if claimant.edition_of is not None:
        yield Link.EDITION_OF, claimant.edition_of
    if claimant.translation_of is not None:
        yield Link.TRANSLATION_OF, claimant.translation_of
    if claimant.describes is not None and claimant.translation_of is None:
        yield Link.DESCRIBES, claimant.describes


def claim_state(held: Item, link: Link, claimant: LabelForms) -> ClaimState:
    """Return the state of a claim on `held`, an Original here."""
    if link is Link.TRANSLATION_OF:
        accepted = any(name_one_item(forms, claimant) for _, forms in held.translations)
    else:
        named = held.next_edition if link is Link.EDITION_OF else held.metadata_item
        accepted = named is not None and name_one_item(named, claimant)
    if accepted:
        return ClaimState.ACCEPTED
    return ClaimState.DECLINED if is_declined(held, claimant) else ClaimState.PENDING


def is_declined(held: Item, claimant: LabelForms) -> bool:
    return any(name_one_item(forms, claimant) for forms in held.declined)


def decline(held: Item, claimant: LabelForms) -> Item:
    """Return `held` after its owner declined the claims of an item. Repeating this changes nothing."""
    require(held, Act.RELATE)
    return held if is_declined(held, claimant) else replace(held, declined=(*held.declined, claimant))


def take_back_decline(held: Item, claimant: LabelForms) -> Item:
    return replace(held, declined=tuple(forms for forms in held.declined if not name_one_item(forms, claimant)))


def _source(catalog: Catalog, item: Item) -> LabelForms:
    """Return the labels of the text that the item finally translates, here or elsewhere. If it translates none, return
    its own."""
    seen = {item.rep}
    while item.translation_of is not None:
        above = find_forms(catalog, item.translation_of)
        if above is None or above.rep in seen:
            return item.translation_of
        seen.add(above.rep)
        item = above
    return item.labels


def knows_all_related(catalog: Catalog, item: Item, wanted: Relation) -> bool:
    """Return whether no other Archive can know more about the related item.

    The Archive of an Original knows its next edition, its translations and its files. A Copy is as old as it is. If the
    source of a translation is not an Original here, another Archive knows the other translations.
    """
    deciding: list[Item | None] = [item]
    if wanted.asks_last_edition:
        deciding += later_editions(catalog, item)
    last = deciding[-1]
    if (wanted.languages or wanted.open_translations) and last is not None:
        deciding.append(find_forms(catalog, _source(catalog, last)))
    return all(each is not None and each.state is not State.COPY for each in deciding)


def check_source(catalog: Catalog, source: LabelForms, language: LanguageTag | None, new: LabelForms | None) -> None:
    """Raise an error if a new text cannot join the group around `source`. `new` is its label, if known."""
    if language is None:
        raise TranslationLanguageMissing()
    held = find_forms(catalog, source)
    if held is None:
        return  # its own Archive decides on the claim
    above = held.translation_of
    # A source that was deleted here cannot be changed, so the remaining texts go on without it.
    if above is not None and not _is_deleted(find_forms(catalog, above)):
        raise TranslationOfTranslation(label=str(held.rep), source=str(above.labels[0]))
    taken = group(catalog, held).get(language)
    if taken is not None and (new is None or not name_one_item(taken, new)):
        raise SecondTranslation(source=str(held.rep), language=str(language), taken=str(taken.labels[0]))


def check_joining(catalog: Catalog, source: Item, new: Item) -> None:
    """Raise `TranslationsOfItsOwn` if `new` has a group of its own with texts that are not in the group of `source`.
    Two groups joined could claim one language twice."""
    if new.translation_of is not None:
        return  # it has a source already: this one, or one that has to be withdrawn first
    known = group(catalog, source)
    for tag, forms in group(catalog, new).items():
        there = known.get(tag)
        if not _names(forms, new) and (there is None or not name_one_item(there, forms)):
            raise TranslationsOfItsOwn(label=str(new.rep), language=str(tag), text=str(forms.labels[0]))


def record_translation(catalog: Catalog, item: Item, language: LanguageTag, new: LabelForms) -> Item:
    """Return `item` with `new` as the text of its group in `language`. Repeating this changes nothing."""
    require(item, Act.RELATE)
    taken = group(catalog, item).get(language)
    if taken is not None and not name_one_item(taken, new):
        raise SecondTranslation(source=str(item.rep), language=str(language), taken=str(taken.labels[0]))
    said = item.translation(language)
    if language == item.language or (said is not None and name_one_item(said, new)):
        return item
    above = None if item.translation_of is None else find_forms(catalog, item.translation_of)
    if above is not None and not _is_deleted(above) and not _names(new, above):
        raise TranslationOfTranslation(label=str(item.rep), source=str(above.rep))
    others = tuple(entry for entry in item.translations if entry[0] != language)
    return replace(item, translations=(*others, (language, new)))


def withdraw_translation(item: Item, language: LanguageTag) -> Item:
    """Return `item` without its statement about the text in `language`."""
    require(item, Act.RELATE)
    return replace(item, translations=tuple(entry for entry in item.translations if entry[0] != language))


def learn_texts(item: Item, texts: Translations) -> Item:
    """Return `item`, a translation of an item elsewhere, with the group texts that the source's Archive names. They
    replace the known texts of other languages."""
    require(item, Act.RELATE)
    own = tuple(entry for entry in item.translations if entry[0] == item.language)
    others = tuple(
        (tag, forms) for tag, forms in texts if tag != item.language and not name_one_item(forms, item.labels)
    )
    return replace(item, translations=(*own, *others))


def described_by(catalog: Catalog, item: Item) -> LabelForms | None:
    """Return the labels of the item that `item` is metadata of. Its own statement counts, else that of its source."""
    if item.describes is not None or item.translation_of is None:
        return item.describes
    try:
        source = find_forms(catalog, item.translation_of)
    except ContentDamaged:  # an unreadable record must not block another item
        return None
    return None if source is None else source.describes


def check_described(catalog: Catalog, described: LabelForms) -> None:
    """Raise `MetadataOfMetadata` if the item to describe is itself metadata."""
    held = find_forms(catalog, described)
    if held is not None:
        _check_not_metadata(catalog, held)


def record_metadata_item(catalog: Catalog, item: Item, metadata: LabelForms) -> Item:
    """Return `item` with `metadata` as the IBI of its metadata. Repeating this changes nothing."""
    require(item, Act.RELATE)
    known = item.metadata_item
    if known is not None and name_one_item(known, metadata):
        return item
    if name_one_item(item.labels, metadata):
        raise MetadataOfItself(label=str(item.rep))
    if known is not None:
        raise SecondMetadataItem(label=str(item.rep), taken=str(known.labels[0]))
    _check_not_metadata(catalog, item)
    held = find_forms(catalog, metadata)
    if held is not None and held.metadata_item is not None:
        raise DescribedMetadata(label=str(held.rep), metadata=str(held.metadata_item.labels[0]))
    return replace(item, metadata_item=metadata)


def withdraw_metadata_item(item: Item) -> Item:
    """Return `item` without an IBI for its metadata."""
    require(item, Act.RELATE)
    return replace(item, metadata_item=None)


def _check_not_metadata(catalog: Catalog, item: Item) -> None:
    described = described_by(catalog, item)
    if described is not None:
        raise MetadataOfMetadata(label=str(item.rep), described=str(described.labels[0]))


@dataclass(frozen=True, slots=True)
class Held:
    """An item that is here, and the forms of its IBI for the answer (E29)."""

    item: Item
    forms: LabelForms


@dataclass(frozen=True, slots=True)
class Named:
    """An item that is elsewhere."""

    forms: LabelForms


@dataclass(frozen=True, slots=True)
class Described:
    """The metadata of `item`: an item of its own that is here, or a text written from the item's description.

    `format` is the requested format, if any.
    """

    item: Item
    own: Held | None = None
    format: str | None = None


Related = Held | Named | Described


@dataclass(frozen=True, slots=True)
class Relatives:
    """The relations between the items of a catalogue."""

    catalog: Catalog
    follow_editions: bool = True

    def find_related(self, item: Item, wanted: Relation) -> Iterator[tuple[Relation, Related]]:
        """Yield everything that `wanted` can mean for `item`. A translation without a language means every language, or
        none."""
        return self._walk(Held(item, item.labels), wanted.steps, ())

    def _walk(
        self, place: Related, ahead: tuple[Step, ...], behind: tuple[Step, ...]
    ) -> Iterator[tuple[Relation, Related]]:
        if not ahead:
            yield Relation(behind), place
            return
        for step, following in self._step(place, ahead[0]):
            yield from self._walk(following, ahead[1:], (*behind, step))

    def _step(self, place: Related, step: Step) -> Iterator[tuple[Step, Related]]:
        if isinstance(place, Named):
            return
        if isinstance(step, Translation):
            yield from (found for found in self._translations(place) if step.matches(found[0]))
        elif isinstance(place, Described):
            return  # in the grammar only a translation may follow metadata
        elif isinstance(step, Metadata):
            described = self._metadata(place.item, step.format)
            if described is not None:
                yield step, described
        else:
            last = self._last_edition(place)
            if last is not None:
                yield step, last

    def _last_edition(self, place: Held) -> Held | None:
        """Return the last edition (R §9.2): the item itself if it has no next edition. Otherwise all later ones must be
        here."""
        if place.item.next_edition is None:
            return place
        last = last_edition(self.catalog, place.item) if self.follow_editions else None
        return None if last is None else Held(last, last.labels)

    def _metadata(self, item: Item, name: str | None) -> Described | Named | None:
        if item.metadata_item is None:
            return Described(item, None, name)
        own = find_forms(self.catalog, item.metadata_item)
        if own is not None:
            deleted = own.state is State.DELETED
            return Described(item, None if deleted else Held(own, item.metadata_item), name)
        # The metadata item is elsewhere, in formats of its own. A requested format is written here.
        return Named(item.metadata_item) if name is None else Described(item, None, name)

    def _translations(self, place: Held | Described) -> Iterator[tuple[Translation, Related]]:
        if isinstance(place, Held):
            yield from self._texts(place)
        elif place.own is None:
            yield Translation(), place  # a text written from a description has no language of its own
        else:
            for step, text in self._texts(place.own):
                yield step, Described(place.item, text, place.format) if isinstance(text, Held) else text

    def _texts(self, place: Held) -> Iterator[tuple[Translation, Held | Named]]:
        """Yield the group of an item. By R §9.2 an item without a language offers itself as a translation into none."""
        if place.item.language is None:
            yield Translation(), place
        for tag, forms in group(self.catalog, place.item).items():
            found = place.item if tag == place.item.language else find_forms(self.catalog, forms)
            yield Translation(tag), Named(forms) if found is None else Held(found, forms)
