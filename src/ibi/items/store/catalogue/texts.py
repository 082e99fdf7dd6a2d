"""The words and texts of files: tables in the catalogue's file, derived again from the store if they are lost.

Texts are stored compressed, once per content, so that a rebuild of the catalogue reads no file again, and so that
matching lines can be shown. They are deleted with the last public item that has the file.

Deposits wait for these writes. So a long text is written in pieces, and the words of a long item in several rows, each
in a transaction of its own. The last transaction makes them visible; after a crash the work is repeated.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Final

from ibi.items.rules.search import words
from ibi.items.rules.search_terms import Term, read_terms
from ibi.items.store.catalogue.part import MOST_BYTES, CatalogPart
from ibi.items.store.catalogue.rows import ROWIDS_PER_TICK, first_rowid
from ibi.items.store.catalogue.search_rows import contentless_options
from ibi.standard.label import RepositoryName
from ibi.storage.connection import Connection, DatabaseError, snapshot

_MOST_WORDS: Final = 1_000_000
"""Maximum words of one item: more than 4 MiB of one file usually have."""
MOST_ROW_WORDS: Final = 4_096
"""Words of one row, so that it is written in about 2 ms. Longer items have several rows."""
_ROWS: Final = 256
"""Row numbers reserved for one long item, at its place."""
_PLACES: Final = 256
"""Places reserved for the long items of one 256th of a second, so that places have the order of item numbers."""
_LAST_PLACE: Final = (1 << 63) // _ROWS - 1
_OVERLAP: Final = 16
"""Words that a row repeats from the previous one, so that phrases across the boundary are found."""
_MOST_DUE: Final = 100
_MOST_DROPPED: Final = 4
"""Pieces of texts deleted in one transaction."""
_MOST_LEAPS: Final = 10_000
"""Maximum rows of long items that one search seeks: about half a second."""
_PART: Final = 16 << 10
"""Characters."""


_WORD_TABLES: Final = ("text_words", "text_long_words")
_MERGED: Final = 16
"""Pages of the index that one transaction merges: about 1 ms."""
_MOST_MERGES: Final = 8
"""Merge transactions after each row of words. A row creates fewer pages than they merge."""


def begin_texts(connection: Connection) -> None:
    """Make the tables. Part of a migration of the catalogue."""
    kind = contentless_options(connection)
    for statement in (
        "CREATE TABLE text_progress"
        " (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL, number INTEGER NOT NULL)",
        "INSERT INTO text_progress VALUES (1, '', 0)",
        "CREATE TABLE texts (digest TEXT, piece INTEGER, text BLOB NOT NULL, PRIMARY KEY (digest, piece))"
        " WITHOUT ROWID",
        "CREATE TABLE text_documents (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        "CREATE TABLE text_files (number INTEGER, digest TEXT, PRIMARY KEY (number, digest)) WITHOUT ROWID",
        "CREATE INDEX text_files_by_digest ON text_files (digest)",
        "CREATE TABLE text_later (name TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
        # The first table has items with all words in one row. In the second, the words of an item are spread over rows.
        f"CREATE VIRTUAL TABLE text_words USING fts5 (description, body, {kind} tokenize = 'ascii')",
        f"CREATE VIRTUAL TABLE text_long_words USING fts5 (description, body, {kind} tokenize = 'ascii')",
        "CREATE TABLE text_long (place INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, is_whole INTEGER NOT NULL)",
    ):
        connection.execute(statement)
    for table in _WORD_TABLES:
        # `_merge` merges the index in steps, because SQLite's automatic merge could make one transaction long.
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('automerge', 0)")  # noqa: S608 - a constant
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('crisismerge', 1000)")  # noqa: S608


_INDEX_TABLES: Final = ("data", "idx", "docsize")


def copy_word_index(source: Connection, target: Connection) -> None:
    """Copy an earlier version's word index and its position into empty tables.

    An index of another build, or a damaged one, is skipped: the worker then rebuilds it from the texts.
    """
    if contentless_options(source) not in _definition(source, "words"):
        return
    target.execute("SAVEPOINT word_index")
    try:
        for table in _INDEX_TABLES:
            target.execute(f"DELETE FROM text_words_{table}")  # noqa: S608 - a constant
            for row in source.execute(f"SELECT * FROM words_{table}"):  # noqa: S608 - a constant
                places = ", ".join("?" for _ in row)
                target.execute(f"INSERT INTO text_words_{table} VALUES ({places})", row)  # noqa: S608 - a constant
        progress = source.execute("SELECT epoch, number FROM progress").fetchone()
        target.execute("UPDATE text_progress SET epoch = ?, number = ?", progress)
    except DatabaseError:
        target.execute("ROLLBACK TO word_index")
    target.execute("RELEASE word_index")


def _definition(connection: Connection, table: str) -> str:
    ((sql,),) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
    return str(sql)


_NUMBER: Final = "SELECT number FROM text_documents WHERE name = ?"
# The same numbers as in the catalogue, so that the newest come first.
_ADD: Final = """
    INSERT INTO text_documents (number, name) VALUES (
        (SELECT nullif(coalesce(max(number) + 1, :first), :last + 1) FROM text_documents
            WHERE number BETWEEN :first AND :last), :name)
    RETURNING number
"""
_ADD_LONG: Final = """
    INSERT INTO text_long SELECT coalesce(max(place) + 1, :first), :number, 0 FROM text_long
        WHERE place BETWEEN :first AND :last HAVING coalesce(max(place), 0) < :last
    RETURNING place
"""
_ORPHANS: Final = """
    SELECT digest, piece FROM texts WHERE digest IN (SELECT value FROM json_each(?))
        AND NOT EXISTS (SELECT 1 FROM text_files WHERE text_files.digest = texts.digest)
    ORDER BY digest, piece LIMIT ?
"""
_FIND: Final = "SELECT rowid FROM text_words WHERE text_words MATCH ? ORDER BY rowid DESC LIMIT ?"
_NEWEST_LONG: Final = """
    SELECT rowid FROM text_long_words WHERE text_long_words MATCH ? AND rowid <= ? ORDER BY rowid DESC LIMIT 1
"""
_ANY_LONG: Final = "SELECT 1 FROM text_long_words WHERE text_long_words MATCH ? AND rowid BETWEEN ? AND ? LIMIT 1"
# Short texts first: a search for a matching line stops after a limit.
_DIGESTS: Final = """
    SELECT text_files.digest FROM text_documents JOIN text_files USING (number) LEFT JOIN texts USING (digest)
    WHERE text_documents.name = ? GROUP BY digest ORDER BY sum(length(texts.text)), text_files.digest
"""


class SqliteTexts(CatalogPart):
    """Implements the port `TextIndex` on one data directory. Searches and the worker have an instance each, so that
    neither waits for the other."""

    rest = 2.0

    def position(self) -> tuple[str, int]:
        with self._open() as connection:
            epoch, number = connection.execute("SELECT epoch, number FROM text_progress").fetchone()
        return epoch, number

    def note_position(self, epoch: str, number: int) -> None:
        with self._change() as connection:
            connection.execute("UPDATE text_progress SET epoch = ?, number = ?", (epoch, number))

    def find_text(self, digest: str) -> str | None:
        with self._open() as connection:
            return _read_text(connection, digest)

    def put(self, name: RepositoryName, description: str, texts: Mapping[str, str]) -> None:
        body = list(_body(texts))
        for digest, text in texts.items():
            self._put_text(digest, text)
        first = first_rowid(name)
        given = {"first": first, "last": first + ROWIDS_PER_TICK - 1, "name": str(name)}
        with self._change() as connection:
            before = _take_out(connection, str(name))
            ((number,),) = connection.execute(_ADD, given).fetchall()
            connection.executemany("INSERT INTO text_files VALUES (?, ?)", [(number, digest) for digest in texts])
            place = _take_place(connection, number) if len(body) > MOST_ROW_WORDS else None
            if place is None:
                connection.execute(
                    "INSERT INTO text_words (rowid, description, body) VALUES (?, ?, ?)",
                    (number, description, " ".join(body[:MOST_ROW_WORDS])),
                )
        if place is None:
            self._merge("text_words")
        else:
            self._put_long(place, description, body)
        self._drop_orphans(before)

    def _put_text(self, digest: str, text: str) -> None:
        """Write the pieces from the last to the first: a text without its first piece is not found."""
        packed = zlib.compress(text.encode(errors="replace"))
        for piece in reversed(range((len(packed) + MOST_BYTES - 1) // MOST_BYTES)):
            row = digest, piece, packed[piece * MOST_BYTES : (piece + 1) * MOST_BYTES]
            with self._open() as connection:
                if connection.execute("SELECT 1 FROM texts WHERE (digest, piece, text) = (?, ?, ?)", row).fetchone():
                    continue
            with self._change() as connection:
                connection.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, ?)", row)

    def _put_long(self, place: int, description: str, body: Sequence[str]) -> None:
        for row, start in enumerate(range(0, len(body), MOST_ROW_WORDS)):
            text = " ".join(body[max(0, start - _OVERLAP) : start + MOST_ROW_WORDS])
            with self._change() as connection:
                connection.execute(
                    "INSERT INTO text_long_words (rowid, description, body) VALUES (?, ?, ?)",
                    (place * _ROWS + row, "" if row else description, text),
                )
            self._merge("text_long_words")
        with self._change() as connection:
            connection.execute("UPDATE text_long SET is_whole = 1 WHERE place = ?", (place,))

    def _merge(self, table: str) -> None:
        """Merge parts of a large word index step by step."""
        for _ in range(_MOST_MERGES):
            with self._change() as connection:
                before = connection.total_changes
                connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (_MERGED,))  # noqa: S608
                if connection.total_changes - before < 2:  # SQLite's sign that there was nothing to merge
                    return

    def remove(self, name: RepositoryName) -> None:
        with self._open() as connection:
            is_known = connection.execute(
                "SELECT EXISTS (SELECT 1 FROM text_later WHERE name = :name)"
                " OR EXISTS (SELECT 1 FROM text_documents WHERE name = :name)",
                {"name": str(name)},
            ).fetchone()[0]
        if is_known:
            with self._change() as connection:
                before = _take_out(connection, str(name))
            self._drop_orphans(before)

    def _drop_orphans(self, digests: list[str]) -> None:
        """Delete the texts of these contents that no item has any more, a few pieces per transaction."""
        while digests:
            with self._open() as connection:
                pieces = connection.execute(_ORPHANS, (json.dumps(digests), _MOST_DROPPED)).fetchall()
            if not pieces:
                return
            with self._change() as connection:
                connection.executemany("DELETE FROM texts WHERE digest = ? AND piece = ?", pieces)

    def postpone(self, name: RepositoryName, until: int) -> None:
        with self._change() as connection:
            connection.execute("INSERT OR REPLACE INTO text_later VALUES (?, ?)", (str(name), until))

    def due(self, second: int) -> tuple[RepositoryName, ...]:
        with self._open() as connection:
            rows = connection.execute(
                "SELECT name FROM text_later WHERE until <= ? LIMIT ?", (second, _MOST_DUE)
            ).fetchall()
        return tuple(RepositoryName.parse(name) for (name,) in rows)

    def find(self, text: str, most: int) -> tuple[RepositoryName, ...]:
        sought = _Sought.read(text)
        if sought is None:
            return ()
        with self._open() as connection, snapshot(connection):
            numbers = [number for (number,) in connection.execute(_FIND, (sought.in_one_row(), most)).fetchall()]
            numbers = sorted({*numbers, *islice(_find_long(connection, sought), most)}, reverse=True)[:most]
            rows = [
                connection.execute("SELECT name FROM text_documents WHERE number = ?", (number,)).fetchone()
                for number in numbers
            ]
        return tuple(RepositoryName.parse(row[0]) for row in rows if row is not None)

    def digests(self, name: RepositoryName) -> tuple[str, ...]:
        with self._open() as connection:
            rows = connection.execute(_DIGESTS, (str(name),)).fetchall()
        return tuple(digest for (digest,) in rows)

    def texts(self, name: RepositoryName) -> Iterator[str]:
        for digest in self.digests(name):  # one at a time: together they may be hundreds of megabytes
            text = self.find_text(digest)
            if text is not None:
                yield text


def _read_text(connection: Connection, digest: str) -> str | None:
    """Return the complete text; None for one that was written in part, or copied from a damaged file."""
    rows = connection.execute("SELECT piece, text FROM texts WHERE digest = ? ORDER BY piece", (digest,)).fetchall()
    with suppress(zlib.error, UnicodeDecodeError):
        unpack = zlib.decompressobj()
        text = b"".join(unpack.decompress(piece) for number, (at, piece) in enumerate(rows) if at == number)
        return text.decode() if unpack.eof else None
    return None


def _body(texts: Mapping[str, str], most: int = _MOST_WORDS) -> Iterator[str]:
    """Yield the words of all files. Each file has an equal share of `most`; the rest of a shorter file's share goes to
    the longer ones, which come last."""
    left = most
    for number, text in enumerate(sorted(texts.values(), key=len)):
        share = left // (len(texts) - number)
        left -= share
        for part in _parts(text):
            if not share:
                break
            found = words(part)[:share]
            yield from found
            share -= len(found)
        left += share


def _parts(text: str) -> Iterator[str]:
    """Yield the text in parts that take little time each, so that other threads get their turn between them."""
    start = 0
    while start < len(text):
        end = min(start + _PART, len(text))
        cut = text.rfind(" ", start, end) if end < len(text) else end
        end = cut if cut > start else end
        yield text[start:end]
        start = end


def _take_place(connection: Connection, number: int) -> int | None:
    """Reserve a place for a long item, among those of its instant; None if all are taken."""
    first = number // (ROWIDS_PER_TICK * _PLACES) * _PLACES
    given = {"first": first, "last": first + _PLACES - 1, "number": number}
    found = connection.execute(_ADD_LONG, given).fetchall()
    return found[0][0] if found else None


def _take_out(connection: Connection, name: str) -> list[str]:
    """Delete the item, and return the digests of its files."""
    connection.execute("DELETE FROM text_later WHERE name = ?", (name,))
    row = connection.execute(_NUMBER, (name,)).fetchone()
    if row is None:
        return []
    found = connection.execute("SELECT digest FROM text_files WHERE number = ?", row).fetchall()
    taken = connection.execute("DELETE FROM text_long WHERE number = ? RETURNING place", row).fetchall()
    if taken:
        rows = range(taken[0][0] * _ROWS, (taken[0][0] + 1) * _ROWS)
        connection.executemany("DELETE FROM text_long_words WHERE rowid = ?", ((each,) for each in rows))
    else:
        connection.execute("DELETE FROM text_words WHERE rowid = ?", row)
    connection.execute("DELETE FROM text_files WHERE number = ?", row)
    connection.execute("DELETE FROM text_documents WHERE number = ?", row)
    return [digest for (digest,) in found]


@dataclass(frozen=True, slots=True)
class _Sought:
    """A search in texts, with its FTS5 expressions."""

    wanted: tuple[str, ...]
    """Groups that each have to match some row of the item."""
    unwanted: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> _Sought | None:
        """Parse the text. Return None if it has no word without a field."""
        terms = read_terms(text)
        groups = tuple(
            f"({' OR '.join(map(_quote, group))})"
            for group in terms.wanted
            if all(isinstance(each, Term) and each.field is None for each in group)
        )
        unwanted = tuple(_quote(each) for each in terms.unwanted if isinstance(each, Term) and each.field is None)
        return cls(groups, unwanted) if groups else None

    @property
    def not_here(self) -> str:
        """The expression that a row must not match. If the description alone has all words, the catalogue's search
        finds the item already."""
        return " OR ".join((*self.unwanted, f"(description : ({' AND '.join(self.wanted)}))"))

    def in_one_row(self) -> str:
        return f"({' AND '.join(self.wanted)}) NOT ({self.not_here})"


def _find_long(connection: Connection, sought: _Sought) -> Iterator[int]:
    """Yield the numbers of matching long items, the newest first. The words may be in different rows of one item."""
    if connection.execute("SELECT 1 FROM text_long").fetchone() is None:
        return
    leaps = chain.from_iterable(repeat(sought.wanted, _MOST_LEAPS // len(sought.wanted)))
    below, agreed = _LAST_PLACE, 0
    for group in leaps:
        place = _last_long(connection, group, below)
        if place is None:
            return
        agreed = agreed + 1 if place == below else 1
        below = place
        if agreed == len(sought.wanted):
            yield from _whole_at(connection, place, sought)
            below, agreed = place - 1, 0


def _last_long(connection: Connection, expression: str, most: int) -> int | None:
    """Return the last place, `most` at most, of a long item with a matching row."""
    row = connection.execute(_NEWEST_LONG, (expression, most * _ROWS + _ROWS - 1)).fetchone()
    return None if row is None else row[0] // _ROWS


def _whole_at(connection: Connection, place: int, sought: _Sought) -> Iterator[int]:
    """Yield the number of the item at that place if it is completely written, and nothing unwanted is in it."""
    span = place * _ROWS, place * _ROWS + _ROWS - 1
    if connection.execute(_ANY_LONG, (sought.not_here, *span)).fetchone() is None:
        for (number,) in connection.execute("SELECT number FROM text_long WHERE place = ? AND is_whole", (place,)):
            yield number


def _quote(clause: object) -> str:
    assert isinstance(clause, Term)
    return f'"{" ".join(clause.words)}"'
