"""The forms of one item's IBI as messages give them: `rep <name>`, `ibip <label>`, or both (R Table 9.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from ibi.errors import InvalidLabel, InvalidMessage
from ibi.label import Ibip, Label, LegacyLabel, RepositoryName
from ibi.label.label import read_ibip, read_legacy, read_repository_name

_FORMS: Final = frozenset({"rep", "ibip"})
_FORM_WORDS: Final = {"rep": "rep", "ibip": "ibip", "legacy": "ibip"}
_MOST_REMEMBERED: Final = 2048
_LONGEST_REMEMBERED: Final = 512
"""Characters: longer texts are read anew, so that long labels cannot fill the memory."""


@dataclass(frozen=True, slots=True)
class LabelForms:
    """One or both labels of an item. Both were made at the same instant (G §5), or they do not name one item."""

    rep: RepositoryName | None = None
    ibip: Ibip | None = None
    legacy: LegacyLabel | None = None
    """The label of before 2008, where one is asked for, or an Archive gives it in the place of an IBIp (E72)."""
    labels: tuple[Label, ...] = field(init=False, repr=False, compare=False)
    """The labels that are known, the repository name first."""

    def __post_init__(self) -> None:
        rep, ibip = self.rep, self.ibip
        if rep is not None and ibip is None and self.legacy is None:  # as most
            object.__setattr__(self, "labels", (rep,))
            return
        labels = tuple(label for label in (rep, ibip, self.legacy) if label is not None)
        if not labels:
            raise InvalidMessage("", 0, "an item has at least one label")
        object.__setattr__(self, "labels", labels)
        if rep is not None and ibip is not None and rep.instant != ibip.instant:
            raise InvalidMessage(str(self), 0, "the two labels were made at different times and cannot name one item")

    # R Table 9.4: formas-de-ibi = forma-rep | forma-ibip | forma-rep " " forma-ibip
    #              forma-rep = "rep " repositório
    #              forma-ibip = "ibip " IBIp
    @classmethod
    def from_words(cls, words: Iterable[str]) -> LabelForms:
        """Read `rep`, a repository name, `ibip`, an IBIp; either half may be missing, and they may change places."""
        words = tuple(words)
        # An Archive names itself and its software in every answer, and many speak of the same item.
        is_short = len(words) <= 4 and sum(map(len, words)) <= _LONGEST_REMEMBERED
        return _read_remembered(words) if is_short else _read_forms(words)

    @classmethod
    def from_fitting_words(cls, words: Iterable[str], preferred: Label | None = None) -> LabelForms:
        """Read what another platform wrote, without the form that does not fit (E49); `InvalidMessage` if none does.

        Of two labels that were made at different times one does not: the `preferred` one is kept, or else the name.
        """
        words = tuple(words)
        try:
            return cls.from_words(words)
        except InvalidMessage:
            found = _read_each_form(words)
            if len(found) == 2 and found[1].is_dated:
                found = [label for label in found if label == preferred] or found[:1]
            if not found:
                raise
            return cls.of(*found)

    @classmethod
    def parse(cls, text: str) -> LabelForms:
        """The same from one text, as an acknowledgment has it."""
        return cls.from_words(word for word in text.split(" ") if word)

    @classmethod
    def of(cls, *labels: Label) -> LabelForms:
        """The forms that consist of these labels, at most one of each form."""
        first = labels[0] if len(labels) == 1 else None
        if isinstance(first, RepositoryName):
            return cls(rep=first)
        if isinstance(first, Ibip):
            return cls(ibip=first)
        legacy = next((label for label in labels if isinstance(label, LegacyLabel)), None)
        if legacy is not None:
            rep = next((label for label in labels if isinstance(label, RepositoryName)), None)
            ibip = next((label for label in labels if isinstance(label, Ibip)), None)
            return cls(rep, ibip, legacy)
        return cls.from_words(word for label in labels for word in (label.form, label.spelling))

    @property
    def words(self) -> tuple[str, ...]:
        """The words between the braces of a pair's value."""
        return tuple(word for label in self.labels for word in (_FORM_WORDS[label.form], label.spelling))

    def may_name(self, label: Label) -> bool:
        """Whether `label` can be this item's: it is here, or of the form not given and the same instant (E29). One of
        before 2008 can be any item's of which no other is known (E72)."""
        if not label.is_dated:
            return self.legacy is None or self.legacy == label
        known = self.rep if label.form == "rep" else self.ibip
        if known is not None:
            return label == known
        dated = self.labels[0]
        return not dated.is_dated or label.instant == dated.instant

    def __str__(self) -> str:
        return " ".join(self.words)


def _read_forms(words: tuple[str, ...]) -> LabelForms:
    labels = {form.lower(): label for form, label in zip(words[::2], words[1::2], strict=False)}
    if not words or len(words) != 2 * len(labels) or not labels.keys() <= _FORMS:
        raise InvalidMessage(
            " ".join(words), 0, "the forms of an IBI are given as rep and a name, ibip and a label, or both"
        )
    try:
        rep = RepositoryName.parse(labels["rep"]) if "rep" in labels else None
        ibip = Ibip.parse(labels["ibip"]) if "ibip" in labels else None
    except InvalidLabel as error:
        text = " ".join(words)
        offset = max(text.find(error.text), 0) + error.offset
        raise InvalidMessage(text, offset, error.reason, **error.details) from error
    return LabelForms(rep, ibip)


def _read_each_form(words: tuple[str, ...]) -> list[Label]:
    """The labels that can be read, the repository name first; of a form that is there twice none."""
    if len(words) == 1:  # without the name of its form
        words = ("rep" if "." in words[0] else "ibip", *words)
    given: dict[str, list[str]] = {}
    for form, text in zip(words[::2], words[1::2], strict=False):
        given.setdefault(form.lower(), []).append(text)
    readers: tuple[tuple[str, Callable[[str], Label | None]], ...] = (
        ("rep", read_repository_name),
        ("ibip", lambda text: read_ibip(text) or read_legacy(text)),
    )
    found = (reader(given[form][0]) for form, reader in readers if len(given.get(form, ())) == 1)
    return [label for label in found if label is not None]


# By the very words: labels that are equal may be spelled differently, and go out as they came in.
_read_remembered = lru_cache(maxsize=_MOST_REMEMBERED)(_read_forms)
