"""The text of a search, parsed into words, phrases, fields, alternatives, exclusions and labels.

- Words `"in quotes"` must follow each other.
- `-word` and `-"a phrase"` are excluded.
- `one OR other` finds either, and binds more closely than the space between two words.
- `creator:`, `title:`, `subject:` and `type:` before a word or a phrase restrict it to that field.
- `year:2001..2010` restricts the year of the work.

All other text is plain words, and so is malformed syntax: no text is refused. A text without spaces, such as `mtc-m18`
or 日本語, is a phrase of its words. The last word may be incomplete, since the user may still be typing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

from ibi.archive.search import FIELDS, Entry, word_spans, words, year_within
from ibi.label import Label, find_labels
from ibi.model.search import YearSpan

SHORTEST_BEGINNING: Final = 2
"""Letters that the beginning of a word needs to be searched."""
_MOST_TERMS: Final = 32
_MOST_LABELS: Final = 20
_QUOTES: Final = str.maketrans("“”„‟«»＂", '"""""""')


class SearchField(Enum):
    """The field in which a word must stand."""

    TITLE = "title"
    CREATOR = "creator"
    """Creators and contributors."""
    SUBJECT = "subject"
    TYPE = "type"


_YEAR: Final = ("year", "ano", "año")
_NAMES: Final = {
    SearchField.TITLE: ("title", "título", "titulo"),
    SearchField.CREATOR: ("creator", "author", "autor"),
    SearchField.SUBJECT: ("subject", "assunto", "tema", "materia"),
    SearchField.TYPE: ("type", "tipo"),
}
"""The names of the fields in the languages of the pages."""
_FIELDS: Final = {name: field for field, names in _NAMES.items() for name in names}
_PIECE: Final = re.compile(
    r"(?P<minus>(?<!\S)-)?"
    rf"(?:(?P<field>{'|'.join((*_FIELDS, *_YEAR))}): ?)?"
    r'(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))',
    re.IGNORECASE,
)
_OR: Final = "OR"


class Term(NamedTuple):
    """Words that follow each other. If `is_beginning`, the last one may be incomplete."""

    words: tuple[str, ...]
    is_beginning: bool = False
    field: SearchField | None = None


Clause = Term | YearSpan
Group = tuple[Clause, ...]
"""Alternatives: one of them is enough."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The parsed search. Each of the `wanted` groups must be met, and none of the `unwanted` clauses."""

    wanted: tuple[Group, ...] = ()
    unwanted: tuple[Clause, ...] = ()
    labels: tuple[Label, ...] = ()
    is_blank: bool = True
    """True if the text is empty. A text without a single word is not blank, and finds nothing."""

    @property
    def is_hopeless(self) -> bool:
        return not (self.is_blank or self.wanted or self.unwanted)

    def whole_words(self) -> Terms:
        """Return the same terms with the last word complete."""
        return replace(self, wanted=tuple(tuple(map(_finish, group)) for group in self.wanted))

    @property
    def wanted_terms(self) -> Iterator[Term]:
        return (clause for group in self.wanted for clause in group if isinstance(clause, Term))

    @property
    def is_beginning(self) -> bool:
        return any(term.is_beginning for term in self.wanted_terms)

    @property
    def has_words(self) -> bool:
        return any(True for _ in self.wanted_terms)

    @property
    def as_phrase(self) -> Term | None:
        """The words that a title may have, in the order of the text. None if the text has alternatives for a title."""
        found: list[Term] = []
        for group in self.wanted:
            titles = [each for each in group if isinstance(each, Term) and each.field in {None, SearchField.TITLE}]
            if titles and len(group) > 1:
                return None
            found += titles
        if not found:
            return None
        return Term(tuple(word for term in found for word in term.words), found[-1].is_beginning)


def _finish(clause: Clause) -> Clause:
    return clause._replace(is_beginning=False) if isinstance(clause, Term) else clause


class _Piece(NamedTuple):
    clause: Clause | None
    """None if the piece has no word."""
    is_unwanted: bool
    is_open: bool
    """True if it may still be incomplete."""
    is_or: bool


_PLACES: Final = {
    SearchField.TITLE: ("title",),
    SearchField.CREATOR: ("names",),
    SearchField.SUBJECT: ("subject",),
    SearchField.TYPE: ("kinds",),
}


def is_met(entry: Entry, clause: Clause, fields: tuple[str, ...] = FIELDS) -> bool:
    """Return whether the description of an item meets the clause. A term without a field may stand in any of
    `fields`."""
    if isinstance(clause, YearSpan):
        return year_within(entry, clause)
    sought = " ".join(("", *clause.words)) + ("" if clause.is_beginning else " ")
    places = fields if clause.field is None else _PLACES[clause.field]
    return any(sought in f" {getattr(entry, place)} " for place in places)


def are_fields_met(entry: Entry, terms: Terms) -> bool:
    """Return whether an item meets the conditions on fields and years, regardless of its other words."""

    def is_of_field(clause: Clause) -> bool:
        return isinstance(clause, YearSpan) or clause.field is not None

    bound = (group for group in terms.wanted if any(map(is_of_field, group)))
    unwanted = (clause for clause in terms.unwanted if is_of_field(clause))
    return all(any(is_met(entry, clause) for clause in group) for group in bound) and not any(
        is_met(entry, clause) for clause in unwanted
    )


def read_terms(text: str) -> Terms:
    """Return the parsed search. It never fails."""
    wanted: list[Group] = []
    unwanted: list[Clause] = []
    last_is_open = joins = False
    pieces = list(islice(_pieces(text), _MOST_TERMS))
    for index, piece in enumerate(pieces):
        if piece.is_or and _may_join(pieces, index):
            joins = True
            continue
        if piece.clause is None:
            continue
        if piece.is_unwanted:
            unwanted.append(piece.clause)
        elif joins:
            wanted[-1] = (*wanted[-1], piece.clause)
        else:
            wanted.append((piece.clause,))
        last_is_open, joins = piece.is_open and not piece.is_unwanted, False
    if wanted and last_is_open:
        wanted[-1] = (*wanted[-1][:-1], _open(wanted[-1][-1]))
    labels = tuple(dict.fromkeys(found.label for found in islice(find_labels(text), _MOST_LABELS)))
    return Terms(tuple(wanted), tuple(unwanted), labels, not text.strip())


def _may_join(pieces: list[_Piece], index: int) -> bool:
    """Return whether both neighbours of an OR are wanted. Otherwise the OR is a word."""
    around = pieces[max(index - 1, 0) : index + 2]
    return len(around) == 3 and all(
        each.clause is not None and not each.is_unwanted and not (each.is_or and each is not pieces[index])
        for each in around
    )


def _open(clause: Clause) -> Clause:
    is_word = isinstance(clause, Term) and len(clause.words[-1]) >= SHORTEST_BEGINNING
    return clause._replace(is_beginning=True) if isinstance(clause, Term) and is_word else clause


def _pieces(text: str) -> Iterator[_Piece]:
    text = text.translate(_QUOTES)
    if text.count('"') % 2:  # an unclosed quote is an ordinary character
        cut = text.rindex('"')
        text = f"{text[:cut]} {text[cut + 1 :]}"
    for match in _PIECE.finditer(text):
        clause = _clause(match)
        is_or = match[0] == _OR
        yield _Piece(clause, match["minus"] is not None, match["plain"] is not None and match["quoted"] is None, is_or)


def _clause(match: re.Match[str]) -> Clause | None:
    said = match["quoted"] if match["plain"] is None else match["plain"]
    name = None if match["field"] is None else match["field"].lower()
    if name in _YEAR:
        span = YearSpan.parse(said)
        if span is not None:
            return span
        said = f"{name} {said}"
    found = tuple(words(said))
    if name is not None and name not in _YEAR:
        if found:
            return Term(found, field=_FIELDS[name])
        found = tuple(words(name))  # a field without a value is a word
    return Term(found) if found else None


# --- highlighting -----------------------------------------------------------------------------------------------------


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
