"""Translations: a star of items around one source, one for each language, of which every member knows the others."""

from __future__ import annotations

from dataclasses import replace

from ibi.archive.editions import find_forms
from ibi.archive.errors import (
    SecondTranslation,
    TranslationLanguageMissing,
    TranslationOfTranslation,
)
from ibi.archive.life_cycle import Act, require
from ibi.languages import LanguageTag
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item, Translations, name_one_item
from ibi.ports.catalog import Catalog, Link

__all__ = ["check_source", "group", "record_translation", "withdraw_translation"]


def group(catalog: Catalog, item: Item) -> dict[LanguageTag, LabelForms]:
    """Every text of the group that this Archive knows of, `item` among them if it has a language.

    The source's word comes first, then the item's own, then that of other members here: the forms in which a label is
    given are those that were written down (E29).
    """
    source = item if item.translation_of is None else find_forms(catalog, item.translation_of)
    known: dict[LanguageTag, LabelForms] = {}
    for tag, forms in (*_said_by(source), *_said_by(item), *_members(catalog, item)):
        known.setdefault(tag, forms)
    return known


def _said_by(item: Item | None) -> Translations:
    if item is None:
        return ()
    own = ((item.language, item.labels),) if item.language is not None else ()
    return *item.translations, *own


def _members(catalog: Catalog, item: Item) -> Translations:
    """Items here that say they belong to the same source: it may be elsewhere, and may not have heard of them."""
    labels = (item.labels if item.translation_of is None else item.translation_of).labels
    members = (member for label in labels for member in catalog.linked(Link.TRANSLATION_OF, label))
    return tuple((member.language, member.labels) for member in members if member.language is not None)


def check_source(catalog: Catalog, source: LabelForms, language: LanguageTag | None, new: LabelForms | None) -> None:
    """Refuse what could not join the group around `source`: `new` is the label that it has or will have, if known."""
    if language is None:
        raise TranslationLanguageMissing()
    held = find_forms(catalog, source)
    if held is None:
        return  # its own Archive decides on the claim
    if held.translation_of is not None:
        raise TranslationOfTranslation(label=str(held.rep), source=str(held.translation_of.labels[0]))
    taken = group(catalog, held).get(language)
    if taken is not None and (new is None or not name_one_item(taken, new)):
        raise SecondTranslation(source=str(held.rep), language=str(language), taken=str(taken.labels[0]))


def record_translation(catalog: Catalog, item: Item, language: LanguageTag, new: LabelForms) -> Item:
    """`item` with `new` as the text of its group in `language`; saying the same twice changes nothing."""
    require(item, Act.RELATE)
    taken = group(catalog, item).get(language)
    if taken is not None and not name_one_item(taken, new):
        raise SecondTranslation(source=str(item.rep), language=str(language), taken=str(taken.labels[0]))
    if item.translation(language) is not None or language == item.language:
        return item
    return replace(item, translations=(*item.translations, (language, new)))


def withdraw_translation(item: Item, language: LanguageTag) -> Item:
    """`item` without what it says of the text in `language`."""
    require(item, Act.RELATE)
    return replace(item, translations=tuple(entry for entry in item.translations if entry[0] != language))
