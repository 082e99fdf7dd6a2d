"""The valid answers to one question: their URLs and pointers, and the order among them (resolution steps 2 to 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Final, NamedTuple

from ibi.items.model.item import name_one_item
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.language import LanguageChoice, Wanted, choose_languages
from ibi.standard.language_choice import Preference
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.url_list import UrlEntry, UrlList
from ibi.standard.relation import LastEdition, Relation
from ibi.standard.vocabulary import State

_LAST_EDITION: Final = Relation((LastEdition(),))


class ReceivedAnswer(NamedTuple):
    """A valid answer and the Archive that gave it. `refused` are the relations with a URL that is not believed."""

    archive: ArchiveRef
    answer: UrlList
    refused: frozenset[Relation] = frozenset()

    def is_believed(self, entry: UrlEntry) -> bool:
        """Return whether the entry has a URL to which a reader may be sent."""
        return entry.url is not None and not (self.refused and entry.relation in self.refused)

    @property
    def state(self) -> State | None:
        """The state of the item itself; None if nothing tells.

        If the answer omits it, this is the state of an entry that turns out to be the same item, such as the last
        edition.
        """
        itself = self.answer.entry()
        if itself is not None and itself.state is not None:
            return itself.state
        return next((entry.state for entry in self.answer.entries if self._is_of_the_item(entry)), None)

    def _is_of_the_item(self, entry: UrlEntry) -> bool:
        if entry.state is None:
            return False
        if entry.ibi is not None:
            return name_one_item(entry.ibi, self.answer.ibi)
        return entry.relation == _LAST_EDITION and self.answer.next_edition is None

    @property
    def succeeds_itself(self) -> bool:
        """True if the answer names the item as its own next edition."""
        later = self.answer.next_edition
        return later is not None and name_one_item(later, self.answer.ibi)

    @property
    def later_edition(self) -> LabelForms | None:
        """The next edition that the answer names; the item as its own next edition does not count."""
        return None if self.succeeds_itself else self.answer.next_edition

    @property
    def knows_more(self) -> bool:
        """True if the answer names a later edition."""
        return self.answer.next_edition is not None and not self.succeeds_itself

    @property
    def claims_original(self) -> bool:
        """True if the answer says that its Archive holds the item, and nothing in the answer is known to be wrong."""
        return not self.refused and self.state is State.ORIGINAL


class Reason(StrEnum):
    """The reason to ask for an item: the parts of resolution step 3, and of its languages."""

    GIVEN = "it was asked for"
    PREFIX = "a part of the relation leads to it"
    RELATED = "the relation leads to it"
    NEXT_EDITION = "it is the next edition"
    LATER_EDITION = "there may be a later edition than the Copy"
    NO_NEXT_EDITION = "no Archive knows of a next edition"
    ANY_LANGUAGE = "no Archive has that very language"
    NO_TRANSLATION = "there is no translation that suits"
    BEGINNING = "an Archive may know the beginning of the relation alone"


class Match(NamedTuple):
    """An answer with the wanted URL."""

    heard: ReceivedAnswer
    entry: UrlEntry


class Referral(NamedTuple):
    """Another question: an item under `forms`, and the relation wanted of it. `heard` is the answer that led to it."""

    forms: LabelForms
    wanted: Wanted
    reason: Reason
    heard: ReceivedAnswer | None = None


def later_than(heard: ReceivedAnswer, entry: UrlEntry) -> Referral | None:
    """Return the question to ask before a Copy is taken for the last edition of something; None if there is none.

    The Archive with this Copy was asked for an item that leads to the Copy, not for the Copy itself.
    """
    if entry.state is not State.COPY or entry.ibi is None or not entry.relation.ends_in_last_edition:
        return None
    if name_one_item(entry.ibi, heard.answer.ibi):
        return None
    return Referral(entry.ibi, Wanted.of(_LAST_EDITION), Reason.LATER_EDITION, heard)


_NONE_MISLED: Final[Mapping[ArchiveRef, int]] = {}


class AnswerSet(NamedTuple):
    """All valid answers to one question, in order of arrival.

    `holder` is the answer of the known holder of the Original, if it has answered. `misled` counts how often pointers
    of an Archive led nowhere; other Archives then come first.
    """

    wanted: Wanted
    heard: tuple[ReceivedAnswer, ...]
    preferences: Sequence[Preference]
    holder: ReceivedAnswer | None
    misled: Mapping[ArchiveRef, int] = _NONE_MISLED

    def leads(self) -> Iterator[Match | Referral]:
        """Return the leads of resolution step 3 (a) to (d), best first."""
        return (lead for group in self._groups() for lead in self._leads(group))

    def first_leads(self) -> Iterator[Match | Referral]:
        """Return the leads without those that are set aside because of a next edition."""
        return (lead for group in self._groups()[:1] for lead in self._leads(group))

    def _leads(self, group: tuple[ReceivedAnswer, ...]) -> Iterator[Match | Referral]:
        choice = self.choice(group)
        located = self._matches(choice, group)
        believed = self._without_contradicted(located, choice, group)
        yield from self._each_checked(believed, choice)
        yield from self._pointers(choice, group)
        if len(believed) < len(located):
            yield from self._each_checked([each for each in located if each not in believed], choice)

    def _each_checked(self, found: Sequence[Match], choice: LanguageChoice) -> Iterator[Match | Referral]:
        """Yield each match; before a Copy, yield the question to ask before the Copy is taken.

        The Copy may be older than a later edition, or than a translation into a language that was asked for.
        """
        for located in found:
            if located.entry.state is State.COPY:
                later = later_than(*located)
                if later is not None:
                    yield later
                if choice.resigned:
                    yield from self._better_languages(located, choice)
            yield located

    def _better_languages(self, located: Match, choice: LanguageChoice) -> Iterator[Referral]:
        """Yield where to ask for a wanted language: the items on the way, or the item that was returned instead."""
        ways = self._ways(choice, (located.heard,))
        yield from (way for way in ways if way.reason is Reason.PREFIX)
        last, forms = len(self.wanted.relation.steps) - 1, located.entry.ibi
        if choice.resigned[-1] == last and forms is not None and not name_one_item(forms, located.heard.answer.ibi):
            yield Referral(forms, choice.rest_after(last), Reason.PREFIX, located.heard)

    @property
    def best(self) -> Match | Referral | None:
        """The first lead; None if there is none."""
        return next(self.leads(), None)

    @property
    def leads_anywhere(self) -> bool:
        return self.best is not None

    def originals(self) -> tuple[Match, ...]:
        """Return the URLs to choose among if the Original is required (resolution step 4)."""
        return tuple(located for group in self._groups()[:1] for located in self._matches(self.choice(group), group))

    @property
    def has_believed_original(self) -> bool:
        """True if the Original is there, and no answer of higher rank says that it is elsewhere."""
        for group in self._groups()[:1]:
            choice = self.choice(group)
            originals = [each for each in self._matches(choice, group) if each.entry.state is State.ORIGINAL]
            return bool(self._without_contradicted(originals, choice, group))
        return False

    def set_aside(self) -> tuple[Match, ...]:
        """Return the matches that were set aside because of a next edition, in case no Archive has it."""
        return tuple(located for group in self._groups()[1:] for located in self._matches(self.choice(group), group))

    def pointers(self) -> Iterator[Referral]:
        """Return the pointers of the answers, in the order in which they are looked at."""
        return (pointer for group in self._groups() for pointer in self._pointers(self.choice(group), group))

    def last_resorts(self, forms: LabelForms) -> Iterator[Referral]:
        """Yield the questions about the item itself that remain once all Archives have answered.

        They are the beginnings of the relation (E101), then resolution step 3 (e), then its languages. An answer to a
        beginning only leads on.
        """
        relation = self.wanted.relation
        if not self.heard or self.has_next_edition or self.wanted.beginning is not None:
            return
        if not all(AnswerSet(self.wanted, (heard,), self.preferences, None).leads_anywhere for heard in self.heard):
            for beginning in self.wanted.beginnings:
                yield Referral(forms, beginning, Reason.BEGINNING)
        if relation.begins_with_last_edition:
            yield Referral(forms, self.wanted.after(1), Reason.NO_NEXT_EDITION)
        for index in self.wanted.named_languages:
            if self.wanted.only[index] is None:
                yield Referral(forms, self.wanted.with_open_language(index), Reason.ANY_LANGUAGE)
        for index in self.choice(self._groups()[0]).undecided:
            if self.wanted.only[index] is None:
                yield Referral(forms, self.wanted.without_step(index), Reason.NO_TRANSLATION)

    def choice(self, group: Sequence[ReceivedAnswer]) -> LanguageChoice:
        if not self.wanted.relation.open_translations:
            return LanguageChoice(self.wanted)
        return choose_languages(self.wanted, [heard.answer for heard in group], self.preferences)

    @property
    def has_next_edition(self) -> bool:
        """True if the last edition is wanted, and an answer that counts names a later one."""
        first = next(iter(self._groups()), ())
        return self.wanted.relation.begins_with_last_edition and any(heard.knows_more for heard in first)

    def _groups(self) -> list[tuple[ReceivedAnswer, ...]]:
        """Return the answers to look at first, and those to look at next.

        For the last edition, an answer that names a next edition outranks one that does not, because that one may be an
        old Copy. The holder of the Original decides whether there is a next edition: answers that contradict it are
        ignored. If the holder is not known, an Archive decides that claims the Original and was registered before all
        Archives that contradict it.
        """
        if not self.heard:
            return []
        if not self.wanted.relation.begins_with_last_edition:
            return [self._holder_first(self.heard)]
        knowing = tuple(heard for heard in self.heard if heard.knows_more)
        others = tuple(heard for heard in self.heard if not heard.knows_more)
        if self.holder is not None:
            return [self._holder_first(knowing if self.holder.knows_more else others)]
        groups = (others, knowing) if self._is_claimed_before(others, knowing) else (knowing, others)
        return [self._holder_first(group) for group in groups if group]

    def _is_claimed_before(self, others: Sequence[ReceivedAnswer], knowing: Sequence[ReceivedAnswer]) -> bool:
        """Return whether the answers without a next edition come first.

        They do if one of them claims the Original and its Archive ranks first. They also do if every Archive that names
        a next edition has misled before, and one of the others never has.
        """
        claims = [self._trust(heard) for heard in others if heard.claims_original]
        if claims and all(min(claims) < self._trust(heard) for heard in knowing):
            return True
        misled = self.misled
        return all(misled.get(heard.archive) for heard in knowing) and not all(misled.get(x.archive) for x in others)

    def _holder_first(self, group: tuple[ReceivedAnswer, ...]) -> tuple[ReceivedAnswer, ...]:
        if self.holder is None or len(group) == 1:
            return group
        return tuple(sorted(group, key=lambda heard: heard != self.holder))

    def _belief(self, heard: ReceivedAnswer) -> tuple[bool, int]:
        """Return the rank of an answer: the holder first, then the Archives by the time of their registration.

        A new Archive gains nothing by being quick.
        """
        return heard != self.holder, heard.archive.registered

    def _trust(self, heard: ReceivedAnswer) -> tuple[int, bool, int]:
        """Return the rank of an answer's pointers: as `_belief`, but Archives that misled before come last."""
        return self.misled.get(heard.archive, 0), *self._belief(heard)

    def _without_contradicted(
        self, located: list[Match], choice: LanguageChoice, group: Sequence[ReceivedAnswer]
    ) -> list[Match]:
        """Return the matches, without those that an answer of higher rank contradicts.

        Such an answer does not have the item, and says that it is elsewhere.
        """
        if len(group) == 1 or not located:
            return located
        having = {each.heard.archive for each in located if later_than(*each) is None}
        pointing = [heard for heard in group if heard.archive not in having and self._points_on(choice, heard)]
        if not pointing:
            return located
        limit = min(map(self._belief, pointing))
        return [each for each in located if self._belief(each.heard) <= limit]

    def _points_on(self, choice: LanguageChoice, heard: ReceivedAnswer) -> bool:
        return next(self._pointers(choice, (heard,)), None) is not None

    # (a) url<R>
    def _matches(self, choice: LanguageChoice, group: Sequence[ReceivedAnswer]) -> list[Match]:
        if choice.undecided:
            return []
        relation = choice.wanted.relation
        found = []
        for heard in group:
            entry = heard.answer.entry(relation)
            if entry is not None and heard.is_believed(entry):
                found.append(Match(heard, entry))
        if len(found) > 1:
            named = min(found, key=lambda located: self._belief(located.heard)).entry.ibi
            found.sort(key=lambda located: self._rank(located, named))
        return found

    def _rank(self, located: Match, named: LabelForms | None) -> tuple[bool, bool, bool, int]:
        """Return the sort key of a match: the holder first, then the item `named` by the highest-ranked answer.

        Among these, an Original comes before a Copy. Copies stay in the order of arrival.
        """
        of_another, since = self._belief(located.heard)
        forms, is_copy = located.entry.ibi, located.entry.state is not State.ORIGINAL
        is_other = named is not None and (forms is None or not name_one_item(forms, named))
        return of_another, is_other, is_copy, 0 if is_copy else since

    def _pointers(self, choice: LanguageChoice, group: Sequence[ReceivedAnswer]) -> Iterator[Referral]:
        """Return the pointers (b) to (d) of the answers, those of the highest rank first."""
        if len(group) == 1:
            return self._ways(choice, group)
        ranked = groupby(sorted(group, key=self._trust), key=self._trust)
        return (way for _, equals in ranked for way in self._ways(choice, tuple(equals)))

    def _ways(self, choice: LanguageChoice, equals: Sequence[ReceivedAnswer]) -> Iterator[Referral]:
        wanted, undecided = choice.wanted, choice.undecided
        # (b) ibi<P> of the longest P, up to the step for which no language suits
        for prefix in wanted.relation.proper_prefixes():
            if undecided and len(prefix.steps) > undecided[0]:
                continue
            rest = choice.rest_after(len(prefix.steps))
            yield from (Referral(forms, rest, Reason.PREFIX, heard) for heard, _, forms in _named_items(equals, prefix))
        # (c) ibi<R>
        if not undecided and wanted.leads_to_an_item:
            for heard, entry, forms in _named_items(equals, wanted.relation):
                yield later_than(heard, entry) or Referral(forms, Wanted(), Reason.RELATED, heard)
        # (d) ibi.nextedition, with the wanted relation unchanged
        if wanted.relation.begins_with_last_edition:
            for heard in equals:
                if (later := heard.later_edition) is not None:
                    yield Referral(later, self.wanted.whole, Reason.NEXT_EDITION, heard)


def is_unreadable(archive: ArchiveRef, answer: UrlList, wanted: Wanted, preferences: Sequence[Preference]) -> bool:
    """Return whether an answer leads nowhere because a part of it could not be read (E47)."""
    if not answer.left_out or not answer.lacks(wanted.relation):
        return False
    return not AnswerSet(wanted, (ReceivedAnswer(archive, answer),), preferences, None).leads_anywhere


def _named_items(
    group: Sequence[ReceivedAnswer], relation: Relation
) -> Iterator[tuple[ReceivedAnswer, UrlEntry, LabelForms]]:
    for heard in group:
        entry = heard.answer.entry(relation)
        if entry is not None and entry.ibi is not None:
            yield heard, entry, entry.ibi
