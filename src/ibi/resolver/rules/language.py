"""The choice of a translation: the one that a link names (`+(pt)`), or the one that the reader prefers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ibi.standard.label import Label
from ibi.standard.language_choice import Preference, chosen_language
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.url_list import UrlEntry, UrlList
from ibi.standard.relation import Relation, Translation


@dataclass(frozen=True, slots=True)
class Wanted:
    """A relation, in the form in which Archives are asked for it.

    If no Archive has a translation in the wanted language, it is asked for again without the language, to see which
    there are. `only`, with one element for each step, then keeps the required language. None stands for the reader's
    preference.

    With a `beginning`, Archives are asked only for that many steps of the relation, although all of it is wanted
    (E101).
    """

    relation: Relation = Relation.ITSELF
    only: tuple[LanguageTag | None, ...] = ()
    beginning: int | None = None

    @classmethod
    def of(cls, relation: Relation) -> Wanted:
        return cls(relation, (None,) * len(relation.steps)) if relation.steps else _ITSELF

    @property
    def asked(self) -> Relation:
        """The relation that Archives are asked for."""
        return self.relation if self.beginning is None else Relation(self.relation.steps[: self.beginning])

    @property
    def leads_to_an_item(self) -> bool:
        """True for a relation to another item. Metadata in a format is no item: an item gives it of another one."""
        return bool(self.relation.steps) and not self.relation.ends_in_metadata_format

    @property
    def whole(self) -> Wanted:
        """The same relation, asked for as a whole."""
        return self if self.beginning is None else Wanted(self.relation, self.only)

    @property
    def beginnings(self) -> Iterator[Wanted]:
        """The same relation, asked for by its proper beginnings, the longest first."""
        for length in range(len(self.relation.steps) - 1, 0, -1):
            yield Wanted(self.relation, self.only, length)

    @property
    def question(self) -> Wanted:
        """The key by which a repeated question is recognised. For a beginning, the steps after it do not count."""
        steps = self.beginning
        return self if steps is None else Wanted(self.asked, self.only[:steps], steps)

    def after(self, steps: int) -> Wanted:
        """Return the rest after that many steps."""
        return Wanted(Relation(self.relation.steps[steps:]), self.only[steps:])

    def without_step(self, index: int) -> Wanted:
        return Wanted(self.relation.without_step(index), self.only[:index] + self.only[index + 1 :])

    def with_open_language(self, index: int) -> Wanted:
        """Return the same without the language at `index`, which stays required in `only`."""
        step = self.relation.steps[index]
        assert isinstance(step, Translation)  # nothing else has a language
        only = (*self.only[:index], step.language, *self.only[index + 1 :])
        return Wanted(self.relation.without_language(index), only)

    def in_language(self, index: int, tag: LanguageTag) -> Wanted:
        return Wanted(self.relation.with_language(index, tag), self.only)

    @property
    def needs_holder(self) -> bool:
        """True if only the holder can answer alone: an old Copy knows no later edition, and no later translation."""
        return self.relation.begins_with_last_edition or bool(self.relation.open_translations)

    @property
    def named_languages(self) -> tuple[int, ...]:
        """The steps at which a language was asked for by name."""
        steps = enumerate(self.relation.steps)
        return tuple(index for index, step in steps if isinstance(step, Translation) and step.language is not None)


_ITSELF: Final = Wanted()


class LanguageChoice(NamedTuple):
    """The wanted relation with its languages filled in. At `undecided` steps no language suits."""

    wanted: Wanted
    undecided: tuple[int, ...] = ()
    resigned: tuple[int, ...] = ()
    """The steps that use the item's own language, because no language that was asked for exists."""

    def rest_after(self, steps: int) -> Wanted:
        """Return the relation to ask of an item that is that many steps away.

        The Archive that keeps it may know of a translation that was not offered here.
        """
        rest = self.wanted
        for index in self.resigned:
            if index >= steps:
                rest = Wanted(rest.relation.without_language(index), rest.only)
        return rest.after(steps)


def choose_languages(wanted: Wanted, answers: Sequence[UrlList], preferences: Sequence[Preference]) -> LanguageChoice:
    """Return a language for each translation that names none, from all answers so far (resolution step 3).

    A translation that stays open and is decided means the text without a language, which is offered as `.translation`.
    """
    undecided: list[int] = []
    resigned: list[int] = []
    for index in wanted.relation.open_translations:
        tags = set(_tags(wanted.relation, index, answers))
        own = next((tag for tag, is_own in _own_languages(wanted.relation, index, answers) if is_own), None)
        tag = _choose_language(wanted.only[index], tags, preferences)
        if tag is None and None not in tags and wanted.only[index] is None and own is not None:
            tag = own
            resigned.append(index)
        if tag is not None:
            wanted = wanted.in_language(index, tag)
        elif None not in tags or wanted.only[index] is not None:
            undecided.append(index)
    return LanguageChoice(wanted, tuple(undecided), tuple(resigned))


def _choose_language(
    only: LanguageTag | None,
    tags: set[LanguageTag | None],
    preferences: Sequence[Preference],
) -> LanguageTag | None:
    if only is None:
        return chosen_language(tags, preferences, None)
    if only in tags:
        return only
    # `+(pt)` accepts a single pt-XX; `+(pt-BR)` accepts only pt-BR.
    variants = [tag for tag in tags if tag is not None and tag.language == only.language]
    return variants[0] if only.country is None and len(variants) == 1 else None


def languages_offered(wanted: Wanted, answers: Iterable[UrlList]) -> tuple[LanguageTag, ...]:
    """Return all languages that exist for any translation in the wanted relation, for a notice."""
    answers = tuple(answers)
    steps = enumerate(wanted.relation.steps)
    places = [index for index, step in steps if isinstance(step, Translation)]
    found = {tag for index in places for tag in _tags(wanted.relation, index, answers) if tag is not None}
    return tuple(sorted(found, key=str))


def _tags(relation: Relation, index: int, answers: Iterable[UrlList]) -> Iterator[LanguageTag | None]:
    return (_tag(entry, index) for answer in answers for entry in _texts(relation, index, answer))


def _own_languages(
    relation: Relation, index: int, answers: Iterable[UrlList]
) -> Iterator[tuple[LanguageTag | None, bool]]:
    """Yield each language, and whether its text is the item itself that is to be translated."""
    for answer in answers:
        source = _source(relation, index, answer)
        for entry in _texts(relation, index, answer):
            yield _tag(entry, index), entry.ibi is not None and not source.isdisjoint(entry.ibi.labels)


def _source(relation: Relation, index: int, answer: UrlList) -> frozenset[Label]:
    before = answer.entry(Relation(relation.steps[:index]))
    forms: LabelForms = answer.ibi if before is None or before.ibi is None else before.ibi
    return frozenset(forms.labels)


def _texts(relation: Relation, index: int, answer: UrlList) -> Iterator[UrlEntry]:
    """Yield the entries that exist: `url<R>`, `ibi<R>`, or `ibi<P>` with P ending in that translation."""
    upto = Relation(relation.steps[: index + 1])
    opened = relation if relation.steps[index] == Translation() else relation.without_language(index)
    for entry in answer.entries:
        offered = entry.relation
        if offered.steps[:index] != relation.steps[:index]:
            continue
        ends_here = len(offered.steps) == len(upto.steps) and isinstance(offered.steps[index], Translation)
        if opened.matches(offered) or (ends_here and entry.ibi is not None):
            yield entry


def _tag(entry: UrlEntry, index: int) -> LanguageTag | None:
    step = entry.relation.steps[index]
    return step.language if isinstance(step, Translation) else None
