"""When to go on: whom to wait for, and for how long (resolution step 2, E31, E54)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ibi.resolver.answers import Match, Referral
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.authority import Word
from ibi.resolver.question import Question
from ibi.resolver.validity import OF_THE_WHOLE, RULES, Rule
from ibi.vocabulary import State


@dataclass(frozen=True, slots=True)
class Policy:
    """Times are in seconds."""

    hedge_delay: float = 0.2
    """How long likely Archives are ahead of all others, and better answers may still outrank the first (R §8.2)."""
    patience: float = 1.0
    """How long one question waits for Archives that stay silent before the resolution goes on without them."""
    budget: float = 5.0
    """When the resolution ends with what it has."""
    most_hops: int = 16
    """Hops of one path from the item asked for (E23)."""
    fair_after: int = 3
    """How many hops one path may be ahead of the other pointers that were given on the way."""
    most_questions: int = 48
    """Questions of all paths together: each is a request to every Archive."""
    latest_date: int = 300
    """How many seconds a label may be dated later than now: of a later one only the home is asked (E70)."""
    follow_unproven: bool = False
    """Whether claims are followed that only the silent home of a label could prove (E67)."""
    rules: tuple[Rule, ...] = RULES
    url_rules: tuple[Rule, ...] = field(init=False)
    """Those of them that are left for the URLs of an answer that keeps the others."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url_rules", tuple(rule for rule in self.rules if rule not in OF_THE_WHOLE))


@dataclass(slots=True)
class WaitPolicy:
    """`for_all`: an Original is required, so all Archives are waited for (step 4). `slow` ones had their time."""

    policy: Policy
    for_all: bool
    slow: set[ArchiveRef] = field(default_factory=set)

    def is_settled(self, question: Question, now: float) -> bool:
        """Whether no Archive is worth waiting for any more."""
        if question.waiting:
            return False
        if self.for_all:
            return not question.pending
        return question.pending <= self.slow or now >= self._others_since(question) + self.policy.patience

    def _others_since(self, question: Question) -> float:
        """Others are asked late where a home was waited for: they have the same time, counted from then."""
        if question.word is Word.NO_HOME or question.all_asked is None:
            return question.began
        return question.all_asked

    def is_home_given_up(self, question: Question, now: float) -> bool:
        """Whether those who decide had their time, so that those may be followed who are trusted without them. A
        successor has as much from when it was asked: a slow home may have named it late."""
        return now >= question.deciders_asked + self.policy.patience

    def is_hedged(self, question: Question, now: float) -> bool:
        """Whether the likely ones have had their start."""
        return now >= question.began + self.policy.hedge_delay

    def all_had_a_moment(self, question: Question, now: float) -> bool:
        """Whether all Archives were asked, at least the hedge delay ago."""
        return question.all_asked is not None and now >= question.all_asked + self.policy.hedge_delay

    def may_count(self, question: Question, now: float) -> bool:
        """Whether all Archives have answered, or had the time for it, so that pointers may be followed. One that took
        too long is not waited for again."""
        if now >= question.began + self.policy.patience:
            self.slow |= question.pending
        return question.pending <= self.slow

    def may_take(self, question: Question, lead: Match | Referral, now: float) -> bool:
        """Whether nothing better can be expected within the hedge delay."""
        word = question.word
        if word is Word.GIVEN:
            return self.is_home_heard(question, now)
        if word is Word.AWAITED and not self.is_home_given_up(question, now):
            return False
        if word is Word.NOT_HERE:
            return self.is_settled(question, now)
        if self.is_settled(question, now):
            return True
        if question.wanted.needs_holder:
            if question.holder_heard is not None or question.awaits_holder:
                return question.holder_heard is not None
            return self.all_had_a_moment(question, now)
        return self._is_best(question, lead) or self.all_had_a_moment(question, now)

    def is_home_heard(self, question: Question, now: float) -> bool:
        """Whether those who decide may be taken at their word: a home beside them has a moment to contradict."""
        return not question.awaits_a_home or self.is_hedged(question, now)

    def _is_best(self, question: Question, lead: Match | Referral) -> bool:
        """Whether no Archive that is still expected, or was not asked yet, could outrank it: neither the holder nor, if
        it is an Original, one registered longer. Those asked first may be newcomers."""
        if lead.heard is not None and lead.heard == question.holder_heard:
            return True
        if not isinstance(lead, Match) or lead.entry.state is not State.ORIGINAL or question.awaits_holder:
            return False
        since = lead.heard.archive.registered
        return not any(archive.registered < since for archive in (*question.pending, *question.waiting))

    def times(self, question: Question) -> Iterator[float]:
        """When one of the above changes by itself."""
        yield question.began + self.policy.hedge_delay
        yield question.began + self.policy.patience
        yield question.deciders_asked + self.policy.patience
        if question.all_asked is not None:
            yield question.all_asked + self.policy.hedge_delay
            yield question.all_asked + self.policy.patience
