"""The tables of the catalogue by which items are searched.

`listed` has a row for each item that can be found, with what it is counted and ordered by. `search` is the index of
words (FTS5) under the same numbers: those follow from the instants of labels, so that matches come newest first without
being sorted. The words were read before (`ibi.archive.search.words`) and are merely split at the spaces. Facets are
words too, which no text has: so filters are as quick as words are.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
from typing import Final, NamedTuple

from ibi.archive.search.words import BOUNDARY, Entry, entry_of
from ibi.model.errors import NewerDocument
from ibi.model.item import Item
from ibi.model.item_json import decode_item
from ibi.model.search import Facet
from ibi.storage.sqlite.connection import Connection

SINGLE_FACETS: Final = (Facet.YEAR, Facet.TYPE, Facet.LANGUAGE, Facet.PREFIX)
"""Those of which an item has one value at most. Together they are one string, which is counted as one."""
BEFORE_CREATORS, BETWEEN_CREATORS = "\x1f", "\n"
EVERYTHING: Final = BOUNDARY * 2
"""A word that every item has."""

_LISTED = """
    CREATE TABLE listed (
        number INTEGER PRIMARY KEY,
        facets TEXT NOT NULL,
        title TEXT NOT NULL,
        digest BLOB NOT NULL
    )
"""
# Words are kept as an index alone, if SQLite knows how to take rows out of such a table; that of some systems is older,
# and has to keep the words a second time.
_SEARCH = """
    CREATE VIRTUAL TABLE search USING fts5 (
        title, names, subject, rest, facets, {kind} tokenize = 'ascii', prefix = '2 3'
    )
"""
_CONTENTLESS, _CONTENTLESS_SINCE = "content = '', contentless_delete = 1,", (3, 43)

_KNOWN = "SELECT digest FROM listed WHERE number = ?"
_LIST = "INSERT OR REPLACE INTO listed (number, facets, title, digest) VALUES (?, ?, ?, ?)"
_UNLIST = "DELETE FROM listed WHERE number = ?"
_INDEX = "INSERT INTO search (rowid, title, names, subject, rest, facets) VALUES (?, ?, ?, ?, ?, ?)"
_UNINDEX = "DELETE FROM search WHERE rowid = ?"
_ITEMS = "SELECT number, item, local FROM items WHERE number > ? ORDER BY number LIMIT 500"


class ListedRow(NamedTuple):
    """What is to be written of an item that can be found, worked out before other writers wait for it."""

    facets: str
    title: str
    digest: bytes
    """Of everything else: most changes of an item change nothing of what it is found by."""
    words: tuple[str, str, str, str, str]


def listed_row(item: Item) -> ListedRow | None:
    """None if it is not to be found by words."""
    entry = entry_of(item)
    if entry is None:
        return None
    facets, words = _facets(entry), (*entry.fields, _facet_words(entry))
    digest = blake2b("\0".join((facets, entry.title_key, *words)).encode(), digest_size=8).digest()
    return ListedRow(facets, entry.title_key, digest, words)


def facet_word(facet: Facet, value: str) -> str:
    """The word of a value: it cannot be typed, nor confused with that of another facet."""
    # A stranger's text may hold what is no character.
    digest = blake2b(f"{facet.value}\0{value}".encode(errors="surrogatepass"), digest_size=8)
    return BOUNDARY + digest.hexdigest()


def list_item(connection: Connection, number: int, row: ListedRow | None, *, anew: bool = False) -> None:
    """Have the item of that number found by what the row says, and by nothing else. `anew`: whatever the tables say."""
    known = connection.execute(_KNOWN, (number,)).fetchone()
    if row is not None and known is not None and known[0] == row.digest and not anew:
        return
    if known is not None or anew:
        unlist_item(connection, number)
    if row is not None:
        connection.execute(_LIST, (number, row.facets, row.title, row.digest))
        connection.execute(_INDEX, (number, *row.words))


def unlist_item(connection: Connection, number: int) -> None:
    connection.execute(_UNINDEX, (number,))
    connection.execute(_UNLIST, (number,))


def begin_search(connection: Connection) -> None:
    """Make the tables, and fill them with what the catalogue has. For the migration of a catalogue."""
    (version,) = connection.execute("SELECT sqlite_version()").fetchone()
    is_recent = tuple(map(int, version.split(".")[:2])) >= _CONTENTLESS_SINCE
    connection.execute(_LISTED)
    connection.execute(_SEARCH.format(kind=_CONTENTLESS if is_recent else ""))
    last = -1 << 63
    while page := connection.execute(_ITEMS, (last,)).fetchall():
        for number, item, local in page:
            with suppress(NewerDocument):  # of which nothing is known but that there is something
                list_item(connection, number, listed_row(decode_item(item, local)))
        last = page[-1][0]


def check_search(connection: Connection) -> None:
    """Read the whole index of words; SQLite raises what it finds damaged. In a transaction that may write."""
    connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")


def _facets(entry: Entry) -> str:
    values = dict(entry.facets)
    single = BEFORE_CREATORS.join(values.get(facet, "") for facet in SINGLE_FACETS)
    return BETWEEN_CREATORS.join((single, *(value for facet, value in entry.facets if facet is Facet.CREATOR)))


def _facet_words(entry: Entry) -> str:
    return " ".join((EVERYTHING, *(facet_word(facet, value) for facet, value in entry.facets)))
