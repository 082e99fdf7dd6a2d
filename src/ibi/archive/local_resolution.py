"""A persistent URL resolved by one Archive alone: what a resolver would make of this Archive's own answer (R §8.2).

No other Archive is asked. What leads out of this one is `Elsewhere`: a resolver may find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ibi.archive.errors import UnknownItem
from ibi.archive.profile import ALL_RELATIONS, FORMATS, ArchiveProfile, Reader
from ibi.archive.related_items import find_forms, later_editions
from ibi.archive.url_list import Assembler
from ibi.language_range import Preference, chosen_language
from ibi.languages import LanguageTag
from ibi.messages.label_forms import LabelForms
from ibi.messages.requests import UrlRequest
from ibi.messages.url_list import UrlEntry, UrlList
from ibi.messages.values import ip_address
from ibi.model.item import Item, name_one_item
from ibi.persistent_url import PersistentUrl
from ibi.ports.catalog import Catalog
from ibi.relation import Relation, Translation
from ibi.vocabulary import ContentType, State


@dataclass(frozen=True, slots=True)
class Located:
    """Where it is; `item` is the one whose label was given."""

    item: Item
    url: str
    content_type: ContentType


@dataclass(frozen=True, slots=True)
class Gone:
    """It was deleted here."""

    item: Item


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Not here, as far as is known under one of these labels; `item` is the one asked for, if that is here."""

    item: Item | None = None
    known: LabelForms | None = None
    original: bool = False
    """Whether all that is missing is the Original, of which a Copy is here."""


class Lack(Enum):
    FILE = "file"
    TRANSLATION = "translation"
    FORMAT = "metadata format"
    RELATION = "relation"


@dataclass(frozen=True, slots=True)
class Lacking:
    """The item is here and what is wanted of it does not exist."""

    item: Item
    lack: Lack
    languages: tuple[LanguageTag, ...] = ()


Outcome = Located | Gone | Elsewhere | Lacking


def resolve_locally(
    profile: ArchiveProfile, catalog: Catalog, wanted: PersistentUrl, preferences: Sequence[Preference], reader: Reader
) -> Outcome:
    """What this Archive can say of a persistent URL. `preferences` are those of the reader's languages, best first."""
    item = catalog.find(wanted.label)
    if item is None:
        return Elsewhere()
    if item.state is State.DELETED:
        return Gone(item)
    named = wanted.relation.metadata_format
    if named is not None and named.lower() not in FORMATS:
        return Lacking(item, Lack.FORMAT)
    # Resolvers may be told less, since they follow pointers; here all relations are needed.
    profile = replace(profile, relations=ALL_RELATIONS, follow_editions=True, filtered=True)
    return _Resolution(profile, catalog, wanted, preferences, reader, item).outcome(wanted.relation)


# A request has to have an address; visibility is judged by those of the reader.
_NOBODY = (ip_address("0.0.0.0"),)  # noqa: S104


@dataclass(frozen=True, slots=True)
class _Resolution:
    profile: ArchiveProfile
    catalog: Catalog
    wanted: PersistentUrl
    preferences: Sequence[Preference]
    reader: Reader
    item: Item

    def outcome(self, relation: Relation, mute: frozenset[int] = frozenset()) -> Outcome:
        """`mute` are the translations for which the item that has no language was chosen: they stay open."""
        answer = self._answer(relation)
        index = next((index for index in relation.open_translations if index not in mute), None)
        if index is not None:
            return self._translated(relation, index, answer, mute)
        entry = next((entry for entry in answer.entries if entry.relation == relation), None)
        return self._missing(relation, answer) if entry is None else self._found(entry)

    def _answer(self, relation: Relation) -> UrlList:
        request = UrlRequest(_NOBODY, self.item.rep, relation, self.wanted.file_path, self.wanted.file_list)
        answer = Assembler(self.profile, self.catalog, request, self.reader).filtered()
        if not isinstance(answer, UrlList):
            raise UnknownItem(label=self.wanted.label.spelling)  # it went this very moment
        return answer

    def _found(self, entry: UrlEntry) -> Outcome:
        if entry.url is None or entry.content_type is None:
            assert entry.ibi is not None  # an entry has the one or the other
            held = find_forms(self.catalog, entry.ibi)
            if held is not None and held.state is not State.DELETED and self._names_a_file:
                return Lacking(self.item, Lack.FILE)  # E16
            return Elsewhere(self.item, entry.ibi)
        if self.wanted.required_original and entry.state is not State.ORIGINAL:
            return Elsewhere(self.item, original=True)
        return Located(self.item, entry.url, entry.content_type)

    @property
    def _names_a_file(self) -> bool:
        return self.wanted.file_list or self.wanted.file_path is not None

    # --- translations ---

    def _translated(self, relation: Relation, index: int, answer: UrlList, mute: frozenset[int]) -> Outcome:
        """`+`: the language that suits the reader best among those there are, or else the item that has none and offers
        itself (R §9.2), or else none at all."""
        offered = {_language(entry, index): entry for entry in answer.entries if _reaches(relation, index, entry)}
        own = next(
            (tag for tag, entry in offered.items() if entry.ibi and name_one_item(entry.ibi, self.item.labels)), None
        )
        tag = chosen_language(offered.keys(), self.preferences, own)
        if tag is not None:
            return self.outcome(relation.with_language(index, tag), mute)
        if None in offered:
            return self.outcome(relation, mute | {index})
        return self.outcome(relation.without_step(index), mute)

    def _missing(self, relation: Relation, answer: UrlList) -> Outcome:
        """`+(pt)` takes a single pt-XX; then what leads elsewhere; then what is not there at all."""
        steps = list(enumerate(relation.steps))
        named = [(i, step.language) for i, step in steps if isinstance(step, Translation) and step.language]
        for index, tag in named:
            opened = relation.without_language(index)
            languages = self._languages(opened, index)
            variants = [each for each in languages if each.language == tag.language and each.country]
            if tag not in languages and tag.country is None and len(variants) == 1:
                return self.outcome(opened.with_language(index, variants[0]))
            if tag not in languages:
                return self._no_translation(answer, languages)
        pointers = [e.ibi for e in answer.entries if e.ibi and not e.relation.is_itself and e.url is None]
        if pointers:
            return Elsewhere(self.item, pointers[0])
        if answer.next_edition is not None:
            return self._end_of_line(answer.next_edition)
        return Lacking(self.item, Lack.FILE if self._names_a_file else Lack.RELATION)

    def _end_of_line(self, following: LabelForms) -> Outcome:
        """Why the last edition is not known: the line leaves this Archive, or a later edition was deleted."""
        for later in later_editions(self.catalog, self.item):
            if later is not None and later.state is State.DELETED:
                return Gone(later)
        return Elsewhere(self.item, following)

    def _no_translation(self, answer: UrlList, languages: Sequence[LanguageTag]) -> Outcome:
        if answer.next_edition is not None and not languages:
            return self._end_of_line(answer.next_edition)
        return Lacking(self.item, Lack.TRANSLATION, tuple(languages))

    def _languages(self, relation: Relation, index: int) -> list[LanguageTag]:
        entries: Iterable[UrlEntry] = self._answer(relation).entries
        found = {_language(entry, index) for entry in entries if _reaches(relation, index, entry)}
        return sorted((tag for tag in found if tag is not None), key=str)


def _language(entry: UrlEntry, index: int) -> LanguageTag | None:
    step = entry.relation.steps[index]
    return step.language if isinstance(step, Translation) else None


def _reaches(relation: Relation, index: int, entry: UrlEntry) -> bool:
    """Whether an entry tells of a text at that step: it stands in the relation, or in its part that ends there.

    All that comes before the step is chosen by then: there, an open translation is the text without a language."""
    offered = entry.relation
    if offered.steps[:index] != relation.steps[:index]:
        return False
    return relation.matches(offered) or Relation(relation.steps[: index + 1]).matches(offered)
