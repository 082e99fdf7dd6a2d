"""The tables of the catalogue by which items are searched, and how they are asked.

The tables of the catalogue by which items are searched.

`listed` has a row for each item that can be found, with what it is counted and ordered by. `search` is the index of
words (FTS5) under the same numbers: those follow from the instants of labels, so that matches come newest first without
being sorted. The words were read before (`ibi.archive.search`) and are merely split at the spaces. Facets are
words too, which no text has: so filters are as quick as words are. `vocabulary` has each longer word once, to find
those that begin with some letters, and those that are nearly what was typed.

What is sought, as FTS5 is asked for it. Words have no quotes, and nothing else that means something there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from ibi.archive.search import BOUNDARY, FIELDS, FIRST_DAY, TITLE_KEY, Entry, Filters, entry_of, values_sought
from ibi.archive.search_terms import Clause, Group, SearchField, Term, Terms
from ibi.model.errors import InvalidDocument, NewerDocument
from ibi.model.item import Item
from ibi.model.item_json import decode_item
from ibi.model.search import Access, Facet, YearSpan
from ibi.storage.sqlite.connection import Connection

SINGLE_FACETS: Final = (Facet.YEAR, Facet.TYPE, Facet.LANGUAGE, Facet.PREFIX, Facet.LICENCE, Facet.ACCESS, Facet.FILE)
"""Those of which an item has one value at most, or a few of few. Together they are one string, which is counted as
one."""
SEVERAL_FACETS: Final = (Facet.CREATOR, Facet.SUBJECT)
"""Those of which an item may have several: a column each, and a line for each value."""
BETWEEN_SINGLES, BETWEEN_VALUES, BETWEEN_FILES = "\x1f", "\n", "\x1e"
EVERYTHING: Final = BOUNDARY * 2
"""A word that every item has."""
LEAST_LETTERS: Final = 4
"""Of words in the vocabulary. What begins with fewer letters is found by an index of its own."""

# As they were before there were fields; they are made anew at the end of the migrations.
_FORMER: Final = (
    "CREATE TABLE listed (number INTEGER PRIMARY KEY, facets TEXT, title TEXT, digest BLOB)",
    "CREATE TABLE search (number INTEGER PRIMARY KEY)",
)
_LISTED: Final = """
    CREATE TABLE listed (
        number INTEGER PRIMARY KEY,
        facets TEXT NOT NULL,
        creators TEXT,
        subjects TEXT,
        title TEXT NOT NULL,
        digest BLOB NOT NULL
    )
"""
_LISTED_BY_TITLE: Final = "CREATE INDEX listed_by_title ON listed (title)"
_VOCABULARY: Final = "CREATE TABLE vocabulary (word TEXT PRIMARY KEY) WITHOUT ROWID"
# Words are kept as an index alone, if SQLite knows how to take rows out of such a table; that of some systems is older,
# and has to keep the words a second time.
_SEARCH: Final = """
    CREATE VIRTUAL TABLE search USING fts5 (
        title, names, subject, rest, facets, {kind} tokenize = 'ascii', prefix = '2 3'
    )
"""
_CONTENTLESS, _CONTENTLESS_SINCE = "content = '', contentless_delete = 1,", (3, 43)

_KNOWN = "SELECT digest FROM listed WHERE number = ?"
_LIST = """
    INSERT OR REPLACE INTO listed (number, facets, creators, subjects, title, digest)
    VALUES (?, ?, ?, ?, ?, ?)
"""
_UNLIST = "DELETE FROM listed WHERE number = ?"
_INDEX = "INSERT INTO search (rowid, title, names, subject, rest, facets) VALUES (?, ?, ?, ?, ?, ?)"
_UNINDEX = "DELETE FROM search WHERE rowid = ?"
_LEARN = "INSERT OR IGNORE INTO vocabulary SELECT value FROM json_each(?)"
_ITEMS = "SELECT number, item, local FROM items WHERE number > ? ORDER BY number LIMIT 500"


class ListedRow(NamedTuple):
    """What is to be written of an item that can be found, worked out before other writers wait for it."""

    facets: str
    several: tuple[str | None, ...]
    """Of each of `SEVERAL_FACETS` all values."""
    title: str
    digest: bytes
    """Of everything else: most changes of an item change nothing of what it is found by."""
    words: tuple[str, str, str, str, str]
    vocabulary: bytes
    """The longer ones of its words, as JSON."""


def listed_row(item: Item) -> ListedRow | None:
    """None if it is not to be found by words."""
    entry = entry_of(item)
    if entry is None:
        return None
    facets, several = _facets(entry), tuple(_several(entry, facet) for facet in SEVERAL_FACETS)
    words = (*entry.fields, " ".join(_facet_words(entry)))
    told = "\0".join((facets, *(values or "" for values in several), entry.title_key, *words))
    digest = blake2b(told.encode(), digest_size=8).digest()
    return ListedRow(facets, several, entry.title_key, digest, words, _vocabulary(entry.fields))


def _vocabulary(texts: Iterable[str]) -> bytes:
    found = {word for text in texts for word in text.split(" ") if len(word) >= LEAST_LETTERS and not word.isdigit()}
    return msgspec.json.encode(sorted(found))


def facet_word(facet: Facet, value: str) -> str:
    """The word of a value: it cannot be typed, nor confused with that of another facet. Years, access and types have
    other words."""
    # A stranger's text may hold what is no character.
    digest = blake2b(f"{facet.value}\0{value}".encode(errors="surrogatepass"), digest_size=8)
    return BOUNDARY + digest.hexdigest()


def type_words(words: Iterable[str]) -> str:
    """The words of a type, which are found by no search for words alone."""
    return " ".join(word if word == BOUNDARY else f"{BOUNDARY}t{word}" for word in words)


def year_words(year: int) -> Iterator[str]:
    """The words of a year: its own, and those of its decade, century and millennium, by which spans are found."""
    digits = f"{year:04}"
    return (f"{BOUNDARY}y{digits[:length]:x<4}" for length in (4, 3, 2, 1))


def span_words(span: YearSpan) -> Iterator[str]:
    """The fewest words that have all years of a span and no others: some sixty at most."""
    year = span.first
    while year <= span.last:
        length = next(zeros for zeros in (3, 2, 1, 0) if year % 10**zeros == 0 and year + 10**zeros - 1 <= span.last)
        yield f"{BOUNDARY}y{f'{year:04}'[: 4 - length]:x<4}"
        year += 10**length


_OPEN, _EMBARGO = f"{BOUNDARY}aopen", f"{BOUNDARY}aembargo"


def _access_words(access: str) -> Iterator[str]:
    """Of a day on which an embargo is over: its own word, and those of its month and its year."""
    if access.isdigit():
        yield from (_EMBARGO, *(f"{BOUNDARY}a{access[:length]}" for length in (8, 6, 4)))
    else:
        yield f"{BOUNDARY}a{access}"


def access_expression(access: str, today: str) -> str:
    """What matches items that have that access on that day."""
    year, month, day = int(today[:4]), int(today[4:6]), int(today[6:])
    over = [f"{each:04}" for each in range(int(FIRST_DAY[:4]), year)]
    over += [f"{year:04}{each:02}" for each in range(1, month)]
    over += [f"{today[:6]}{each:02}" for each in range(1, day + 1)]
    lapsed = " OR ".join(f'"{BOUNDARY}a{each}"' for each in over)
    if access == Access.OPEN.value:
        return f'("{_OPEN}" OR {lapsed})'
    if access == Access.EMBARGO.value:
        return f'("{_EMBARGO}" NOT ({lapsed}))'
    return f'"{facet_word(Facet.ACCESS, access)}"' if access != Access.RESTRICTED.value else f'"{BOUNDARY}a{access}"'


def list_item(connection: Connection, number: int, row: ListedRow | None, *, anew: bool = False) -> None:
    """Have the item of that number found by what the row says, and by nothing else. `anew`: whatever the tables say."""
    known = connection.execute(_KNOWN, (number,)).fetchone()
    if row is not None and known is not None and known[0] == row.digest and not anew:
        return
    if known is not None or anew:
        unlist_item(connection, number)
    if row is not None:
        connection.execute(_LIST, (number, row.facets, *row.several, row.title, row.digest))
        connection.execute(_INDEX, (number, *row.words))
        connection.execute(_LEARN, (row.vocabulary.decode(),))


def unlist_item(connection: Connection, number: int) -> None:
    connection.execute(_UNINDEX, (number,))
    connection.execute(_UNLIST, (number,))


def contentless_options(connection: Connection) -> str:
    """What an index of words is made with that does not keep them a second time."""
    (version,) = connection.execute("SELECT sqlite_version()").fetchone()
    return _CONTENTLESS if tuple(map(int, version.split(".")[:2])) >= _CONTENTLESS_SINCE else ""


def begin_search(connection: Connection) -> None:
    """Make the tables that `renew_search` makes anew, and see that every record can be read before others rely on it.
    For the migration of a catalogue."""
    for statement in _FORMER:
        connection.execute(statement)
    for _ in _items(connection, NewerDocument):
        pass


def renew_search(connection: Connection) -> None:
    """Make the tables anew, and fill them with what the catalogue has. For the migration of a catalogue."""
    for name in ("listed", "search"):
        connection.execute(f"DROP TABLE {name}")
    connection.execute(_LISTED)
    connection.execute(_SEARCH.format(kind=contentless_options(connection)))
    connection.execute(_VOCABULARY)
    for number, item in _items(connection, InvalidDocument):
        list_item(connection, number, listed_row(item))
    connection.execute(_LISTED_BY_TITLE)


def _items(connection: Connection, left_out: type[InvalidDocument]) -> Iterator[tuple[int, Item]]:
    """Every item but those whose records are not known: of a later version, or, if they are left out, damaged."""
    last = -1 << 63
    while page := connection.execute(_ITEMS, (last,)).fetchall():
        for number, item, local in page:
            with suppress(left_out):
                yield number, decode_item(item, local)
        last = page[-1][0]


def check_search(connection: Connection) -> None:
    """Read the whole index of words; SQLite raises what it finds damaged. In a transaction that may write."""
    connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")


def _facets(entry: Entry) -> str:
    values = dict(entry.facets) | {Facet.FILE: BETWEEN_FILES.join(_values(entry, Facet.FILE))}
    return BETWEEN_SINGLES.join(values.get(facet, "") for facet in SINGLE_FACETS)


def _several(entry: Entry, facet: Facet) -> str | None:
    return BETWEEN_VALUES.join(_values(entry, facet)) or None


def _values(entry: Entry, facet: Facet) -> Iterator[str]:
    return (value for each, value in entry.facets if each is facet)


def _facet_words(entry: Entry) -> Iterator[str]:
    yield EVERYTHING
    for facet, value in entry.facets:
        if facet is Facet.YEAR:
            yield from year_words(int(value))
        elif facet is Facet.ACCESS:
            yield from _access_words(value)
        else:
            yield facet_word(facet, value)
    if entry.kinds:
        yield type_words(entry.kinds.split(" "))


# --- search expressions -----------------------------------------------------------------------------------------------


AFTER_LETTERS, _AFTER_SPACE = "\U0010ffff", "!"
"""Come after all words that begin with the same letters, and after all texts that begin with the same words."""
_COLUMNS: Final = {SearchField.TITLE: "title", SearchField.CREATOR: "names", SearchField.SUBJECT: "subject"}


@dataclass(frozen=True, slots=True)
class SoughtWords:
    """What is sought, as FTS5 is asked for it."""

    terms: Terms
    filters: Filters
    today: str
    words_beginning: Callable[[str], tuple[str, ...] | None]
    """The words that begin with some letters; None if they are not known, or too many."""

    def whole_words(self) -> SoughtWords:
        return replace(self, terms=self.terms.whole_words())

    def expression(self, columns: tuple[str, ...] = (), first: str | None = None) -> str | None:
        """What to match; None for everything there is. Words that may stand anywhere have to be in `columns`, if there
        are some, and `first` has to match too."""
        sought = [] if first is None else [first]
        sought += (self._any(group, columns) for group in self.terms.wanted)
        sought += (self._filter(*pair) for pair in values_sought(self.filters))
        if not self.terms.unwanted:
            return " AND ".join(sought) or None
        unwanted = " OR ".join(self._clause(clause, ()) for clause in self.terms.unwanted)
        everything = f'"{EVERYTHING}"'
        return f"({' AND '.join(sought) or everything}) NOT ({unwanted})"

    def tiers(self) -> Iterator[str | None]:
        """The best matches, and then all with some that are less good, and so on to all matches."""
        phrase = self.terms.as_phrase
        if phrase is not None:
            yield self.expression(first=f"title : {self._phrase(phrase, '^ ')}")
        yield self.expression(FIELDS[:1])
        yield self.expression(FIELDS[:3])
        yield self.expression()

    def title_begins(self) -> tuple[str, str] | None:
        """Between which keys titles lie that begin with all that is sought; None if more is sought than that."""
        phrase, terms = self.terms.as_phrase, self.terms
        is_more = self.filters or terms.unwanted or len(tuple(terms.wanted_terms)) < len(terms.wanted)
        if phrase is None or is_more or any(term.field is not None for term in terms.wanted_terms):
            return None
        text = " ".join(phrase.words)
        if len(text) >= TITLE_KEY:
            return None
        return text, text + (AFTER_LETTERS if phrase.is_beginning else _AFTER_SPACE)

    def _filter(self, facet: Facet, value: str) -> str:
        if facet is Facet.YEAR:
            return _years(YearSpan.parse(value))
        if facet is Facet.ACCESS:
            return access_expression(value, self.today)
        return f'"{facet_word(facet, value)}"'

    def _any(self, group: Group, columns: tuple[str, ...]) -> str:
        return f"({' OR '.join(self._clause(clause, columns) for clause in group)})"

    def _clause(self, clause: Clause, columns: tuple[str, ...]) -> str:
        if isinstance(clause, YearSpan):
            return _years(clause)
        if clause.field is SearchField.TYPE:
            return quote(type_words(clause.words), is_beginning=clause.is_beginning)
        within = columns if clause.field is None else (_COLUMNS[clause.field],)
        phrase = self._phrase(clause)
        return f"{{{' '.join(within)}}} : {phrase}" if within else phrase

    def _phrase(self, term: Term, mark: str = "") -> str:
        """All words that begin with some letters take FTS5 as long as to read all their matches; one by one they are
        read no further than is needed."""
        *others, last = term.words
        longer = self.words_beginning(last) if term.is_beginning else None
        if longer is None:
            return f"({mark}{quote(' '.join(term.words), is_beginning=term.is_beginning)})"
        return f"({' OR '.join(mark + quote(' '.join((*others, word))) for word in longer or (last,))})"


def quote(words: str, *, is_beginning: bool = False) -> str:
    return f'"{words}"{" *" if is_beginning else ""}'


def _years(span: YearSpan | None) -> str:
    """A span that cannot be read has no years."""
    words = (facet_word(Facet.YEAR, ""),) if span is None else span_words(span)
    return f"({' OR '.join(map(quote, words))})"
