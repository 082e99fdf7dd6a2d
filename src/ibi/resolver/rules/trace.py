"""The record of a resolution: each question, the replies of the Archives, and why another answer was better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ibi.items.model.item import name_one_item
from ibi.membership.rules.authority import ArchiveRef, StandIn, Word
from ibi.resolver.rules.answers import Reason, ReceivedAnswer
from ibi.standard.label import Label
from ibi.standard.messages.url_list import Deletion, UrlEntry, UrlList
from ibi.standard.relation import Relation
from ibi.standard.reply import Failure
from ibi.standard.vocabulary import State


class Outranking(StrEnum):
    """The advantage of a better answer (E54, E55)."""

    HOME = "the home of the label decides"
    HOLDER = "the holder is believed first"
    LATER_EDITION = "another knows of a later edition"
    URL = "another has the URL itself"
    ORIGINAL = "another has the Original"
    LONGER = "another Archive has been registered longer"
    SOONER = "another was as good, and came first"


def outranking(
    heard: ReceivedAnswer,
    better: ReceivedAnswer,
    *,
    holder: ArchiveRef | None,
    relation: Relation,
    among: Sequence[ReceivedAnswer],
) -> Outranking | None:
    """Return why `better` was taken and not `heard`; None if there is no single reason, as with a reader's languages.

    Both are `among` the answers to a question, in order of arrival.
    """
    if better.archive == holder:
        return Outranking.HOLDER
    if relation.begins_with_last_edition and better.knows_more and not heard.knows_more:
        return Outranking.LATER_EDITION
    return None if relation.open_translations else _by_url(heard, better, relation, among)


def _by_url(
    heard: ReceivedAnswer, better: ReceivedAnswer, relation: Relation, among: Sequence[ReceivedAnswer]
) -> Outranking | None:
    ours, theirs = _entry_with_url(heard, relation), _entry_with_url(better, relation)
    if theirs is None:
        return _by_age(heard, better)
    if ours is None:
        return Outranking.URL
    if _name_two_items(ours, theirs):
        return None
    if ours.state is not theirs.state:
        return Outranking.ORIGINAL if theirs.state is State.ORIGINAL else None
    age = _by_age(heard, better) if theirs.state is State.ORIGINAL else None
    return age or _by_arrival(heard, better, among)


def _name_two_items(ours: UrlEntry, theirs: UrlEntry) -> bool:
    return ours.ibi is not None and theirs.ibi is not None and not name_one_item(ours.ibi, theirs.ibi)


def _entry_with_url(heard: ReceivedAnswer, relation: Relation) -> UrlEntry | None:
    entry = heard.answer.entry(relation)
    return entry if entry is not None and heard.is_believed(entry) else None


def _by_age(heard: ReceivedAnswer, better: ReceivedAnswer) -> Outranking | None:
    return Outranking.LONGER if better.archive.registered < heard.archive.registered else None


def _by_arrival(heard: ReceivedAnswer, better: ReceivedAnswer, among: Sequence[ReceivedAnswer]) -> Outranking | None:
    return Outranking.SOONER if among.index(better) < among.index(heard) else None


class Verdict(StrEnum):
    """The effect of an Archive's reply."""

    CHOSEN = "its URL was chosen"
    FOLLOWED = "it pointed to the next question"
    DISPUTED = "it claims the Original, and so does another"
    OUTRANKED = "another answer was better"
    UNPROVEN = "it claims the item, and nothing proves it"
    NOT_THE_ORIGINAL = "it has a Copy, and the Original is required"
    NOT_FOLLOWED = "it points to where the search had been, or could not go"
    OF_NO_USE = "it had neither the URL nor a pointer"
    EMPTY = "it has no such item"
    DELETED = "it says that the item was deleted"
    DISBELIEVED = "the answer broke a rule"
    FAILED = "there was no answer"
    LATE = "the answer came when it was no longer needed"
    SILENT = "nothing came in time"

    @property
    def leads_on(self) -> bool:
        return self in (Verdict.CHOSEN, Verdict.FOLLOWED)

    @property
    def is_silence(self) -> bool:
        """True if nothing was said that counts."""
        return self in (Verdict.SILENT, Verdict.FAILED, Verdict.DISBELIEVED)


class AskedAgain(StrEnum):
    """The result of a second question to an Archive, the first with the whole address of the reader (E76)."""

    AWAITED = "it was asked again with the reader's address, and has not answered yet"
    HEARD = "it was asked again with the reader's address, and this is its second answer"
    UNHEARD = "it was asked again with the reader's address and gave no answer, so its first one was taken"
    NO_TIME = "there was no time to ask it again with the reader's address, so its first answer was taken"


@dataclass(frozen=True, slots=True)
class Report:
    """One Archive and one question. Times are those that were given to the resolution."""

    archive: ArchiveRef
    asked_at: float
    verdict: Verdict
    answered_at: float | None = None
    said: UrlList | Deletion | None = None
    failure: Failure | None = None
    broken_rule: str | None = None
    """The name of the rule of `ibi.resolver.rules.policy` that the answer, or a URL in it, broke."""
    because: Outranking | None = None
    """The single reason why another answer was better, if there is one."""
    stands_in: StandIn | None = None
    """The reason why it was followed in place of a silent home, if it was."""
    transferred_to: Label | None = None
    """The service of the Archive to which it says that it gave the Original away (E63)."""
    copies_at: tuple[Label, ...] = ()
    """The services of the Archives that it names as holders of Copies (E64)."""
    final: bool | None = None
    """Of an empty answer: whether it is certain that it never gave the label away; None if it does not say (E62)."""
    again: AskedAgain | None = None
    """The result of asking it again, if it was asked again."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One question. `number` counts from 0; `parent` is the question that led to this one.

    `word` is the answer of the home, or of the successor that it named. `deciders` are those of them that can be asked.
    """

    number: int
    parent: int | None
    label: Label
    relation: Relation
    reason: Reason
    reports: tuple[Report, ...]
    word: Word = Word.NO_HOME
    deciders: tuple[ArchiveRef, ...] = ()

    @property
    def leading(self) -> tuple[Report, ...]:
        """The reports of the Archives that were chosen or followed."""
        return tuple(report for report in self.reports if report.verdict.leads_on)

    @property
    def is_failover(self) -> bool:
        """True if an Archive was followed in place of a silent home."""
        return any(report.stands_in is not None for report in self.reports)

    def unheard_among(self, archives: Iterable[ArchiveRef]) -> list[ArchiveRef]:
        """Return those of the `archives` that were not asked, or cannot be counted as having answered."""
        heard = {report.archive for report in self.reports if not report.verdict.is_silence}
        return [archive for archive in archives if archive not in heard]


@dataclass(frozen=True, slots=True)
class Trace:
    """All questions, in the order in which they were asked."""

    hops: tuple[Hop, ...]
