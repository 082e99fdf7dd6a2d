"""Corrections for a search with a word that occurs nowhere: similar words.

The work is limited: a word has at most forty letters, and only the first few words of a text are corrected.
"""

from __future__ import annotations

from itertools import islice
from string import ascii_lowercase
from typing import Final, Protocol

from ibi.items.rules.search import word_spans, words
from ibi.items.rules.search_terms import read_terms

_SHORTEST: Final = 4
"""Letters that a word needs to be corrected: shorter words are similar to too many others."""
_MOST_CORRECTED: Final = 4
_ALPHABETS: Final = (
    "".join(map(chr, range(ord("α"), ord("ω") + 1))),
    "".join(map(chr, range(ord("а"), ord("я") + 1))),
)


class NearestWord(Protocol):
    """Finds the word that was probably meant: the same word if it exists, None if none is similar. If `is_beginning`,
    more letters may follow."""

    def __call__(self, word: str, *, is_beginning: bool) -> str | None: ...


def correct(text: str, nearest: NearestWord) -> str | None:
    """Return the text with unknown words replaced. None if there is nothing to correct, or no correction. Labels are
    not corrected."""
    terms = read_terms(text)
    if terms.labels:
        return None
    last = {term.words[-1] for term in terms.wanted_terms if term.is_beginning}
    sought = dict.fromkeys(word for term in terms.wanted_terms for word in term.words)
    corrected: dict[str, str] = {}
    for word in islice(filter(_is_correctable, sought), 2 * _MOST_CORRECTED):
        near = nearest(word, is_beginning=word in last)
        if near is not None and near != word and len(corrected) < _MOST_CORRECTED:
            corrected[word] = near
    return _replace(text, corrected) if corrected else None


def _is_correctable(word: str) -> bool:
    return len(word) >= _SHORTEST and word.isalpha()


def _replace(text: str, corrected: dict[str, str]) -> str:
    """Return the text with the corrections. Quotes, signs and the names of fields stay."""
    parts: list[str] = []
    done = 0
    for start, end in word_spans(text):
        (word, *_) = words(text[start:end]) or [""]
        if word in corrected and text[end : end + 1] != ":":
            parts += text[done:start], corrected[word]
            done = end
    return "".join((*parts, text[done:]))


def one_edit(word: str) -> set[str]:
    """Return every text one edit away: a letter inserted, removed or replaced, or two neighbours swapped."""
    alphabet = next((letters for letters in _ALPHABETS if word[0] in letters), ascii_lowercase)
    cuts = [(word[:index], word[index:]) for index in range(len(word) + 1)]
    fewer = {before + after[1:] for before, after in cuts if after}
    swapped = {before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1}
    other = {before + letter + after[1:] for before, after in cuts if after for letter in alphabet}
    more = {before + letter + after for before, after in cuts for letter in alphabet}
    return (fewer | swapped | other | more) - {word}


def is_near(word: str, other: str) -> bool:
    """Return whether at most two edits lead from one word to the other."""
    if abs(len(word) - len(other)) > 2:
        return False
    before, row = list(range(len(other) + 1)), list(range(len(other) + 1))
    earlier = row
    for index, letter in enumerate(word, start=1):
        row = [index, *([0] * len(other))]
        for place, another in enumerate(other, start=1):
            cost = min(before[place] + 1, row[place - 1] + 1, before[place - 1] + (letter != another))
            if index > 1 and place > 1 and letter == other[place - 2] and word[index - 2] == another:
                cost = min(cost, earlier[place - 2] + 1)
            row[place] = cost
        if min(row) > 2:
            return False
        earlier, before = before, row
    return row[-1] <= 2
