"""The sought words of a search, marked in the texts that its results show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from ibi.items.rules.search import word_spans, words
from ibi.items.rules.search_terms import SearchField, Term, Terms

_LONGEST: Final = 4_000
"""Characters of a text that are searched for marks."""
_MOST_SCANNED: Final = 2 << 20
"""Characters of the texts of all items of a list."""
_MOST_PARTS: Final = 128
"""Parts of `_LONGEST` characters in the texts of one item."""
_CLOSE_LOOK: Final = 8 * _LONGEST
"""Cost of marking the words of a part, beyond the cost of checking whether it may have any."""
_BEFORE: Final = 80
"""Most characters of a line before the first marked word."""
LINE: Final = 240
"""Characters of a line."""


class MarkedText(NamedTuple):
    """A piece of a text, and whether it is a marked word. It is not escaped: the page that shows it does that."""

    text: str
    is_sought: bool = False


def highlight(text: str, terms: Terms, field: SearchField | None = None) -> tuple[MarkedText, ...]:
    """Return the text in pieces, with the sought words marked: those of any field and those of `field`."""
    return tuple(_mark_pieces(text, 0, len(text), _marks(text[:_LONGEST], terms, field)))


def summary_line(text: str, terms: Terms, longest: int = LINE) -> tuple[MarkedText, ...]:
    """Return one line of a longer text: around the first sought word, or else its beginning."""
    text = " ".join(text[:_LONGEST].split())
    marks = _marks(text, terms, None)
    first = max(marks[0][0] - _BEFORE, 0) if marks and marks[0][1] > longest else 0
    if first:
        first = text.find(" ", first, marks[0][0]) + 1 or first
    last = min(first + longest, len(text))
    if last < len(text):
        cut = text.rfind(" ", first, last)
        last = cut if cut > first else last
    pieces = tuple(_mark_pieces(text, first, last, marks))
    before = (MarkedText("… "),) if first else ()
    return (*before, *pieces, *((MarkedText(" …"),) if last < len(text) else ()))


class ScanBudget:
    """The characters that may be searched for one list of items, so that items with much text do not slow the
    request."""

    def __init__(self, most: int = _MOST_SCANNED) -> None:
        self._left = most

    def spend(self, number: int) -> bool:
        """Spend `number` characters. Return whether any budget was left before."""
        self._left -= number
        return self._left + number > 0


def line_of_text(texts: Iterable[str], terms: Terms, budget: ScanBudget) -> tuple[MarkedText, ...]:
    """Return the first line of an item's texts that contains a sought word. Only the beginning of a very long text is
    searched, and nothing once the budget is spent."""
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
    """Yield the start of each part, and the part."""
    for text in texts:
        for start in range(0, len(text), _LONGEST - _BEFORE):
            yield start, text[start : start + _LONGEST]


def _mark_pieces(text: str, first: int, last: int, marks: list[tuple[int, int]]) -> Iterator[MarkedText]:
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
    """Return the places of sought words, in order. The words of one phrase form one place."""
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
    """Return the single words that may be incomplete, and all other terms by their first word."""
    beginnings: list[str] = []
    others: dict[str, list[Term]] = {}
    for term in dict.fromkeys(sought):
        if term.is_beginning and len(term.words) == 1:
            beginnings.append(term.words[0])
        else:
            others.setdefault(term.words[0], []).append(term)
    return tuple(beginnings), others


def _may_have(text: str, sought: list[Term]) -> bool:
    """Return whether the text may contain one of the terms. This quick test excludes most texts."""
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
    """Yield marks that do not overlap."""
    until = 0
    for start, end in marks:
        if end > until:
            yield max(start, until), end
            until = end
