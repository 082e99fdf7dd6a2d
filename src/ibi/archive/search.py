"""The words by which searches find items: how a text is cut into words, which texts of an item count, and what items
are counted by. How the text of a search is taken apart is in `ibi.archive.search_terms`.

One reading for what is kept and for what is asked, here rather than in a database: the characters that this Python
knows are newer than those an SQLite knows, it can tell scripts apart, and every adapter finds the same.
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

from ibi.instant import civil
from ibi.label import RepositoryName
from ibi.languages import InvalidLanguageTag, LanguageTag
from ibi.model.file import File
from ibi.model.item import Item
from ibi.model.metadata import Agent, Text, issue_date
from ibi.model.search import SAMPLED, SAMPLED_FACETS, Access, Facet, FacetCount, FacetCounts, FileKind, YearSpan
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


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each word of a text begins and ends there."""
    start = None
    for index, character in enumerate(text):
        bare = _bare[ord(character)]
        if bare is None:  # an accent, or nothing that is seen, which belongs to the word that it is in
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
TITLE_KEY: Final = 48
"""Characters of a title by which it is ordered."""
FIRST_DAY: Final = "20000101"
"""Embargoes that were over before this day are as good as over on it."""
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
    """`title`, `names`, `subject` and `rest` are words with spaces between them."""

    title: str
    names: str
    subject: str
    rest: str
    facets: tuple[tuple[Facet, str], ...]
    """Each pair once; a creator after the other, subjects and kinds of files too, and of the others one value at most.
    The access is that of `_access`, which `access_on` reads."""
    title_key: str
    """What titles are ordered by."""
    kinds: str = ""
    """The words of its types."""

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
        title[:TITLE_KEY] or untitled_key(item.rep),
        join_words(chain(_spaced_kind(item), _values(metadata.type)), _MOST_WORDS),
    )


def untitled_key(name: RepositoryName) -> str:
    """What an item is ordered by that has no title."""
    return join_words((str(name),), _MOST_WORDS)[:TITLE_KEY]


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
    yield from ((Facet.SUBJECT, facet_value(subject.value)) for subject in item.metadata.subject)
    if item.metadata.licence is not None:
        yield Facet.LICENCE, facet_value(str(item.metadata.licence))
    yield Facet.ACCESS, _access(item)
    if item.visibility.listing:
        yield from ((Facet.FILE, kind.value) for kind in _file_kinds(item.files))


def _spaced_kind(item: Item) -> Iterator[str]:
    """`StillImage` is still, and an image."""
    if item.metadata.resource_type is not None:
        yield re.sub("(?<=[a-z])(?=[A-Z])", " ", str(item.metadata.resource_type))


def _access(item: Item) -> str:
    """A value of `Access`, or of what is under embargo the day on which all of it is over, as in 20270131: which of the
    two it is changes without a change of the item."""
    if item.visibility.networks:
        return Access.RESTRICTED.value
    embargo = item.visibility.embargo
    return Access.OPEN.value if embargo is None else max(day_word(embargo.seconds + _DAY - 1), FIRST_DAY)


def day_word(seconds: int) -> str:
    """The day of a second since 1970, as in 20270131."""
    year, month, day = civil(seconds // _DAY)
    return f"{year:04}{month:02}{day:02}"


def access_on(today: str, access: str) -> str:
    """Who gets the files on that day, of what `Entry` says of it."""
    if not access.isdigit():
        return access
    return Access.OPEN.value if access <= today else Access.EMBARGO.value


def _file_kinds(files: Sequence[File]) -> Iterator[FileKind]:
    """Of ten thousand files, the first thousand tell."""
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


# --- filters and counts -----------------------------------------------------------------------------------------------

MOST_VALUES: Final = 20
"""Of each facet: the most frequent ones."""

Filters = tuple[tuple[Facet, str], ...]


def values_sought(filters: Filters) -> Filters:
    """The filters in the spelling in which values are counted."""
    return tuple((facet, facet_value(value)) for facet, value in filters)


def meets(entry: Entry | None, filters: Filters, today: str) -> bool:
    """Whether an item meets every filter on that day; one that was deleted has no values, and meets none."""
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
    """Count what the entries have, which come newest first."""
    counts: dict[Facet, Counter[str]] = {facet: Counter() for facet in Facet}
    for index, entry in enumerate(entries):
        for facet, value in () if entry is None else entry.facets:
            if index < SAMPLED or facet not in SAMPLED_FACETS:
                counts[facet][value] += 1
    return facet_counts(counts, today)


def facet_counts(counts: Mapping[Facet, Mapping[str, int]], today: str) -> FacetCounts:
    """What is shown of how many items have each value."""
    access: Counter[str] = Counter()
    for value, number in counts[Facet.ACCESS].items():
        access[access_on(today, value)] += number
    counted = {**counts, Facet.ACCESS: access}
    years = tuple(FacetCount(year, counts[Facet.YEAR][year]) for year in sorted(counts[Facet.YEAR]))
    shown = {facet.value: most_frequent(counted[facet]) for facet in Facet}
    return FacetCounts(**shown, all_years=years)


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
