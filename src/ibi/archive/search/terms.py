"""The text of a search taken apart: words, phrases, what is not wanted, and labels.

`"in quotes"` the words have to follow each other, `-word` and `-"a phrase"` are not wanted, and anything else is just
words. What is written in one piece, as `mtc-m18` or 日本語, is a phrase of the words it consists of. The last word may
be the beginning of one, since it may not be typed to its end yet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from itertools import islice
from typing import Final, NamedTuple

from ibi.archive.search.words import Entry, facet_value, words
from ibi.label import Label, find_labels
from ibi.model.search import Facet, FacetCount, FacetCounts

MOST_VALUES: Final = 20
"""Of each facet: the most frequent ones."""

Filters = tuple[tuple[Facet, str], ...]


def values_sought(filters: Filters) -> Filters:
    """The filters in the spelling in which values are counted."""
    return tuple((facet, facet_value(value)) for facet, value in filters)


def meets(entry: Entry | None, filters: Filters) -> bool:
    """Whether an item meets every filter; one that was deleted has no values, and meets none."""
    return all(entry is not None and sought in entry.facets for sought in values_sought(filters))


def count_facets(entries: Iterable[Entry | None]) -> FacetCounts:
    counts: dict[Facet, Counter[str]] = {facet: Counter() for facet in Facet}
    for entry in entries:
        for facet, value in () if entry is None else entry.facets:
            counts[facet][value] += 1
    return FacetCounts(*(most_frequent(counts[facet]) for facet in Facet))


def most_frequent(counts: Mapping[str, int]) -> tuple[FacetCount, ...]:
    """The most frequent values, and of equals the first in their order. Tens of thousands of names may stand here once
    each: they are compared as little as possible."""
    if not counts:
        return ()
    least = nlargest(MOST_VALUES, counts.values())[-1]
    frequent = [count for count in counts.items() if count[1] >= least]
    more = sorted((-number, value) for value, number in frequent if number > least)
    rest = nsmallest(MOST_VALUES - len(more), [value for value, number in frequent if number == least])
    return (*(FacetCount(value, -number) for number, value in more), *(FacetCount(value, least) for value in rest))


SHORTEST_BEGINNING: Final = 2
"""Letters with which a word may begin to be found by them."""
_MOST_TERMS: Final = 32
_MOST_LABELS: Final = 20
_QUOTES: Final = str.maketrans("“”„‟«»＂", '"""""""')
_PIECE = re.compile(r'((?<!\S)-)?(?:"([^"]*)"|([^\s"]+))')


class Term(NamedTuple):
    """Words that follow each other; of the last, `is_beginning` says that more letters may follow."""

    words: tuple[str, ...]
    is_beginning: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    wanted: tuple[Term, ...] = ()
    unwanted: tuple[Term, ...] = ()
    labels: tuple[Label, ...] = ()
    is_blank: bool = True
    """Whether nothing was asked for. A text without a single word is not blank, and is found nowhere."""

    @property
    def is_hopeless(self) -> bool:
        return not (self.is_blank or self.wanted or self.unwanted)

    def whole_words(self) -> Terms:
        """The same, with the last word finished."""
        return Terms(tuple(Term(term.words) for term in self.wanted), self.unwanted, self.labels, self.is_blank)

    @property
    def is_beginning(self) -> bool:
        return any(term.is_beginning for term in self.wanted)

    @property
    def as_phrase(self) -> Term:
        """All that is wanted, in the order in which it was written."""
        return Term(tuple(word for term in self.wanted for word in term.words), self.is_beginning)


def read_terms(text: str) -> Terms:
    """Never fails."""
    wanted: list[Term] = []
    unwanted: list[Term] = []
    last_is_plain = False
    for minus, quoted, plain in islice(_pieces(text), _MOST_TERMS):
        found = tuple(words(quoted or plain))
        if not found:
            continue
        (unwanted if minus else wanted).append(Term(found))
        last_is_plain = bool(plain) and not minus
    if wanted and last_is_plain and len(wanted[-1].words[-1]) >= SHORTEST_BEGINNING:
        wanted[-1] = Term(wanted[-1].words, is_beginning=True)
    labels = tuple(dict.fromkeys(found.label for found in islice(find_labels(text), _MOST_LABELS)))
    return Terms(tuple(wanted), tuple(unwanted), labels, not text.strip())


def _pieces(text: str) -> list[tuple[str, str, str]]:
    text = text.translate(_QUOTES)
    if text.count('"') % 2:  # an unclosed quote is an ordinary character
        cut = text.rindex('"')
        text = f"{text[:cut]} {text[cut + 1 :]}"
    return _PIECE.findall(text)
