"""The words of the search index: how texts are split into words, the texts of an item that count, and the facets.

`ibi.items.rules.search_terms` parses the text of a search. Index and query use this one code instead of a database
function: Python knows newer characters than SQLite and distinguishes scripts, and every adapter finds the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from itertools import chain
from typing import Final
from unicodedata import category, combining, normalize

from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.model.metadata import Agent, Text, issue_date
from ibi.items.model.search import SAMPLED, SAMPLED_FACETS, Access, Facet, FacetCount, FacetCounts, FileKind, YearSpan
from ibi.standard.instant import civil
from ibi.standard.label import RepositoryName
from ibi.standard.languages import InvalidLanguageTag, LanguageTag
from ibi.standard.vocabulary import State

LONGEST: Final = 40
"""Characters of a word that count: people type no longer words."""
BOUNDARY: Final = "·"
"""The separator between two values, so that no phrase crosses it. It is punctuation, so no word contains it."""

# Letters with a stroke, and ligatures, which Unicode does not decompose.
_PLAIN: Final = {
    ord(letter): plain
    for letter, plain in zip("øłđðħıŧæœþ", ("o", "l", "d", "d", "h", "i", "t", "ae", "oe", "th"), strict=True)
}
_ASCII: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
# Scripts written without spaces: each character is a word, and a run of them is a phrase.
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
    """A table for `str.translate` that fills itself, but only up to a limit, because strangers choose the
    characters."""

    def __missing__(self, code: int) -> int | str | None:
        become = self.of(code)
        if len(self) < _MOST_REMEMBERED:
            self[code] = become
        return become

    def of(self, code: int) -> int | str | None:
        raise NotImplementedError


class _Bare(_Table):
    """For decomposed text: removes invisible characters and diacritics. Vowel signs stay, because they make the word:
    their combining classes differ from those of accents, points and tone marks."""

    def of(self, code: int) -> int | str | None:
        rank = combining(chr(code))
        if 10 <= rank <= 36 or rank >= 200 or category(chr(code)) == "Cf" or 0xFE00 <= code <= 0xFE0F:
            return None
        return _PLAIN.get(code, code)


class _Spaced(_Table):
    """Replaces every character that is part of no word by a space."""

    def of(self, code: int) -> int | str | None:
        kind = category(chr(code))
        if kind == "So" or (kind[0] in "LNM" and any(code in script for script in _UNSPACED)):
            return f" {chr(code)} "
        return code if kind[0] in "LNM" else " "


_bare, _spaced = _Bare(), _Spaced()


def words(text: str) -> list[str]:
    """Return the words of a text, in order. Empty if it has no letters, digits or symbols."""
    if text.isascii():
        return [word[:LONGEST] for word in text.lower().translate(_ASCII).split()]
    # Case folding may create characters that decompose further; stripping may create ones that compose again.
    folded = normalize("NFKD", normalize("NFKD", text).casefold()).translate(_bare)
    return [word[:LONGEST] for word in normalize("NFC", folded).translate(_spaced).split()]


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each word in a text."""
    start = None
    for index, character in enumerate(text):
        bare = _bare[ord(character)]
        if bare is None:  # an accent or an invisible character belongs to the word around it
            continue
        kind = _spaced[ord(character)]
        if start is not None and kind != ord(character):
            yield start, index
            start = None
        if isinstance(kind, str) and kind != " ":
            yield index, index + 1
        elif start is None and kind == ord(character):
            start = index
    if start is not None:
        yield start, len(text)


def join_words(texts: Iterable[str], most: int) -> str:
    """Return the words of several values, up to `most`, with spaces between words and a boundary between values."""
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
"""Words of one field: a description may be as long as a chapter."""
_LONGEST_VALUE: Final = 200
TITLE_KEY: Final = 48
"""Characters of a title that determine its order."""
FIRST_DAY: Final = "20000101"
"""Embargoes that ended before this day count as ended on it."""
_DAY: Final = 86_400
_MOST_FILES: Final = 1_000
_MICROSOFT, _OPEN_DOCUMENT = "application/vnd.openxmlformats-officedocument", "application/vnd.oasis.opendocument."
_OPEN_KINDS: Final = {
    "spreadsheet": FileKind.SPREADSHEET,
    "presentation": FileKind.PRESENTATION,
    "graphics": FileKind.IMAGE,
    "image": FileKind.IMAGE,
}
_KIND_OF_TYPE: Final = {
    "application/pdf": FileKind.PDF,
    "text/html": FileKind.WEB,
    "application/xhtml+xml": FileKind.WEB,
    "text/csv": FileKind.SPREADSHEET,
    "text/tab-separated-values": FileKind.SPREADSHEET,
    "application/vnd.ms-excel": FileKind.SPREADSHEET,
    f"{_MICROSOFT}.spreadsheetml.sheet": FileKind.SPREADSHEET,
    "application/vnd.ms-powerpoint": FileKind.PRESENTATION,
    f"{_MICROSOFT}.presentationml.presentation": FileKind.PRESENTATION,
    "application/msword": FileKind.DOCUMENT,
    "application/rtf": FileKind.DOCUMENT,
    "text/rtf": FileKind.DOCUMENT,
    "application/epub+zip": FileKind.DOCUMENT,
    f"{_MICROSOFT}.wordprocessingml.document": FileKind.DOCUMENT,
    **dict.fromkeys(
        (
            *("application/json", "application/xml", "text/xml", "application/fits", "application/x-netcdf"),
            *("application/netcdf", "application/x-hdf", "application/x-hdf5", "application/geo+json"),
        ),
        FileKind.DATA,
    ),
    **dict.fromkeys(
        (
            *("application/zip", "application/gzip", "application/x-tar", "application/x-7z-compressed"),
            *("application/x-bzip2", "application/x-xz", "application/vnd.rar", "application/zstd"),
        ),
        FileKind.PACKAGE,
    ),
}
_KIND_OF_FAMILY: Final = {
    "text": FileKind.TEXT,
    "image": FileKind.IMAGE,
    "audio": FileKind.AUDIO,
    "video": FileKind.VIDEO,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """The search entry of an item. `title`, `names`, `subject` and `rest` are words with spaces between them."""

    title: str
    names: str
    subject: str
    rest: str
    facets: tuple[tuple[Facet, str], ...]
    """Facets and values, each pair once. There may be several creators, subjects and kinds of files, and at most one
    value of the others. The access has the form of `_access`, which `access_on` reads."""
    title_key: str
    """The key that orders titles."""
    kinds: str = ""
    """The words of its types."""

    @property
    def fields(self) -> tuple[str, str, str, str]:
        return self.title, self.names, self.subject, self.rest


def entry_of(item: Item) -> Entry | None:
    """Return the entry of an item; None if it is deleted. Restricted items are found too: their description is
    public."""
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
        title[:TITLE_KEY] or untitled_key(item.rep),
        join_words(chain(_spaced_kind(item), _values(metadata.type)), _MOST_WORDS),
    )


def untitled_key(name: RepositoryName) -> str:
    """Return the sort key of an item without a title."""
    return join_words((str(name),), _MOST_WORDS)[:TITLE_KEY]


def facet_value(text: str) -> str:
    """Return a value as it is counted and searched: on one line, composed, and of limited length."""
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
    yield from ((Facet.SUBJECT, facet_value(subject.value)) for subject in item.metadata.subject)
    if item.metadata.licence is not None:
        yield Facet.LICENCE, facet_value(str(item.metadata.licence))
    yield Facet.ACCESS, _access(item)
    if item.visibility.listing:
        yield from ((Facet.FILE, kind.value) for kind in _file_kinds(item.files))


def _spaced_kind(item: Item) -> Iterator[str]:
    """Yield the words of the type: `StillImage` is found as "still" and as "image"."""
    if item.metadata.resource_type is not None:
        yield re.sub("(?<=[a-z])(?=[A-Z])", " ", str(item.metadata.resource_type))


def _access(item: Item) -> str:
    """Return a value of `Access`. For an item under embargo return the day when the embargo has ended, as in 20270131:
    an embargo ends without a change of the item."""
    if item.visibility.networks:
        return Access.RESTRICTED.value
    embargo = item.visibility.embargo
    return Access.OPEN.value if embargo is None else max(day_word(embargo.seconds + _DAY - 1), FIRST_DAY)


def day_word(seconds: int) -> str:
    """Return the day of a second since 1970, as in 20270131."""
    year, month, day = civil(seconds // _DAY)
    return f"{year:04}{month:02}{day:02}"


def access_on(today: str, access: str) -> str:
    """Return the access on that day, from the access facet of an `Entry`."""
    if not access.isdigit():
        return access
    return Access.OPEN.value if access <= today else Access.EMBARGO.value


def _file_kinds(files: Sequence[File]) -> Iterator[FileKind]:
    """Yield the kinds of files. Only the first thousand files are examined."""
    types = dict.fromkeys(file.media_type for file in files[:_MOST_FILES])
    return iter(dict.fromkeys(file_kind(each) for each in types))


def file_kind(media_type: str) -> FileKind:
    kind = media_type.partition(";")[0].strip().lower()
    found = _KIND_OF_TYPE.get(kind)
    if found is not None:
        return found
    if kind.startswith(_OPEN_DOCUMENT):
        return _OPEN_KINDS.get(kind.removeprefix(_OPEN_DOCUMENT).partition("-")[0], FileKind.DOCUMENT)
    return _KIND_OF_FAMILY.get(kind.partition("/")[0], FileKind.OTHER)


def _year(item: Item) -> str:
    """Return the year of publication, or the year of the label if it is unknown."""
    date = issue_date(item.metadata)
    return f"{date.year if date is not None else civil(item.rep.instant.seconds // 86_400)[0]:04}"


def _language(item: Item) -> str | None:
    """Return the language without the country: readers of Portuguese read the Portuguese of any country."""
    if item.language is not None:
        return item.language.language
    for text in _values(item.metadata.language):
        try:
            return LanguageTag.parse(text.strip(), registered=True).language
        except InvalidLanguageTag:
            continue
    return None


MOST_VALUES: Final = 20
"""Values shown of each facet: the most frequent ones."""

Filters = tuple[tuple[Facet, str], ...]


def values_sought(filters: Filters) -> Filters:
    """Return the filters in the spelling in which values are counted."""
    return tuple((facet, facet_value(value)) for facet, value in filters)


def meets(entry: Entry | None, filters: Filters, today: str) -> bool:
    """Return whether an item meets every filter on that day. A deleted item has no values, and meets none."""
    if entry is None:
        return not filters
    values = {(facet, access_on(today, value) if facet is Facet.ACCESS else value) for facet, value in entry.facets}
    return all(
        year_within(entry, YearSpan.parse(value)) if facet is Facet.YEAR else (facet, value) in values
        for facet, value in values_sought(filters)
    )


def year_within(entry: Entry, span: YearSpan | None) -> bool:
    year = next(int(value) for facet, value in entry.facets if facet is Facet.YEAR)
    return span is not None and span.first <= year <= span.last


def count_facets(entries: Iterable[Entry | None], today: str) -> FacetCounts:
    """Count the values of the entries, which come newest first."""
    counts: dict[Facet, Counter[str]] = {facet: Counter() for facet in Facet}
    for index, entry in enumerate(entries):
        for facet, value in () if entry is None else entry.facets:
            if index < SAMPLED or facet not in SAMPLED_FACETS:
                counts[facet][value] += 1
    return facet_counts(counts, today)


def facet_counts(counts: Mapping[Facet, Mapping[str, int]], today: str) -> FacetCounts:
    """Return the counts to show for each facet."""
    access: Counter[str] = Counter()
    for value, number in counts[Facet.ACCESS].items():
        access[access_on(today, value)] += number
    counted = {**counts, Facet.ACCESS: access}
    years = tuple(FacetCount(year, counts[Facet.YEAR][year]) for year in sorted(counts[Facet.YEAR]))
    shown = {facet.value: most_frequent(counted[facet]) for facet in Facet}
    return FacetCounts(**shown, all_years=years)


def most_frequent(counts: Mapping[str, int]) -> tuple[FacetCount, ...]:
    """Return the most frequent values; equally frequent ones in their own order. Tens of thousands of names may occur
    once each, so they are compared as little as possible."""
    if not counts:
        return ()
    least = nlargest(MOST_VALUES, counts.values())[-1]
    frequent = [count for count in counts.items() if count[1] >= least]
    more = sorted((-number, value) for value, number in frequent if number > least)
    rest = nsmallest(MOST_VALUES - len(more), [value for value, number in frequent if number == least])
    return (*(FacetCount(value, -number) for number, value in more), *(FacetCount(value, least) for value in rest))
