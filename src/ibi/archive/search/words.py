"""The words of items by which searches find them: how a text is cut into words, and which texts of an item count.

One reading for what is kept and for what is asked, here rather than in a database: the characters that this Python
knows are newer than those an SQLite knows, it can tell scripts apart, and every adapter finds the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final
from unicodedata import category, combining, normalize

from ibi.archive.counting import issue_date
from ibi.instant import civil
from ibi.languages import InvalidLanguageTag, LanguageTag
from ibi.model.item import Item
from ibi.model.metadata import Agent, Text
from ibi.model.search import Facet
from ibi.vocabulary import State

LONGEST: Final = 40
"""Characters of a word that count; what is longer is no word that people type."""
BOUNDARY: Final = "·"
"""Stands between two values, so that no phrase reaches from one into the next. It is punctuation: no word has it."""

# Letters that are a stroke or a ligature away from a plain one, and that Unicode does not take apart.
_PLAIN: Final = {
    ord(letter): plain
    for letter, plain in zip("øłđðħıŧæœþ", ("o", "l", "d", "d", "h", "i", "t", "ae", "oe", "th"), strict=True)
}
_ASCII: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
# Scripts written without spaces: each character is a word, and a run of them a phrase.
_UNSPACED: Final = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x2E80, 0x3008),  # radicals and iteration marks of Chinese
    range(0x3040, 0x3100),  # kana
    range(0x31F0, 0x3200),
    range(0x3400, 0xA000),  # ideographs
    range(0xF900, 0xFB00),
    range(0x20000, 0x40000),
)
_MOST_REMEMBERED: Final = 20_000


class _Table(dict[int, "int | str | None"]):
    """A table for `str.translate` that works itself out, and stops growing when strangers feed it."""

    def __missing__(self, code: int) -> int | str | None:
        become = self.of(code)
        if len(self) < _MOST_REMEMBERED:
            self[code] = become
        return become

    def of(self, code: int) -> int | str | None:
        raise NotImplementedError


class _Bare(_Table):
    """Of decomposed text: without what is not seen, and without diacritics. Vowel signs, which make the word, have
    other combining classes than accents, points and tone marks, and stay."""

    def of(self, code: int) -> int | str | None:
        rank = combining(chr(code))
        if 10 <= rank <= 36 or rank >= 200 or category(chr(code)) == "Cf" or 0xFE00 <= code <= 0xFE0F:
            return None
        return _PLAIN.get(code, code)


class _Spaced(_Table):
    """Everything that is part of no word is a space."""

    def of(self, code: int) -> int | str | None:
        kind = category(chr(code))
        if kind == "So" or (kind[0] in "LNM" and any(code in script for script in _UNSPACED)):
            return f" {chr(code)} "
        return code if kind[0] in "LNM" else " "


_bare, _spaced = _Bare(), _Spaced()


def words(text: str) -> list[str]:
    """The words of a text, in order. None if it has neither letters nor digits nor symbols."""
    if text.isascii():
        return [word[:LONGEST] for word in text.lower().translate(_ASCII).split()]
    # Case folding may leave what can be taken apart further, and stripping what can be put together again.
    folded = normalize("NFKD", normalize("NFKD", text).casefold()).translate(_bare)
    return [word[:LONGEST] for word in normalize("NFC", folded).translate(_spaced).split()]


def join_words(texts: Iterable[str], most: int) -> str:
    """The words of several values, up to `most`, with spaces between the words and a boundary between the values."""
    found: list[str] = []
    for text in texts:
        if found:
            found.append(BOUNDARY)
        found += words(text)
        if len(found) >= most:
            break
    return " ".join(found[:most])


FIELDS: Final = ("title", "names", "subject", "rest")
"""The fields of words, in the order of their weight."""
_MOST_WORDS: Final = 5_000
"""Of one field: a description may be as long as a chapter."""
_LONGEST_VALUE: Final = 200
_SORTED_BY: Final = 48
"""Characters of a title."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`title`, `names`, `subject` and `rest` are words with spaces between them."""

    title: str
    names: str
    subject: str
    rest: str
    facets: tuple[tuple[Facet, str], ...]
    """Each pair once; a creator after the other, and of the others one value at most."""
    title_key: str
    """What titles are ordered by."""

    @property
    def fields(self) -> tuple[str, str, str, str]:
        return self.title, self.names, self.subject, self.rest


def entry_of(item: Item) -> Entry | None:
    """None for what was deleted. Restricted items are found as all others are: their description is public."""
    if item.state is State.DELETED:
        return None
    metadata = item.metadata
    title = join_words(_values(metadata.title), _MOST_WORDS)
    return Entry(
        title,
        join_words(_values(metadata.creator + metadata.contributor), _MOST_WORDS),
        join_words(_values(metadata.subject), _MOST_WORDS),
        join_words(
            chain(
                map(str, item.alternates),
                _values(metadata.publisher),
                _values(metadata.identifier),
                _values(metadata.source),
                _values(metadata.coverage),
                _values(metadata.description),
            ),
            _MOST_WORDS,
        ),
        tuple(dict.fromkeys(_facets(item))),
        (title or join_words((str(item.rep),), _MOST_WORDS))[:_SORTED_BY],
    )


def facet_value(text: str) -> str:
    """A value as it is counted and asked for: on one line, composed, and not endless."""
    return " ".join(normalize("NFC", text).split())[:_LONGEST_VALUE].rstrip()


def _values(values: tuple[Text, ...] | tuple[Agent, ...]) -> Iterator[str]:
    return map(str, values)


def _facets(item: Item) -> Iterator[tuple[Facet, str]]:
    yield Facet.YEAR, _year(item)
    kind = item.metadata.resource_type or next(_values(item.metadata.type), None)
    if kind is not None:
        yield Facet.TYPE, facet_value(str(kind))
    language = _language(item)
    if language is not None:
        yield Facet.LANGUAGE, language
    yield Facet.PREFIX, item.rep.prefix
    yield from ((Facet.CREATOR, facet_value(creator.name)) for creator in item.metadata.creator)


def _year(item: Item) -> str:
    """Of its publication if that is told, or else of its label."""
    date = issue_date(item.metadata)
    return f"{date.year if date is not None else civil(item.rep.instant.seconds // 86_400)[0]:04}"


def _language(item: Item) -> str | None:
    """Without the country: readers of Portuguese read that of any country."""
    if item.language is not None:
        return item.language.language
    for text in _values(item.metadata.language):
        try:
            return LanguageTag.parse(text.strip(), registered=True).language
        except InvalidLanguageTag:
            continue
    return None
