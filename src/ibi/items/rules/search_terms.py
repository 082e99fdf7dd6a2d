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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

from ibi.items.model.search import YearSpan
from ibi.items.rules.search import FIELDS, Entry, words, year_within
from ibi.standard.label import Label, find_labels

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
