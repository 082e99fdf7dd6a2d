"""Which of several answers is the best, and where they lead (resolution steps 2 to 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from ibi.language_range import Preference
from ibi.messages.field import State
from ibi.messages.label_forms import LabelForms
from ibi.messages.url_list import UrlEntry, UrlList
from ibi.relation import Relation
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.language import Choice, Wanted, choose_languages

__all__ = ["Following", "Heard", "Hearing", "Located", "Reason"]


class Reason(StrEnum):
    """Why an item is asked for: the parts of resolution step 3, and of its languages."""

    GIVEN = "it was asked for"
    PREFIX = "a part of the relation leads to it"
    RELATED = "the relation leads to it"
    NEXT_EDITION = "it is the next edition"
    NO_NEXT_EDITION = "nobody knows of a next edition"
    ANY_LANGUAGE = "nobody has that very language"
    NO_TRANSLATION = "there is no translation that suits"


class Heard(NamedTuple):
    """A valid answer, and who gave it. `refused` are the relations for which it has a URL that is not believed."""

    archive: ArchiveRef
    answer: UrlList
    refused: frozenset[Relation] = frozenset()

    def is_believed(self, entry: UrlEntry) -> bool:
        """Whether an entry of the answer has a URL that somebody may be sent to."""
        return entry.url is not None and not (self.refused and entry.relation in self.refused)


class Located(NamedTuple):
    """An answer with the URL that is wanted."""

    heard: Heard
    entry: UrlEntry


class Following(NamedTuple):
    """Another question: an item under `forms`, and what is wanted of it. `heard` is whoever pointed there."""

    forms: LabelForms
    wanted: Wanted
    reason: Reason
    heard: Heard | None = None


class Hearing(NamedTuple):
    """All valid answers to one question, in order of arrival.

    `holder` is the one known to hold the Original, if it has answered.
    """

    wanted: Wanted
    heard: tuple[Heard, ...]
    preferences: Sequence[Preference]
    holder: Heard | None

    def leads(self) -> Iterator[Located | Following]:
        """resolution step 3 (a) to (d), best first."""
        for group in self._groups():
            yield from self._located(group)
            yield from self._pointers(group)

    @property
    def leads_anywhere(self) -> bool:
        return next(self.leads(), None) is not None

    def originals(self) -> tuple[Located, ...]:
        """resolution step 4: the URLs to choose among if the Original is required."""
        return tuple(located for group in self._groups()[:1] for located in self._located(group))

    def set_aside(self) -> tuple[Located, ...]:
        """Those to choose among if the next edition, because of which they were set aside, is nowhere."""
        return tuple(located for group in self._groups()[1:] for located in self._located(group))

    def pointers(self) -> Iterator[Following]:
        """Where the answers that are looked at first lead."""
        return (pointer for group in self._groups()[:1] for pointer in self._pointers(group))

    def last_resorts(self, forms: LabelForms) -> Iterator[Following]:
        """What is asked of the item itself once all have answered: resolution step 3 (e), then its languages."""
        relation = self.wanted.relation
        if not self.heard or self.has_next_edition:
            return
        if relation.begins_with_last_edition:
            yield Following(forms, self.wanted.after(1), Reason.NO_NEXT_EDITION)
        for index in self.wanted.named_languages:
            if self.wanted.only[index] is None:
                yield Following(forms, self.wanted.opened(index), Reason.ANY_LANGUAGE)
        for index in self.choice(self._groups()[0]).undecided:
            if self.wanted.only[index] is None:
                yield Following(forms, self.wanted.without_step(index), Reason.NO_TRANSLATION)

    def choice(self, group: Sequence[Heard]) -> Choice:
        if not self.wanted.relation.open_translations:
            return Choice(self.wanted)
        return choose_languages(self.wanted, [heard.answer for heard in group], self.preferences)

    @property
    def has_next_edition(self) -> bool:
        """Whether the last edition is wanted, and somebody who counts names a later one."""
        return self.wanted.relation.begins_with_last_edition and any(map(_knows_more, self._groups()[0]))

    def _groups(self) -> list[tuple[Heard, ...]]:
        """The answers to look at first, and those to look at next.

        For the last edition, one that knows of a next edition outranks one that does not, which may be an old Copy. The
        known holder of the Original decides whether there is one: whoever contradicts it is not listened to.
        """
        if not self.heard:
            return []
        if not self.wanted.relation.begins_with_last_edition:
            return [self._ranked(self.heard)]
        knowing = tuple(heard for heard in self.heard if _knows_more(heard))
        others = tuple(heard for heard in self.heard if not _knows_more(heard))
        if self.holder is not None:
            return [self._ranked(knowing if _knows_more(self.holder) else others)]
        return [self._ranked(group) for group in (knowing, others) if group]

    def _ranked(self, group: tuple[Heard, ...]) -> tuple[Heard, ...]:
        if self.holder is None or len(group) == 1:
            return group
        return tuple(sorted(group, key=lambda heard: heard != self.holder))

    # (a) url<R>
    def _located(self, group: tuple[Heard, ...]) -> list[Located]:
        choice = self.choice(group)
        if choice.undecided:
            return []
        relation = choice.wanted.relation
        found = []
        for heard in group:
            entry = heard.answer.entry(relation)
            if entry is not None and heard.is_believed(entry):
                found.append(Located(heard, entry))
        if len(found) > 1:
            # An Original outranks a Copy; sorting keeps the holder, then the order of arrival.
            found.sort(key=lambda located: located.entry.state is not State.ORIGINAL)
        return found

    def _pointers(self, group: tuple[Heard, ...]) -> Iterator[Following]:
        choice = self.choice(group)
        wanted, undecided = choice.wanted, choice.undecided
        # (b) ibi<P> of the longest P, up to where no language would do
        for prefix in wanted.relation.proper_prefixes():
            if undecided and len(prefix.steps) > undecided[0]:
                continue
            rest = wanted.after(len(prefix.steps))
            yield from (Following(forms, rest, Reason.PREFIX, heard) for heard, forms in _named(group, prefix))
        # (c) ibi<R>, unless it is metadata in a format: an item gives that only of another
        if wanted.relation.steps and not undecided and not wanted.relation.ends_in_metadata_format:
            found = _named(group, wanted.relation)
            yield from (Following(forms, Wanted(), Reason.RELATED, heard) for heard, forms in found)
        # (d) ibi.nextedition, with what is wanted unchanged
        if wanted.relation.begins_with_last_edition:
            for heard in group:
                if heard.answer.next_edition is not None:
                    yield Following(heard.answer.next_edition, self.wanted, Reason.NEXT_EDITION, heard)


def _knows_more(heard: Heard) -> bool:
    return heard.answer.next_edition is not None


def _named(group: Sequence[Heard], relation: Relation) -> Iterator[tuple[Heard, LabelForms]]:
    for heard in group:
        entry = heard.answer.entry(relation)
        if entry is not None and entry.ibi is not None:
            yield heard, entry.ibi
