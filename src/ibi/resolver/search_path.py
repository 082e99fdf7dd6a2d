"""Where a resolution has been: questions that must not be asked again, circles, and Archives that led nowhere."""

from __future__ import annotations

from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.resolver.answers import Reason, Referral
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.language import Wanted
from ibi.resolver.outcome import LoopDetected
from ibi.resolver.question import Question
from ibi.resolver.wait_policy import Policy


class Visited:
    """Items and what was wanted of them. Both forms of a label are one item once an answer links them."""

    __slots__ = ("_asked", "_same")

    def __init__(self) -> None:
        self._same: dict[Label, Label] = {}
        self._asked: list[tuple[Label, Wanted]] = []

    def link(self, forms: LabelForms) -> None:
        """Learn that these labels name one item."""
        if len(forms.labels) == 1:  # as in most answers
            return
        first, *others = map(self._root, forms.labels)
        self._same.update((other, first) for other in others if other != first)

    def add(self, forms: LabelForms, wanted: Wanted) -> None:
        self.link(forms)
        self._asked.append((forms.labels[0], wanted))

    def has(self, forms: LabelForms, wanted: Wanted) -> bool:
        roots = {self._root(label) for label in forms.labels}
        return any(asked == wanted and self._root(label) in roots for label, asked in self._asked)

    def are_one(self, one: LabelForms, other: LabelForms) -> bool:
        return not {*map(self._root, one.labels)}.isdisjoint(map(self._root, other.labels))

    def _root(self, label: Label) -> Label:
        while label in self._same:
            label = self._same[label]
        return label


class SearchPath:
    """The path of one resolution, of `given`. `misled` counts how often an Archive pointed to what led nowhere."""

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

    def may_follow(self, step: Referral, question: Question) -> bool:
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
        """The Archive that led to this question led nowhere, or too far."""
        if question.pointed_by is not None:
            self.misled[question.pointed_by] = self.misled.get(question.pointed_by, 0) + 1

    def note_circle(self, question: Question) -> None:
        """All answers name the item as its own next edition; none is missing, and none says that it was deleted."""
        if question.deletions or question.silent or not question.heard:
            return
        if all(heard.succeeds_itself for heard in question.heard):
            self.loop = self.loop or LoopDetected(self._given, (question.label, question.label))

    def _is_on_the_way(self, step: Referral, question: Question) -> bool:
        way = (*question.path, question)
        return any(each.wanted == step.wanted and self._visited.are_one(each.forms, step.forms) for each in way)

    def _note_loop(self, question: Question, step: Referral) -> None:
        way = (*(each.label for each in (*question.path, question)), step.forms.labels[0])
        self.loop = self.loop or LoopDetected(self._given, way)
