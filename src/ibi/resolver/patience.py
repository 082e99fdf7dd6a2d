"""When to go on: whom to wait for, and for how long (resolution step 2, E31, E54)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ibi.messages.field import State
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.policy import Policy
from ibi.resolver.question import Question
from ibi.resolver.selection import Following, Located

__all__ = ["Patience"]


@dataclass(slots=True)
class Patience:
    """`for_everybody`: an Original is required, so nobody is left out (step 4). `slow` are no longer waited for."""

    policy: Policy
    for_everybody: bool
    slow: set[ArchiveRef] = field(default_factory=set)

    def is_settled(self, question: Question, now: float) -> bool:
        """Whether nobody is worth waiting for any more."""
        if question.waiting:
            return False
        if self.for_everybody:
            return not question.pending
        return question.pending <= self.slow or now >= question.began + self.policy.patience

    def is_hedged(self, question: Question, now: float) -> bool:
        """Whether the likely ones have had their start."""
        return now >= question.began + self.policy.hedge_delay

    def all_had_a_moment(self, question: Question, now: float) -> bool:
        """Whether everybody was asked, at least so long ago."""
        return question.all_asked is not None and now >= question.all_asked + self.policy.hedge_delay

    def may_take(self, question: Question, lead: Located | Following, now: float) -> bool:
        """Whether nothing better can be expected within the hedge delay."""
        if self.is_settled(question, now):
            return True
        if question.wanted.relation.begins_with_last_edition:
            if question.holder_heard is not None or question.awaits_holder:
                return question.holder_heard is not None
            return self.all_had_a_moment(question, now)
        if isinstance(lead, Located) and (lead.entry.state is State.ORIGINAL or lead.heard == question.holder_heard):
            return True
        return not question.pending or self.is_hedged(question, now)

    def times(self, question: Question) -> Iterator[float]:
        """When one of the above changes by itself."""
        yield question.began + self.policy.hedge_delay
        yield question.began + self.policy.patience
        if question.all_asked is not None:
            yield question.all_asked + self.policy.hedge_delay
