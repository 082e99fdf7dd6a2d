"""The record of an item at another Archive, read from JSON.

Members that claims do not need are ignored. A needed member that cannot be read makes the record unreadable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ibi.items.model.item import Translations, name_one_item
from ibi.items.model.item_json import read_forms
from ibi.items.model.related_link import ClaimRelation
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import InvalidInput
from ibi.standard.json_fields import decode_document
from ibi.standard.label import Label, match_label
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.standard.origin import authority_of
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.safe_text import printable, shorten
from ibi.standard.vocabulary import State

_LINKS: Final = ("edition_of", "next_edition", "translation_of", "metadata_item", "describes")
_BACKLINKS: Final = {ClaimRelation.EDITION_OF: "next_edition", ClaimRelation.DESCRIBES: "metadata_item"}
_MOST_TRANSLATIONS: Final = 300
_LONGEST_TITLE: Final = 300
_COLLECTION: Final = "col/"


@dataclass(frozen=True, slots=True)
class RemoteRecord:
    """The record of an item elsewhere, as far as claims need it."""

    labels: LabelForms
    state: State
    language: LanguageTag | None
    title: str | None
    links: Mapping[str, LabelForms]
    translations: Translations

    def claims(self, relation: ClaimRelation, held: LabelForms) -> bool:
        """Return whether the record states this relation to the item `held`."""
        named = self.links.get(relation.value)
        if relation is ClaimRelation.DESCRIBES and "translation_of" in self.links:
            return False  # a translation of metadata makes no claim on the item described
        return self.state is not State.DELETED and named is not None and name_one_item(named, held)

    def names(self, relation: ClaimRelation, claimant: LabelForms) -> bool:
        """Return whether the record states the inverse relation that a claim of `claimant` requires."""
        if relation is ClaimRelation.TRANSLATION_OF:
            return any(name_one_item(forms, claimant) for _, forms in self.translations)
        named = self.links.get(_BACKLINKS.get(relation, ""))
        return named is not None and name_one_item(named, claimant)

    def texts(self) -> Translations:
        """Return every known text of its group by language, including itself if it has a language."""
        known = dict(self.translations)
        if self.language is not None:
            known.setdefault(self.language, self.labels)
        return tuple(known.items())


def read_record(body: bytes) -> RemoteRecord:
    """Return the record in a body. Raise `InvalidDocument` if it is not the record of an item."""
    document = decode_document(body)
    if not isinstance(document, dict):
        raise InvalidDocument("record", 0, "it is not an object")
    try:
        return RemoteRecord(
            read_forms(document.get("labels"), "labels"),
            State(str(document.get("state"))),
            _language(document.get("language")),
            _title(document),
            {name: read_forms(document[name], name) for name in _LINKS if document.get(name) is not None},
            _translations(document.get("translations")),
        )
    except InvalidDocument:
        raise
    except (InvalidInput, ValueError) as error:
        raise InvalidDocument("record", 0, "{cause}", cause=str(error)) from error


def _language(value: object) -> LanguageTag | None:
    return LanguageTag.parse(value, registered=False) if isinstance(value, str) else None


def _title(document: Mapping[str, Any]) -> str | None:
    metadata = document.get("metadata")
    titles = metadata.get("title") if isinstance(metadata, dict) else None
    first = titles[0] if isinstance(titles, list) and titles else None
    text = first.get("value") if isinstance(first, dict) else first
    return shorten(printable(text).strip(), _LONGEST_TITLE) or None if isinstance(text, str) else None


def _translations(value: object) -> Translations:
    if value is None:
        return ()
    if not isinstance(value, dict) or len(value) > _MOST_TRANSLATIONS:
        raise InvalidDocument("translations", 0, "it is an object with one text a language")
    return tuple(
        (LanguageTag.parse(tag, registered=False), read_forms(forms, f"translations.{tag}"))
        for tag, forms in value.items()
    )


def label_in(url: str) -> Label | None:
    """Return the label in a persistent URL of any resolver, or in the address of an Archive's page. None if it has
    none."""
    try:
        return PersistentUrl.parse(url).label
    except InvalidInput:
        pass
    path = url.partition("://")[2].removeprefix(authority_of(url)).removeprefix("/")
    found = match_label(path, len(_COLLECTION)) if path.startswith(_COLLECTION) else None
    return None if found is None else found[0]


def is_of_sandbox(label: Label) -> bool:
    """Return whether only a sandbox can have made the label. Such a label means no place on the whole Internet (E11,
    E87), so several Archives may have the same one."""
    return label.is_dated and not label.is_global
