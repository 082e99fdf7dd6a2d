"""What a list shows of an item that was found: the words that were sought, marked, and a line of its summary around
them.

The texts are those of the record, and the marks are values: the page that shows them escapes each piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from ibi.archive.search import word_spans, words
from ibi.archive.search_terms import SearchField, Term, Terms

_LONGEST: Final = 4_000
"""Characters of a text that are looked at."""
_MOST_SCANNED: Final = 2 << 20
"""Characters of the texts of all items of a list."""
_MOST_PARTS: Final = 128
"""Parts of so many characters of the texts of one item."""
_CLOSE_LOOK: Final = 8 * _LONGEST
"""What it costs to look for marks in a part, beside what it costs to see whether there may be any."""
_BEFORE: Final = 80
"""Characters that a line has before the first word that was sought, at most."""
LINE: Final = 240
"""Characters of a line."""


class MarkedText(NamedTuple):
    """A piece of a text, and whether it is what was sought."""

    text: str
    is_sought: bool = False


def highlight(text: str, terms: Terms, field: SearchField | None = None) -> tuple[MarkedText, ...]:
    """The text in pieces, with the words marked that were sought there: those that may stand anywhere, and those of the
    field that it is."""
    return tuple(_pieces(text, 0, len(text), _marks(text[:_LONGEST], terms, field)))


def summary_line(text: str, terms: Terms, longest: int = LINE) -> tuple[MarkedText, ...]:
    """One line of a longer text: around the first word that was sought, or else its beginning."""
    text = " ".join(text[:_LONGEST].split())
    marks = _marks(text, terms, None)
    first = max(marks[0][0] - _BEFORE, 0) if marks and marks[0][1] > longest else 0
    if first:
        first = text.find(" ", first, marks[0][0]) + 1 or first
    last = min(first + longest, len(text))
    if last < len(text):
        cut = text.rfind(" ", first, last)
        last = cut if cut > first else last
    pieces = tuple(_pieces(text, first, last, marks))
    before = (MarkedText("… "),) if first else ()
    return (*before, *pieces, *((MarkedText(" …"),) if last < len(text) else ()))


class ScanBudget:
    """Characters that may be looked at for one list of items: a request takes no more time because its items have much
    text."""

    def __init__(self, most: int = _MOST_SCANNED) -> None:
        self._left = most

    def spend(self, number: int) -> bool:
        """Whether there was anything left before these."""
        self._left -= number
        return self._left + number > 0


def line_of_text(texts: Iterable[str], terms: Terms, budget: ScanBudget) -> tuple[MarkedText, ...]:
    """One line of the texts of an item: the first in which something stands that was sought. Of very long ones the
    beginning is looked at, and nothing where the budget is spent."""
    sought = [term for term in terms.wanted_terms if term.field is None]
    for start, part in islice(_parts(texts), _MOST_PARTS):
        if not budget.spend(len(part)):
            break
        if not _may_have(part, sought):
            continue
        budget.spend(_CLOSE_LOOK)
        line = summary_line(part, terms)
        if any(piece.is_sought for piece in line):
            return (MarkedText("… "), *line) if start and not line[0].text.startswith("…") else line
    return ()


def _parts(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Where each part begins, and the part."""
    for text in texts:
        for start in range(0, len(text), _LONGEST - _BEFORE):
            yield start, text[start : start + _LONGEST]


def _pieces(text: str, first: int, last: int, marks: list[tuple[int, int]]) -> Iterator[MarkedText]:
    for start, end in marks:
        if start < first or end > last:
            continue
        if start > first:
            yield MarkedText(text[first:start])
        yield MarkedText(text[start:end], is_sought=True)
        first = end
    if first < last:
        yield MarkedText(text[first:last])


def _marks(text: str, terms: Terms, field: SearchField | None) -> list[tuple[int, int]]:
    """Where something stands that was sought, in order, neighbours of one phrase as one."""
    sought = [term for term in terms.wanted_terms if term.field is None or term.field is field]
    if not sought or not _may_have(text, sought):
        return []
    found = [(start, end, word) for start, end in word_spans(text) for word in words(text[start:end])[:1]]
    beginning, by_first_word = _by_first_word(sought)
    marks: dict[int, int] = {}
    for index, (start, end, word) in enumerate(found):
        if word.startswith(beginning):
            marks[start] = end
        for term in by_first_word.get(word, ()):
            if _is_at(found, index, term):
                marks[start] = max(found[index + len(term.words) - 1][1], marks.get(start, 0))
    return list(_apart(sorted(marks.items())))


def _by_first_word(sought: list[Term]) -> tuple[tuple[str, ...], dict[str, list[Term]]]:
    """The beginnings of words that are enough by themselves, and all other terms by the word that has to be there."""
    beginnings: list[str] = []
    others: dict[str, list[Term]] = {}
    for term in dict.fromkeys(sought):
        if term.is_beginning and len(term.words) == 1:
            beginnings.append(term.words[0])
        else:
            others.setdefault(term.words[0], []).append(term)
    return tuple(beginnings), others


def _may_have(text: str, sought: list[Term]) -> bool:
    """Most texts have none of the terms: this is quickly seen."""
    known = f" {' '.join(words(text))} "
    return any(f" {' '.join(term.words)}{'' if term.is_beginning else ' '}" in known for term in sought)


def _is_at(found: list[tuple[int, int, str]], index: int, term: Term) -> bool:
    *others, last = term.words
    if index + len(others) >= len(found):
        return False
    if any(found[index + step][2] != word for step, word in enumerate(others)):
        return False
    word = found[index + len(others)][2]
    return word.startswith(last) if term.is_beginning else word == last


def _apart(marks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Marks that do not overlap."""
    until = 0
    for start, end in marks:
        if end > until:
            yield max(start, until), end
            until = end
