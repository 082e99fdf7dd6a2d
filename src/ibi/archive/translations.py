"""Translations: a star of items around one source, one for each language, of which every member knows the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ibi.archive.editions import find_forms
from ibi.archive.errors import (
    SecondTranslation,
    TranslationLanguageMissing,
    TranslationOfTranslation,
    TranslationsOfItsOwn,
)
from ibi.archive.life_cycle import Act, require
from ibi.label import RepositoryName
from ibi.languages import LanguageTag
from ibi.messages.field import State
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item, Translations, name_one_item
from ibi.ports.catalog import Catalog, Link

__all__ = ["check_joining", "check_source", "group", "record_translation", "withdraw_translation"]


def group(catalog: Catalog, item: Item) -> dict[LanguageTag, LabelForms]:
    """Every text of the group that this Archive knows of, `item` among them if it is there and has a language.

    The source's word comes first, then that of its members: labels are given in the forms that were written down
    (E29). A text that was deleted here leaves its language to another.
    """
    known: dict[LanguageTag, LabelForms] = {}
    for member in _members(catalog, item):
        for tag, forms in _said_by(member):
            if tag not in known and not _is_deleted(find_forms(catalog, forms)):
                known[tag] = forms
    if item.language is not None and not _is_deleted(item) and not _names(known.get(item.language), item):
        known[item.language] = item.labels
    return known


def _said_by(item: Item) -> Translations:
    own = ((item.language, item.labels),) if item.language is not None else ()
    return *item.translations, *own


def _names(forms: LabelForms | None, item: Item) -> bool:
    return forms is not None and name_one_item(forms, item.labels)


def _is_deleted(item: Item | None) -> bool:
    return item is not None and item.state is State.DELETED


def _members(catalog: Catalog, item: Item) -> Iterable[Item]:
    """All items here that belong together by what any of them says, the source first if it is here.

    It need not be a star: two Archives may each have accepted a claim that together they would not have, and a transfer
    brings the items into one place. Whoever is asked, the group is the same.
    """
    found: dict[RepositoryName, Item] = {}
    ahead = [_source(catalog, item)]
    for forms in ahead:
        linked = (member for label in forms.labels for member in catalog.linked(Link.TRANSLATION_OF, label))
        for member in (find_forms(catalog, forms), *linked):
            if member is not None and member.rep not in found:
                found[member.rep] = member
                ahead.append(member.labels)
    return found.values()


def _source(catalog: Catalog, item: Item) -> LabelForms:
    """What the item is a translation of in the end, here or elsewhere; itself if of nothing."""
    seen = {item.rep}
    while item.translation_of is not None:
        above = find_forms(catalog, item.translation_of)
        if above is None or above.rep in seen:
            return item.translation_of
        seen.add(above.rep)
        item = above
    return item.labels


def check_source(catalog: Catalog, source: LabelForms, language: LanguageTag | None, new: LabelForms | None) -> None:
    """Refuse what could not join the group around `source`: `new` is the label that it has or will have, if known."""
    if language is None:
        raise TranslationLanguageMissing()
    held = find_forms(catalog, source)
    if held is None:
        return  # its own Archive decides on the claim
    above = held.translation_of
    # Of a source that was deleted here nothing more can be said: the texts that are left go on without it.
    if above is not None and not _is_deleted(find_forms(catalog, above)):
        raise TranslationOfTranslation(label=str(held.rep), source=str(above.labels[0]))
    taken = group(catalog, held).get(language)
    if taken is not None and (new is None or not name_one_item(taken, new)):
        raise SecondTranslation(source=str(held.rep), language=str(language), taken=str(taken.labels[0]))


def check_joining(catalog: Catalog, source: Item, new: Item) -> None:
    """Refuse to take `new` into the group of `source` together with a group of its own: no language would be safe."""
    if new.translation_of is not None:
        return  # it has a source already: this one, or one that has to be withdrawn first
    known = group(catalog, source)
    for tag, forms in group(catalog, new).items():
        there = known.get(tag)
        if not _names(forms, new) and (there is None or not name_one_item(there, forms)):
            raise TranslationsOfItsOwn(label=str(new.rep), language=str(tag), text=str(forms.labels[0]))


def record_translation(catalog: Catalog, item: Item, language: LanguageTag, new: LabelForms) -> Item:
    """`item` with `new` as the text of its group in `language`; saying the same twice changes nothing."""
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
    """`item` without what it says of the text in `language`."""
    require(item, Act.RELATE)
    return replace(item, translations=tuple(entry for entry in item.translations if entry[0] != language))
