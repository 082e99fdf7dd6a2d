"""Where a resolution has been: what need not be asked again, what is a circle, and who leads nowhere (E23, E54)."""

from __future__ import annotations

from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.language import Wanted
from ibi.resolver.lead import Following, Reason
from ibi.resolver.outcome import LoopDetected
from ibi.resolver.policy import Policy
from ibi.resolver.question import Question
from ibi.resolver.visited import Visited

__all__ = ["Way"]


class Way:
    """Of one resolution, of `given`. `misled` counts how often an Archive pointed to what led nowhere."""

    def __init__(self, given: Label, policy: Policy) -> None:
        self._given, self._policy = given, policy
        self._visited = Visited()
        self._asked = 0
        self.misled: dict[ArchiveRef, int] = {}
        self.loop: LoopDetected | None = None

    def link(self, forms: LabelForms) -> None:
        """An answer says that these name one item."""
        self._visited.link(forms)

    def add(self, forms: LabelForms, wanted: Wanted) -> None:
        """It has been asked for."""
        self._visited.add(forms, wanted)
        self._asked += 1

    def may_follow(self, step: Following, question: Question) -> bool:
        """Whether it leads to something new, not too far. A way back to where it came from is a loop (E23)."""
        if self._visited.has(step.forms, step.wanted):
            if step.reason is Reason.NEXT_EDITION and self._is_on_the_way(step, question):
                self._note_loop(question, step)
            return False
        if len(question.path) + 1 < self._policy.most_hops and self._asked < self._policy.most_questions:
            return True
        if step.reason is Reason.NEXT_EDITION:
            self._note_loop(question, step)
        return False

    def note_misled(self, question: Question) -> None:
        """Whoever led to this question led nowhere, or too far."""
        if question.pointed_by is not None:
            self.misled[question.pointed_by] = self.misled.get(question.pointed_by, 0) + 1

    def note_circle(self, question: Question) -> None:
        """Everybody says that the item is its own next edition; nobody was silent, or says that it was deleted."""
        if question.deletions or question.silent or not question.heard:
            return
        if all(heard.succeeds_itself for heard in question.heard):
            self.loop = self.loop or LoopDetected(self._given, (question.label, question.label))

    def _is_on_the_way(self, step: Following, question: Question) -> bool:
        way = (*question.path, question)
        return any(each.wanted == step.wanted and self._visited.are_one(each.forms, step.forms) for each in way)

    def _note_loop(self, question: Question, step: Following) -> None:
        way = (*(each.label for each in (*question.path, question)), step.forms.labels[0])
        self.loop = self.loop or LoopDetected(self._given, way)
