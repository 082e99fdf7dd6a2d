"""The search tables of the catalogue.

`listed` has one row for each item that can be found, with the values for counting and sorting. `search` is the word
index (FTS5) under the same numbers. The numbers follow from the instants of labels, so matches come newest first
without a sort.

`ibi.items.rules.search` has normalised the words; here they are only split at spaces. Facets are indexed as words that
no text contains, so filters are as fast as words. `vocabulary` has each longer word once, for prefix and fuzzy search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from ibi.items.model.item import Item
from ibi.items.model.item_json import decode_item
from ibi.items.model.search import Access, Facet, YearSpan
from ibi.items.rules.search import BOUNDARY, FIRST_DAY, Entry, entry_of
from ibi.standard.document_errors import InvalidDocument, NewerDocument
from ibi.storage.connection import Connection

SINGLE_FACETS: Final = (Facet.YEAR, Facet.TYPE, Facet.LANGUAGE, Facet.PREFIX, Facet.LICENCE, Facet.ACCESS, Facet.FILE)
"""Facets with at most one value per item, or a few values out of a small set. They form one string, which is counted as
one."""
SEVERAL_FACETS: Final = (Facet.CREATOR, Facet.SUBJECT)
"""Facets with several values per item: each has a column, with one line per value."""
BETWEEN_SINGLES, BETWEEN_VALUES, BETWEEN_FILES = "\x1f", "\n", "\x1e"
EVERYTHING: Final = BOUNDARY * 2
"""A word that every item has."""
LEAST_LETTERS: Final = 4
"""Minimum length of words in the vocabulary. Shorter prefixes have an FTS5 prefix index."""

# The tables before fields existed; the last migrations recreate them.
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
# The index stores no copy of the words if this version of SQLite can delete rows from such a table. Older versions need
# the copy.
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
    """The search row of an item, computed before other writers have to wait for it."""

    facets: str
    several: tuple[str | None, ...]
    """The values of each of `SEVERAL_FACETS`."""
    title: str
    digest: bytes
    """Digest of the other fields. Most changes of an item leave it equal, and then nothing is written."""
    words: tuple[str, str, str, str, str]
    vocabulary: bytes
    """The longer words, as JSON."""


def listed_row(item: Item) -> ListedRow | None:
    """Return the search row of the item; None if searches do not find it."""
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
    """Return the index word of a facet's value. It cannot be typed, nor equal a word of another facet. Years, access
    and types have other words."""
    # Metadata from other Archives may hold lone surrogates.
    digest = blake2b(f"{facet.value}\0{value}".encode(errors="surrogatepass"), digest_size=8)
    return BOUNDARY + digest.hexdigest()


def type_words(words: Iterable[str]) -> str:
    """Return the words of a type. A search for plain words never matches them."""
    return " ".join(word if word == BOUNDARY else f"{BOUNDARY}t{word}" for word in words)


def year_words(year: int) -> Iterator[str]:
    """Return the words of a year: its own, and those of its decade, century and millennium, for searches by span."""
    digits = f"{year:04}"
    return (f"{BOUNDARY}y{digits[:length]:x<4}" for length in (4, 3, 2, 1))


def span_words(span: YearSpan) -> Iterator[str]:
    """Yield the fewest words that cover exactly the years of a span: about sixty at most."""
    year = span.first
    while year <= span.last:
        length = next(zeros for zeros in (3, 2, 1, 0) if year % 10**zeros == 0 and year + 10**zeros - 1 <= span.last)
        yield f"{BOUNDARY}y{f'{year:04}'[: 4 - length]:x<4}"
        year += 10**length


_OPEN, _EMBARGO = f"{BOUNDARY}aopen", f"{BOUNDARY}aembargo"


def _access_words(access: str) -> Iterator[str]:
    """Yield the words of an access status. The end of an embargo has a word each for its day, month and year."""
    if access.isdigit():
        yield from (_EMBARGO, *(f"{BOUNDARY}a{access[:length]}" for length in (8, 6, 4)))
    else:
        yield f"{BOUNDARY}a{access}"


def access_expression(access: str, today: str) -> str:
    """Return the expression that matches items with this access on that day."""
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
    """Replace the search rows of the item by this row; None removes them. `anew` ignores the present rows."""
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
    """Return the options of an FTS5 table that stores no copy of the words."""
    (version,) = connection.execute("SELECT sqlite_version()").fetchone()
    return _CONTENTLESS if tuple(map(int, version.split(".")[:2])) >= _CONTENTLESS_SINCE else ""


def begin_search(connection: Connection) -> None:
    """Make the tables that `renew_search` recreates, and check that every record can be read before others rely on it.
    Part of a migration."""
    for statement in _FORMER:
        connection.execute(statement)
    for _ in _items(connection, NewerDocument):
        pass


def renew_search(connection: Connection) -> None:
    """Recreate the tables and fill them from the catalogue. Part of a migration."""
    for name in ("listed", "search"):
        connection.execute(f"DROP TABLE {name}")
    connection.execute(_LISTED)
    connection.execute(_SEARCH.format(kind=contentless_options(connection)))
    connection.execute(_VOCABULARY)
    for number, item in _items(connection, InvalidDocument):
        list_item(connection, number, listed_row(item))
    connection.execute(_LISTED_BY_TITLE)


def _items(connection: Connection, left_out: type[InvalidDocument]) -> Iterator[tuple[int, Item]]:
    """Yield every item, except those with an unreadable record: of a later version, or damaged if `left_out` says
    so."""
    last = -1 << 63
    while page := connection.execute(_ITEMS, (last,)).fetchall():
        for number, item, local in page:
            with suppress(left_out):
                yield number, decode_item(item, local)
        last = page[-1][0]


def check_search(connection: Connection) -> None:
    """Read the whole word index, inside a transaction that may write. SQLite raises an error for damage."""
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
