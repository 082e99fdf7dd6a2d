"""What has been asked already, so that nothing is asked twice (resolution step 3, E23)."""

from __future__ import annotations

from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.resolver.language import Wanted

__all__ = ["Visited"]


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
