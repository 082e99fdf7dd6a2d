"""One question of a resolution: the Archives that it goes to, and their answers so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ibi.membership.rules.authority import NO_AUTHORITY, ArchiveRef, LabelAuthority, Word, is_home
from ibi.resolver.rules.answers import AnswerSet, Reason, ReceivedAnswer, Referral
from ibi.resolver.rules.language import Wanted
from ibi.resolver.rules.trace import AskedAgain, Report, Verdict
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.requests import UrlRequest
from ibi.standard.messages.url_list import Deletion, UrlList
from ibi.standard.reply import Failure
from ibi.standard.vocabulary import State


class Addressees(NamedTuple):
    """The Archives to ask about a label: `first` at once, `waiting` later."""

    label: Label
    authority: LabelAuthority
    successors: tuple[Label, ...]
    deciders: tuple[ArchiveRef, ...]
    unreachable: LabelForms | None
    first: Sequence[ArchiveRef]
    waiting: Sequence[ArchiveRef]
    holder: ArchiveRef | None
    is_early: bool


class Asking(NamedTuple):
    """A request to send to an Archive, once. The answer is handed back together with it."""

    archive: ArchiveRef
    request: UrlRequest
    question: int
    again: bool = False
    """True for the second question to that Archive, with the whole address of the reader (E76)."""


@dataclass(slots=True, eq=False)
class Note:
    """The state of one Archive and one question so far.

    Whether a valid answer was useful is computed when the trace is read: `hearing` covers that answer alone, without
    the answers that contradict it.
    """

    asked_at: float
    verdict: Verdict = Verdict.SILENT
    answered_at: float | None = None
    said: UrlList | Deletion | None = None
    failure: Failure | None = None
    broken_rule: str | None = None
    hearing: AnswerSet | None = None
    final: bool | None = None
    """Of an empty answer: whether it is certain that it never gave the label away; None if it does not say (E62)."""
    transferred_to: Label | None = None
    copies_at: tuple[Label, ...] = ()
    is_coarse: bool = False
    """True if it got only a part of the reader's address."""
    is_for_all: bool = False
    """True if its answer says that it is the same for all readers (E32)."""
    again: AskedAgain | None = None

    def report(self, archive: ArchiveRef) -> Report:
        verdict = self.verdict
        if verdict is Verdict.OUTRANKED and self.hearing is not None and not self.hearing.leads_anywhere:
            verdict = Verdict.OF_NO_USE
        return Report(
            archive,
            self.asked_at,
            verdict,
            self.answered_at,
            self.said,
            self.failure,
            self.broken_rule,
            transferred_to=self.transferred_to,
            copies_at=self.copies_at,
            final=self.final,
            again=self.again,
        )


@dataclass(slots=True, eq=False)
class Question:
    """A hop in progress. `waiting` are the Archives not asked yet, `path` the questions that led here.

    `deciders` are the Archives that decide: the homes of the label, or the successor that they named. `unreachable` is
    one more that cannot be asked: it is switched off, or not registered here.
    """

    number: int
    forms: LabelForms
    wanted: Wanted
    request: UrlRequest
    reason: Reason
    path: tuple[Question, ...]
    began: float
    first: Sequence[ArchiveRef]
    waiting: Sequence[ArchiveRef]
    authority: LabelAuthority = NO_AUTHORITY
    holder: ArchiveRef | None = None
    """The known holder of the Original, if the label has no home."""
    deciders: tuple[ArchiveRef, ...] = ()
    unreachable: LabelForms | None = None
    successors: tuple[Label, ...] = ()
    """The chain through which the home gave the Original on, as far as it is known by now (E63)."""
    all_asked: float | None = None
    heard: list[ReceivedAnswer] = field(default_factory=list)
    deletions: list[tuple[ArchiveRef, Deletion]] = field(default_factory=list)
    notes: dict[ArchiveRef, Note] = field(default_factory=dict)
    pending: set[ArchiveRef] = field(default_factory=set)
    pointed_by: ArchiveRef | None = None
    """The Archive with the answer that led here, if any."""
    is_early: bool = False
    """True if the label is dated later than it can have been given, so that only its home is asked (E70)."""
    refused_url: bool = False
    """True if an answer had the wanted URL, but the URL broke a rule."""
    has_home: bool = False
    """True if the label has a home, so that claims of others need proof."""
    coarsen: Callable[[UrlRequest], UrlRequest | None] | None = None
    """Makes the request for Archives that do not decide. If it is None or returns None, all get the same request."""
    _coarse_request: UrlRequest | None = None
    _word: Word | None = None

    @classmethod
    def put(
        cls, number: int, step: Referral, request: UrlRequest, to: Addressees, parent: Question | None, now: float
    ) -> Question:
        """Return the question to which a pointer leads, after `parent`."""
        path = () if parent is None else (*parent.path, parent)
        question = cls(
            number, step.forms, step.wanted, request, step.reason, path, now,
            to.first, to.waiting, to.authority, to.holder, to.deciders, to.unreachable, to.successors,
        )  # fmt: skip
        question.is_early, question.has_home = to.is_early, to.authority.exists
        question.pointed_by = None if step.heard is None else step.heard.archive
        return question

    @property
    def label(self) -> Label:
        return self.request.label

    def ask(self, now: float, *, ask_all: bool) -> list[Asking]:
        """Put the question to the likely Archives, or to all."""
        due = (*self.first, *self.waiting) if ask_all else self.first
        self.first = ()
        if ask_all:
            self.waiting = ()
        return self._send(due, now)

    def ask_some(self, archives: Collection[ArchiveRef], now: float) -> list[Asking]:
        """Put the question to those of the `archives` that were not asked yet."""
        due = [archive for archive in self.waiting if archive in archives]
        self.waiting = [archive for archive in self.waiting if archive not in archives]
        return self._send(due, now)

    def _send(self, due: Sequence[ArchiveRef], now: float) -> list[Asking]:
        self.forget_word()
        if not self.waiting and self.all_asked is None:
            self.all_asked = now
        self.pending.update(due)
        askings = [Asking(archive, self._request_to(archive), self.number) for archive in due]
        for archive, request, *_ in askings:
            self.notes[archive] = Note(now, is_coarse=request is not self.request)
        return askings

    def ask_again(self, archive: ArchiveRef) -> Asking:
        """Put the question to an Archive once more, with the whole address of the reader."""
        self.pending.add(archive)
        self.notes[archive].again = AskedAgain.AWAITED
        return Asking(archive, self.request, self.number, again=True)

    def expects(self, asking: Asking) -> bool:
        """Return whether an answer to this request is due now: the network may repeat an earlier one."""
        is_awaited = self.notes[asking.archive].again is AskedAgain.AWAITED
        return asking.archive in self.pending and asking.again == is_awaited

    def forget_first_answer(self, archive: ArchiveRef) -> None:
        """Drop the first answer of an Archive, so that its second answer replaces it."""
        note = self.notes[archive]
        note.again, note.is_coarse, note.hearing, note.broken_rule = AskedAgain.HEARD, False, None, None
        self.heard = [heard for heard in self.heard if heard.archive != archive]

    def _request_to(self, archive: ArchiveRef) -> UrlRequest:
        """Return the request for an Archive.

        Only Archives that decide, or are vouched for, get the whole address of the reader (E76).
        """
        decides = archive in self.deciders or archive == self.holder or is_home(archive, self.label)
        return self.request if decides or archive.vouched else self._request_to_others()

    def _request_to_others(self) -> UrlRequest:
        if self._coarse_request is None:
            coarse = None if self.coarsen is None else self.coarsen(self.request)
            self._coarse_request = self.request if coarse is None or coarse == self.request else coarse
        return self._coarse_request

    def settle(self, asking: Asking, now: float) -> Note | None:
        """Stop waiting for an Archive, and return its note.

        Return None if it was not waited for: the network may repeat an answer.
        """
        if not self.expects(asking):
            return None
        self.pending.remove(asking.archive)
        self.forget_word()
        note = self.notes[asking.archive]
        note.answered_at = now
        return note

    @property
    def silent(self) -> tuple[ArchiveRef, ...]:
        """The Archives that were asked and cannot be counted as having answered."""
        return tuple(archive for archive, note in self.notes.items() if note.verdict.is_silence)

    @property
    def unreadable(self) -> tuple[ArchiveRef, ...]:
        """The Archives with an answer of which the needed part could not be read (E47)."""
        return tuple(archive for archive, note in self.notes.items() if note.failure is Failure.UNREADABLE)

    def may_know_more(self, archive: ArchiveRef) -> bool:
        """Return whether an Archive has not been heard: it was asked in vain, or not at all."""
        note = self.notes.get(archive)
        return note is None or note.verdict is Verdict.SILENT or (note.failure is not None and note.failure.is_silence)

    def is_left_open_by(self, heard: ReceivedAnswer) -> bool:
        """Return whether the last edition is wanted, and the answer gives neither a later one nor a state.

        Such an answer may be of an old Copy.
        """
        is_silent = heard.answer.next_edition is None and heard.state is None
        return is_silent and self.wanted.relation.begins_with_last_edition

    @property
    def word(self) -> Word:
        """The answer so far of the Archives that decide about the label."""
        if not self.has_home:
            return Word.NO_HOME
        if self._word is None:
            self._word = self._read_word()
        return self._word

    @property
    def deciders_asked(self) -> float:
        """The time at which the last of the deciding Archives was asked."""
        asked = (note.asked_at for archive in self.deciders if (note := self.notes.get(archive)) is not None)
        return max(asked, default=self.began)

    def _read_word(self) -> Word:
        words = {self._word_of(archive) for archive in self.deciders}
        for word in (Word.GIVEN, Word.DELETED, Word.AWAITED):
            if word in words:
                return word
        return Word.NOT_HERE if words == {Word.NOT_HERE} and self.unreachable is None else Word.SILENT

    def _word_of(self, archive: ArchiveRef) -> Word:
        note = self.notes.get(archive)
        if note is None or archive in self.pending:
            return Word.AWAITED
        if note.verdict is Verdict.EMPTY:
            return Word.NOT_HERE
        if isinstance(note.said, Deletion) and note.verdict is not Verdict.DISBELIEVED:
            return Word.DELETED
        heard = self.answer_from(archive)
        if heard is None:
            return Word.SILENT
        return Word.NOT_HERE if heard.state is State.COPY else Word.GIVEN

    def forget_word(self) -> None:
        """Drop the cached word: an answer was added, which may change it."""
        self._word = None

    def decide(self, deciders: tuple[ArchiveRef, ...], unreachable: LabelForms | None) -> None:
        """Change the Archives that decide: the home has named a successor."""
        self.deciders, self.unreachable, self._word = deciders, unreachable, None

    @property
    def is_denied(self) -> bool:
        """True if every home says that it never gave the label away: then no other Archive has the Original (E62)."""
        notes = [self.notes.get(archive) for archive in self.deciders]
        return bool(notes) and all(note is not None and note.final for note in notes)

    @property
    def is_disclaimed(self) -> bool:
        """True if a home has nothing and cannot tell whether it gave the label away.

        Then claims of Archives that are not trusted need proof (E62).
        """
        notes = map(self.notes.get, self.deciders)
        return any(note is not None and note.final is False for note in notes)

    @property
    def may_be_offered_elsewhere(self) -> bool:
        """True if another Archive may offer a relation that the home does not.

        R §9.2: each Archive offers its own relations. The home's answer about files and editions is final (E68).
        """
        relation = self.wanted.relation
        if relation.is_itself or relation.begins_with_last_edition:
            return False
        return self.request.file_path is None and not self.request.file_list

    @property
    def whole(self) -> Question:
        """The question for the whole relation if this one asks for its beginning; otherwise this one (E101)."""
        return self.path[-1] if self.reason is Reason.BEGINNING else self

    @property
    def trusted(self) -> Collection[ArchiveRef]:
        """The Archives that are followed while those that decide are silent."""
        return self.authority.trusted

    def may_speak(self, archive: ArchiveRef) -> bool:
        """Return whether the answers of an Archive count without proof."""
        return not self.has_home or archive in self.deciders or archive in self.trusted

    @property
    def awaits_a_home(self) -> bool:
        return any(home in self.pending or home in self.waiting for home in self.authority.homes)

    def release(self, archive: ArchiveRef) -> None:
        """Note that an Archive does not hold the Original, by its own answer."""
        if archive == self.holder:
            self.holder = None

    @property
    def holder_heard(self) -> ReceivedAnswer | None:
        if self.holder is None:
            return None
        return next((heard for heard in self.heard if heard.archive == self.holder), None)

    @property
    def holder_deletion(self) -> Deletion | None:
        if self.holder is None:
            return None
        return next((deletion for archive, deletion in self.deletions if archive == self.holder), None)

    @property
    def awaits_holder(self) -> bool:
        return self.holder is not None and (self.holder in self.pending or self.holder in self.waiting)

    def answer_from(self, archive: ArchiveRef) -> ReceivedAnswer | None:
        return next((heard for heard in self.heard if heard.archive == archive), None)
