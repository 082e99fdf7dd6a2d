"""The resolution of one persistent URL: from requests, answers and failures to one outcome.

Nothing here waits or sends. The driver of a resolution sends the result of `requests`. It hands back each `Asking` with
its answer or failure and the time, calls `advance` at `wake_at`, and stops when `outcome` is set (R §8.2).

A question goes to all Archives. An answer with the URL ends the search. An answer with a pointer leads to another
question. A question that leads nowhere gives way to the one before it. A late answer reopens its question: it may be
the honest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ibi.membership.rules.authority import NO_ROUTING, ArchiveRef, Routing, Word
from ibi.resolver.rules.addressing import Addressing
from ibi.resolver.rules.answers import AnswerSet, Match, Reason, ReceivedAnswer, Referral, is_unreadable
from ibi.resolver.rules.claims import claims_to_show
from ibi.resolver.rules.explanation import explain
from ibi.resolver.rules.language import Wanted
from ibi.resolver.rules.leads import LeadChoice
from ibi.resolver.rules.outcome import (
    Deleted,
    Outcome,
    ending,
    find_deletion,
    judge_originals,
    leads_back,
    redirect,
    silence_of,
)
from ibi.resolver.rules.policy import ArchiveClaim, Policy, SearchPath, WaitPolicy, broken_rule, refused_urls
from ibi.resolver.rules.question import Asking, Note, Question
from ibi.resolver.rules.trace import AskedAgain, Trace, Verdict
from ibi.standard.label import Label
from ibi.standard.language_choice import Preference
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.requests import UrlRequest
from ibi.standard.messages.url_list import Deletion, UrlList
from ibi.standard.messages.values import IpAddress
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.reply import Failure
from ibi.standard.vocabulary import State

_POLICY: Final = Policy()


class _Confirmation(NamedTuple):
    """An Archive is asked again with the whole address of the reader, and waited for at most `until` (E76)."""

    question: Question
    archive: ArchiveRef
    until: float


class Resolution:
    """A resolution in progress.

    `archives` are all included Archives. `clients` are the addresses of the reader and of the proxies. `preferences`
    are the reader's languages, which no Archive learns (R Table 8.6). `now` is monotonic time in seconds, from any
    origin. `today` is the time of day in POSIX seconds, by which labels of the future are recognised.
    """

    def __init__(
        self,
        url: PersistentUrl,
        archives: Sequence[ArchiveRef],
        clients: tuple[IpAddress, ...],
        preferences: Sequence[Preference] = (),
        *,
        now: float,
        today: float | None = None,
        base: str = "http://urlib.net:80/",
        routing: Routing = NO_ROUTING,
        policy: Policy = _POLICY,
    ) -> None:
        self._url, self._clients = url, clients
        archives = tuple(dict.fromkeys(archives)) if len(archives) > 1 else tuple(archives)
        # E21: `ibiurl.language` overrides the languages of the browser.
        self._preferences = preferences if url.language is None else (Preference(url.language.lower(), 1.0),)
        self._base, self._policy = base, policy
        latest = None if today is None else int(today) + policy.latest_date
        self._deadline = now + policy.budget
        self._now = now
        self._addressing = Addressing(archives, routing, latest, policy, needs_original=url.required_original)
        self._way = SearchPath(url.label, policy)
        self._leads = LeadChoice(url, self._preferences, policy, self._way)
        self._questions: list[Question] = []
        self._current: Question | None = None
        self._reopened: list[Question] = []
        self._patience = WaitPolicy(policy, url.required_original)
        self._given_up: list[Question] = []
        self._turns: set[tuple[int, int]] = set()
        self._outbox: list[Asking] = []
        self._outcome: Outcome | None = None
        self._confirmation: _Confirmation | None = None
        self._asked_in_vain: set[ArchiveRef] = set()
        self._ask(Referral(LabelForms.of(url.label), Wanted.of(url.relation), Reason.GIVEN), None, now)
        self._advance(now)

    @property
    def outcome(self) -> Outcome | None:
        return self._outcome

    @property
    def wake_at(self) -> float:
        """The time at which `advance` must be called if nothing else happens before."""
        times = [self._deadline]
        if self._confirmation is not None:
            times.append(self._confirmation.until)
        elif self._current is not None:
            times += self._patience.times(self._current)
        return min((time for time in times if time > self._now), default=self._deadline)

    @property
    def trace(self) -> Trace:
        return Trace(tuple(map(explain, self._questions)))

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that were asked for."""
        return tuple(question.label for question in self._questions)

    def requests(self) -> tuple[Asking, ...]:
        """Return the requests to send now; each is returned once."""
        sent, self._outbox = tuple(self._outbox), []
        return () if self._outcome is not None else sent

    def answer(
        self, asking: Asking, answer: UrlList | Deletion | None, now: float, *, final: bool | None = None,
        transferred_to: Label | None = None, copies_at: tuple[Label, ...] = (), max_age: int = 0,
    ) -> None:  # fmt: skip
        """Take the answer of an Archive; None if it has no such item. The other arguments come from IBI headers."""
        archive, question = asking.archive, self._questions[asking.question]
        note = question.settle(asking, now)
        if note is None:
            return
        if asking.again and self._outcome is None:
            question.forget_first_answer(archive)
            self._confirmation = None
        note.is_for_all = max_age > 0
        note.said, note.transferred_to, note.copies_at = answer, transferred_to, copies_at
        note.final = final if answer is None else None
        if self._outcome is not None:
            note.verdict = Verdict.LATE
            self._advance(now)
            return
        if answer is None:
            note.verdict = Verdict.EMPTY
            question.release(archive)  # R §5.2: it has transferred the item away
        elif (rule := broken_rule(ArchiveClaim(archive, question.label, answer), self._policy.rules)) is not None:
            note.verdict, note.broken_rule = Verdict.DISBELIEVED, rule.__name__
        elif isinstance(answer, UrlList) and self._is_of_no_use(archive, answer, question):
            note.verdict, note.failure = Verdict.FAILED, Failure.UNREADABLE
        else:
            self._believe(question, archive, answer, note)
        if transferred_to is not None and note.verdict is not Verdict.DISBELIEVED:
            self._pass_on(question, archive, transferred_to, now)
        self._return_to(question, archive)
        self._advance(now)

    def _is_of_no_use(self, archive: ArchiveRef, answer: UrlList, question: Question) -> bool:
        """Return whether no needed part of the answer is readable (E47), or its URL is the followed link itself."""
        if is_unreadable(archive, answer, question.wanted, self._preferences):
            return True
        entry = answer.entry(question.wanted.relation)
        return entry is not None and entry.url is not None and leads_back(entry.url, self._base, self._url)

    def failure(self, asking: Asking, reason: Failure, now: float) -> None:
        """Record that an Archive could not be asked, or gave no readable answer."""
        note = self._questions[asking.question].settle(asking, now)
        if note is None:
            return
        if asking.again:
            self._take_first_answer()
        else:
            note.verdict, note.failure = Verdict.FAILED, reason
        self._advance(now)

    def advance(self, now: float) -> None:
        """Record that time has passed, and that nothing else has happened."""
        self._advance(now)

    def _believe(self, question: Question, archive: ArchiveRef, answer: UrlList | Deletion, note: Note) -> None:
        if question.may_speak(archive):
            self._way.link(answer.ibi)  # a stranger's claim that two labels are one could hide one of them
        if question is not self._current and question not in self._path():
            self._reopened.append(question)
        if isinstance(answer, Deletion):
            question.deletions.append((archive, answer))
            note.verdict = Verdict.DELETED
            return
        rules, holders = self._policy.url_rules, (*question.deciders, question.holder)
        refused = refused_urls(archive, question.label, answer, rules, holders)
        heard = ReceivedAnswer(archive, answer, frozenset(refused))
        question.heard.append(heard)
        question.forget_word()
        if archive == question.holder and (heard.state is State.COPY or question.is_left_open_by(heard)):
            question.release(archive)
        note.verdict = Verdict.OUTRANKED
        note.hearing = AnswerSet(question.wanted, (heard,), self._preferences, None)
        for relation, rule in refused.items():
            if question.wanted.relation.matches(relation):
                question.refused_url |= question.may_speak(archive)
                note.broken_rule = rule.__name__

    def _pass_on(self, question: Question, archive: ArchiveRef, to: Label, now: float) -> None:
        """Follow a transfer: the home, or its successor, says which Archive holds the Original now (E63)."""
        chain = self._addressing.chain_after(question, archive, to)
        if chain is None or chain == question.successors:
            return
        question.successors = chain
        question.decide(*self._addressing.deciders(question.authority, chain))
        self._outbox += question.ask_some(question.deciders, now)

    def _return_to(self, question: Question, archive: ArchiveRef) -> None:
        """Go back to a question if an Archive that decides has answered it after the search went on without it."""
        path = self._path()
        if archive not in question.deciders or question is self._current or question not in path:
            return
        child = path[path.index(question) + 1]
        if child.pointed_by is not None and child.pointed_by in question.deciders:
            return
        lead = self._leads.hearing(question).best
        if isinstance(lead, Referral) and lead.forms == child.forms and lead.wanted == child.wanted:
            return
        self._current = question

    def _advance(self, now: float) -> None:
        self._now = now
        if self._confirmation is not None and now >= self._confirmation.until:
            self._take_first_answer()
        if self._outcome is None and now >= self._deadline:
            self._outcome = self._at_deadline()
        while not self._is_held_up:
            if self._current is None:
                if not self._reopened:
                    break
                self._current = self._reopened.pop()
            if not self._move(self._current, now):
                return
        if not self._is_held_up and not any(question.pending for question in self._questions):
            self._outcome = self._verdict()

    @property
    def _is_held_up(self) -> bool:
        """True if there is an outcome, or an Archive is asked again about it."""
        return self._outcome is not None or self._confirmation is not None

    def _path(self) -> tuple[Question, ...]:
        return () if self._current is None else (*self._current.path, self._current)

    def _move(self, question: Question, now: float) -> bool:
        """Take one step from a question; return False if there is nothing to do but wait."""
        if question.waiting:
            self._ask_others(question, now)
        if question.deletions and (question.word is Word.DELETED or question.holder_deletion is not None):
            return self._end_deleted(question, now)
        if question.reason is Reason.NO_NEXT_EDITION and self._leads.hearing(question.path[-1]).has_next_edition:
            self._current = question.path[-1]  # an Archive knows of one after all
            return True
        step = self._original(question, now) if self._url.required_original else self._lead(question, now)
        if step is not None:
            self._take(step, question, now)
            return True
        return not self._is_held_up and self._is_settled(question, now) and self._go_on_without(question, now)

    def _take(self, step: Match | Referral, question: Question, now: float) -> None:
        if isinstance(step, Match):
            self._choose(question, step)
        elif not self._turns_back(question):
            self._ask(step, question, now)

    def _go_on_without(self, question: Question, now: float) -> bool:
        """Take one step from a question whose answers that count lead nowhere; return False if it must wait."""
        step: Match | Referral | None = self._leads.last_resort(question, self._questions)
        if step is None and question.word is Word.AWAITED:
            return False
        if step is None and question.word is Word.GIVEN and question.may_be_offered_elsewhere:
            if not self._have_others_answered(question, now):
                return False
            step = self._leads.from_others(question)
        if step is not None:
            self._take(step, question, now)
        elif not self._ask_again_in_vain(question):
            self._give_up(question)
        return True

    def _ask_others(self, question: Question, now: float) -> None:
        """Put the question to the Archives that were not asked yet, if it is time for them."""
        word = question.word
        if word is not Word.AWAITED:
            if self._is_time_for_all(question, now):
                self._outbox += question.ask(now, ask_all=True)
        elif self._patience.is_home_given_up(question, now):
            self._outbox += question.ask(now, ask_all=True)
        elif self._patience.is_hedged(question, now):
            self._outbox += question.ask_some(question.trusted, now)

    def _have_others_answered(self, question: Question, now: float) -> bool:
        """Return whether all Archives were asked for a relation that the home does not offer, and had their time."""
        if question.waiting:
            self._outbox += question.ask(now, ask_all=True)
        return self._patience.is_settled(question, now)

    def _is_settled(self, question: Question, now: float) -> bool:
        """Return whether the question need not wait for more answers.

        If the Original is required, a claim waits for all other claims, so that they can be counted.
        """
        word = question.word
        if word is Word.GIVEN:
            return self._patience.is_home_heard(question, now)
        if word is Word.AWAITED:
            return self._patience.is_home_given_up(question, now)
        if word is Word.NOT_HERE and question.is_denied:
            return True
        if self._patience.is_settled(question, now):
            return True
        if not self._url.required_original or question.waiting or not self._patience.may_count(question, now):
            return False
        hearing = self._leads.hearing(question)
        return not (hearing.originals() or hearing.set_aside())

    def _is_time_for_all(self, question: Question, now: float) -> bool:
        word = question.word
        if word is not Word.NO_HOME:
            return word in (Word.DELETED, Word.SILENT) or (word is Word.NOT_HERE and not question.is_denied)
        if question.holder_deletion is not None or self._patience.is_hedged(question, now):
            return True
        if question.holder is None and question.wanted.needs_holder:
            return True
        return not question.pending and self._lead(question, now) is None

    def _end_deleted(self, question: Question, now: float) -> bool:
        """End with the deletion (E20). The holder's answer is enough, but others have a moment to report Copies."""
        if not (self._patience.all_had_a_moment(question, now) or self._patience.is_settled(question, now)):
            return False
        if question.path:
            self._give_up(question)
        else:
            self._outcome = find_deletion(question)
        return True

    def _lead(self, question: Question, now: float) -> Match | Referral | None:
        lead = self._leads.first(question)
        return lead if lead is not None and self._patience.may_take(question, lead, now) else None

    def _original(self, question: Question, now: float) -> Referral | None:
        """Choose the required Original, or return a pointer to follow.

        This is `requireditemstatus=Original`, resolution step 4. All Archives that claim it are counted, so all are
        waited for. Pointers are followed before a silent Archive has used up the time.
        """
        if not self._patience.may_count_originals(question, now):
            return None
        hearing = self._leads.hearing(question)
        if not hearing.has_believed_original:
            # An Archive with a Copy may know the IBI under which another has the Original.
            pointer = self._leads.first_pointer(question)
            if pointer is not None:
                return pointer
        if question.pending and question.word is not Word.GIVEN:
            return None
        located = hearing.originals() or hearing.set_aside()
        if located:
            self._judge(question, located)
        return None

    def _judge(self, question: Question, located: Sequence[Match]) -> None:
        judged = judge_originals(question, located)
        if isinstance(judged, Match):
            self._choose(question, judged)
        else:
            self._outcome = judged

    def _turns_back(self, question: Question) -> bool:
        """Turn back to an earlier question if the path has become long; return whether it did.

        Far from the start, earlier answers that lead elsewhere get their turn. A liar's path has no end, and the honest
        path would not be tried in time.
        """
        if len(question.path) < self._policy.fair_after:
            return False
        self._way.note_misled(question)
        nearer = [each for each in self._questions if len(each.path) < len(question.path)]
        for earlier in sorted(nearer, key=lambda each: len(each.path)):
            turn = question.number, earlier.number
            if turn not in self._turns and self._leads.leads_elsewhere(earlier, question):
                self._turns.add(turn)
                self._reopened.append(question)
                self._current = earlier
                return True
        return False

    def _ask(self, step: Referral, parent: Question | None, now: float) -> None:
        """Put a new question, first to the Archives that are likely to know."""
        to = self._addressing.addressees(step, parent, self._questions, self._now)
        if step.heard is not None and parent is not None:
            parent.notes[step.heard.archive].verdict = Verdict.FOLLOWED
        url = self._url
        request = UrlRequest(
            self._clients, to.label, step.wanted.asked, url.applied_path, url.file_list, url.spelled_path
        )  # E16: the path and the list are passed on
        question = Question.put(len(self._questions), step, request, to, parent, now)
        question.coarsen = self._policy.coarse_request
        self._way.add(step.forms, step.wanted)
        self._questions.append(question)
        self._outbox += question.ask(now, ask_all=not to.waiting)
        self._current = question

    def _choose(self, question: Question, located: Match) -> None:
        """Choose the match, and send the reader there.

        An Archive that may decide by the reader's address, and got only a part of it, is asked a second time first
        (E76).
        """
        archive = located.heard.archive
        note = question.notes[archive]
        if self._may_ask_again(note):
            if self._now < self._deadline:
                self._ask_again(question, archive)
                return
            note.again = AskedAgain.NO_TIME
        note.verdict = Verdict.CHOSEN
        self._outcome = redirect(self._url, self._base, self._clients, located)

    def _may_ask_again(self, note: Note) -> bool:
        """Return whether the Archive may answer differently for this particular reader."""
        return self._policy.asks_again and note.is_coarse and note.again is None and not note.is_for_all

    def _ask_again(self, question: Question, archive: ArchiveRef) -> None:
        """Ask an Archive again. Its timeout is `patience`, or twice the time of its first answer if that is longer."""
        note = question.notes[archive]
        took = 0.0 if note.answered_at is None else note.answered_at - note.asked_at
        until = min(self._deadline, self._now + max(self._policy.patience, 2 * took))
        self._outbox.append(question.ask_again(archive))
        self._confirmation = _Confirmation(question, archive, until)

    def _ask_again_in_vain(self, question: Question) -> bool:
        """Ask an Archive again that has the item, but had nothing useful for a part of the reader's address.

        The item may not be open to every reader of that network. Each Archive is asked again in this way once, whatever
        the question.
        """
        for heard in self._leads.counted(question):
            note = question.notes[heard.archive]
            is_of_use = note.hearing is not None and note.hearing.leads_anywhere
            if self._may_ask_again(note) and not is_of_use and heard.archive not in self._asked_in_vain:
                self._asked_in_vain.add(heard.archive)
                self._ask_again(question, heard.archive)
                return True
        return False

    def _take_first_answer(self) -> None:
        """Use the first answer of an Archive that does not answer the second question."""
        assert self._confirmation is not None  # it was asked
        question, archive, _ = self._confirmation
        self._confirmation = None
        question.pending.discard(archive)
        question.forget_word()
        question.notes[archive].again = AskedAgain.UNHEARD

    def _give_up(self, question: Question) -> None:
        """Leave a question, for a question that was left early, or else for the one before it."""
        self._patience.slow |= question.pending
        self._way.note_misled(question)
        tells_nothing = question.reason is Reason.BEGINNING and not question.heard and not question.silent
        if not tells_nothing and len(self._leads.hearing(question).heard) == len(self._leads.counted(question)):
            self._given_up.append(question)  # answers that do not count here came too late for the question before
        self._current = question.path[-1] if question.path else None
        if self._reopened:
            parent, self._current = self._current, self._reopened.pop()
            if parent is not None and parent not in self._path():
                self._reopened.insert(0, parent)

    def _at_deadline(self) -> Outcome:
        """Return the result so far, from the deepest question first."""
        for question in reversed(self._questions):
            hearing = self._leads.hearing(question)
            if self._url.required_original:
                if located := hearing.originals() or hearing.set_aside():
                    self._judge(question, located)
            elif lead := next((lead for lead in hearing.leads() if isinstance(lead, Match)), None):
                self._choose(question, lead)
            if self._outcome is not None:
                return self._outcome
        for question in reversed(self._path()):
            self._give_up(question)
        return self._verdict()

    def _verdict(self) -> Outcome:
        """Return the outcome if nothing was found. The path tried first gives the reason, unless it is a circle."""
        question = self._given_up[0]
        outcome = ending(question, self._leads.hearing(question), self._url.label)
        if isinstance(outcome, Deleted):
            return outcome
        for each in self._given_up:
            shown = claims_to_show(each, self._url, self._base, self._preferences, silence_of(each))
            if shown is not None:
                return shown
        self._way.note_circle(question)
        return self._way.loop or outcome
