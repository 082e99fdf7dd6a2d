"""The choice of the lead that a resolution takes or follows next, among the answers that count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibi.membership.rules.authority import Word
from ibi.resolver.rules.answers import AnswerSet, Match, Reason, ReceivedAnswer, Referral
from ibi.resolver.rules.claims import answers_that_count, trusted_elsewhere
from ibi.resolver.rules.policy import Policy, SearchPath
from ibi.resolver.rules.question import Question
from ibi.standard.language_choice import Preference
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.vocabulary import State


class LeadChoice:
    """Reads the answers to the questions of one resolution, and selects leads among them. It changes nothing."""

    def __init__(self, url: PersistentUrl, preferences: Sequence[Preference], policy: Policy, way: SearchPath) -> None:
        self._url, self._preferences, self._policy, self._way = url, preferences, policy, way

    def hearing(self, question: Question) -> AnswerSet:
        """Return all valid answers to a question that count."""
        heard = self.counted(question)
        if question.whole.reason is Reason.NO_NEXT_EDITION:
            # An Archive that was silent when the last edition was asked for may know a later one than it says here.
            heard = tuple(each for each in heard if not question.whole.path[-1].may_know_more(each.archive))
        holder = heard[0] if heard and question.word is Word.GIVEN else question.holder_heard
        return AnswerSet(question.wanted, heard, self._preferences, holder, self._way.misled)

    def counted(self, question: Question) -> tuple[ReceivedAnswer, ...]:
        return answers_that_count(question, follow_unproven=self._policy.follow_unproven)

    def first(self, question: Question) -> Match | Referral | None:
        if not question.heard:
            return None
        for lead in self.hearing(question).leads():
            if isinstance(lead, Match) or self._way.may_follow(lead, question):
                return lead
        return None

    def first_pointer(self, question: Question) -> Referral | None:
        pointers = self.hearing(question).pointers()
        return next((pointer for pointer in pointers if self._way.may_follow(pointer, question)), None)

    def from_others(self, question: Question) -> Match | Referral | None:
        heard = trusted_elsewhere(question, follow_unproven=self._policy.follow_unproven)
        hearing = AnswerSet(question.wanted, heard, self._preferences, None, self._way.misled)
        for lead in hearing.leads():
            if isinstance(lead, Referral):
                if self._way.may_follow(lead, question):
                    return lead
            elif not self._url.required_original or lead.entry.state is State.ORIGINAL:
                return lead
        return None

    def last_resort(self, question: Question, asked: Iterable[Question]) -> Referral | None:
        """Return the next question about the item itself; None if there is none. `asked` are all questions so far.

        If a beginning of the relation led on, the languages were chosen on that way. If it named a later edition, there
        is one.
        """
        beginnings = (each for each in asked if each.reason is Reason.BEGINNING and each.whole is question)
        of_beginnings = [self.hearing(each) for each in beginnings]
        led_on = any(isinstance(hearing.best, Referral) for hearing in of_beginnings)
        in_vain = {Reason.BEGINNING, Reason.ANY_LANGUAGE, Reason.NO_TRANSLATION} if led_on else set()
        if any(hearing.has_next_edition for hearing in of_beginnings):
            in_vain.add(Reason.NO_NEXT_EDITION)
        for resort in self.hearing(question).last_resorts(question.forms):
            if resort.reason not in in_vain and self._way.may_follow(resort, question):
                return resort
        return None

    def leads_elsewhere(self, earlier: Question, question: Question) -> bool:
        """Return whether the first lead of an earlier question is worth turning back for."""
        misled = 0 if question.pointed_by is None else self._way.misled.get(question.pointed_by, 0)
        for lead in self.hearing(earlier).first_leads():
            if isinstance(lead, Referral):
                if self._way.may_follow(lead, earlier):
                    return lead.heard is not None and self._way.misled.get(lead.heard.archive, 0) <= misled
            elif not self._url.required_original:
                # A Copy was there all the time. It was not taken because more may come.
                return lead.entry.state is State.ORIGINAL
        return False
