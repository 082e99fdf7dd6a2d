"""The words of files in SQLite: a cache, made anew from the store if it is lost.

Texts are kept once for each content, compressed, so that a rebuild of the catalogue reads no file again, and so that a
line of what was found can be shown. They go with the last item that has the file and may be read by all.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from ibi.archive.search import words
from ibi.archive.search_terms import Term, read_terms
from ibi.label import RepositoryName
from ibi.storage.errors import TextsDamaged
from ibi.storage.sqlite.catalog_rows import ROWIDS_PER_TICK, first_rowid
from ibi.storage.sqlite.connection import Connection, DatabaseKind, connect
from ibi.storage.sqlite.guarded import GuardedDatabase, OnDamage, keep_private, open_or_begin_anew
from ibi.storage.sqlite.search_rows import contentless_options

TEXTS: Final = DatabaseKind("texts.sqlite", 40, frozenset({"texts", "documents", "progress"}), TextsDamaged)
FILE_NAME: Final = TEXTS.file_name
_MOST_WORDS: Final = 1_000_000
"""Of one item: more than 4 MiB of one file usually have."""
_MOST_DUE: Final = 100
_PART: Final = 16 << 10
"""Characters."""


def _begin(connection: Connection) -> None:
    kind = contentless_options(connection)
    for statement in (
        "CREATE TABLE progress (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL, number INTEGER NOT NULL)",
        "INSERT INTO progress VALUES (1, '', 0)",
        "CREATE TABLE texts (digest TEXT PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID",
        "CREATE TABLE documents (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        "CREATE TABLE files (number INTEGER, digest TEXT, PRIMARY KEY (number, digest)) WITHOUT ROWID",
        "CREATE INDEX files_by_digest ON files (digest)",
        "CREATE TABLE later (name TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
        f"CREATE VIRTUAL TABLE words USING fts5 (description, body, {kind} tokenize = 'ascii')",
    ):
        connection.execute(statement)


MIGRATIONS: Final = (_begin,)
_NUMBER: Final = "SELECT number FROM documents WHERE name = ?"
# As items have them in the catalogue, so that the newest come first.
_ADD: Final = """
    INSERT INTO documents (number, name) VALUES (
        (SELECT nullif(coalesce(max(number) + 1, :first), :last + 1) FROM documents
            WHERE number BETWEEN :first AND :last), :name)
    RETURNING number
"""
_ORPHANS: Final = """
    DELETE FROM texts WHERE digest IN (SELECT value FROM json_each(?))
        AND NOT EXISTS (SELECT 1 FROM files WHERE files.digest = texts.digest)
"""
_FIND: Final = """
    SELECT documents.name FROM words CROSS JOIN documents ON documents.number = words.rowid
    WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?
"""
# Short texts first: a search for a line to show looks at so much and no more.
_DIGESTS: Final = """
    SELECT files.digest FROM documents JOIN files USING (number) LEFT JOIN texts USING (digest)
    WHERE documents.name = ? ORDER BY length(texts.text), files.digest
"""


class SqliteTexts(GuardedDatabase):
    """The port `TextIndex` on one data directory. A search and the worker have one each, so that neither waits."""

    def __init__(self, data: Path, on_damage: OnDamage | None = None) -> None:
        """With `on_damage`, a file that cannot be used is set aside: all of it can be read again."""
        path = data / FILE_NAME

        def open_file() -> Connection:
            keep_private(path)
            return connect(path, MIGRATIONS, kind=TEXTS)

        super().__init__(path, TEXTS, lambda: open_or_begin_anew(path, open_file, on_damage))

    def position(self) -> tuple[str, int]:
        with self._open() as connection:
            epoch, number = connection.execute("SELECT epoch, number FROM progress").fetchone()
        return epoch, number

    def note_position(self, epoch: str, number: int) -> None:
        with self._change() as connection:
            connection.execute("UPDATE progress SET epoch = ?, number = ?", (epoch, number))

    def find_text(self, digest: str) -> str | None:
        with self._open() as connection:
            row = connection.execute("SELECT text FROM texts WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else zlib.decompress(row[0]).decode()

    def put(self, name: RepositoryName, description: str, texts: Mapping[str, str]) -> None:
        body = " ".join(_body(texts))
        packed = [(digest, zlib.compress(text.encode(errors="replace"))) for digest, text in texts.items()]
        first = first_rowid(name)
        given = {"first": first, "last": first + ROWIDS_PER_TICK - 1, "name": str(name)}
        with self._change() as connection:
            connection.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", packed)
            before = _take_out(connection, str(name))
            ((number,),) = connection.execute(_ADD, given).fetchall()
            connection.executemany("INSERT INTO files VALUES (?, ?)", [(number, digest) for digest in texts])
            connection.execute(
                "INSERT INTO words (rowid, description, body) VALUES (?, ?, ?)", (number, description, body)
            )
            _drop_orphans(connection, before)

    def remove(self, name: RepositoryName) -> None:
        with self._change() as connection:
            _drop_orphans(connection, _take_out(connection, str(name)))

    def postpone(self, name: RepositoryName, until: int) -> None:
        with self._change() as connection:
            connection.execute("INSERT OR REPLACE INTO later VALUES (?, ?)", (str(name), until))

    def due(self, second: int) -> tuple[RepositoryName, ...]:
        with self._open() as connection:
            rows = connection.execute("SELECT name FROM later WHERE until <= ? LIMIT ?", (second, _MOST_DUE)).fetchall()
        return tuple(RepositoryName.parse(name) for (name,) in rows)

    def find(self, text: str, most: int) -> tuple[RepositoryName, ...]:
        match = _expression(text)
        if match is None:
            return ()
        with self._open() as connection:
            rows = connection.execute(_FIND, (match, most)).fetchall()
        return tuple(RepositoryName.parse(name) for (name,) in rows)

    def digests(self, name: RepositoryName) -> tuple[str, ...]:
        with self._open() as connection:
            rows = connection.execute(_DIGESTS, (str(name),)).fetchall()
        return tuple(digest for (digest,) in rows)

    def texts(self, name: RepositoryName) -> Iterator[str]:
        for digest in self.digests(name):  # one at a time: together they may be hundreds of megabytes
            text = self.find_text(digest)
            if text is not None:
                yield text


def _body(texts: Mapping[str, str], most: int = _MOST_WORDS) -> Iterator[str]:
    """The words of all files. Each file has an equal share of `most`; what the shorter ones leave of theirs goes to the
    longer ones, which come last."""
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
    """The text in parts that take little time each, so that others get their turn between them."""
    start = 0
    while start < len(text):
        end = min(start + _PART, len(text))
        cut = text.rfind(" ", start, end) if end < len(text) else end
        end = cut if cut > start else end
        yield text[start:end]
        start = end


def _take_out(connection: Connection, name: str) -> list[str]:
    """Forget the item; the digests of its files."""
    connection.execute("DELETE FROM later WHERE name = ?", (name,))
    row = connection.execute(_NUMBER, (name,)).fetchone()
    if row is None:
        return []
    digests = [digest for (digest,) in connection.execute("SELECT digest FROM files WHERE number = ?", row).fetchall()]
    for statement in (
        "DELETE FROM words WHERE rowid = ?",
        "DELETE FROM files WHERE number = ?",
        "DELETE FROM documents WHERE number = ?",
    ):
        connection.execute(statement, row)
    return digests


def _drop_orphans(connection: Connection, digests: list[str]) -> None:
    if digests:
        connection.execute(_ORPHANS, (json.dumps(digests),))


def _expression(text: str) -> str | None:
    """What FTS5 is asked for; None if nothing is sought that may stand anywhere."""
    terms = read_terms(text)
    groups = [group for group in terms.wanted if all(isinstance(each, Term) and each.field is None for each in group)]
    if not groups:
        return None
    wanted = " AND ".join(f"({' OR '.join(_quote(each) for each in group)})" for group in groups)
    unwanted = [_quote(each) for each in terms.unwanted if isinstance(each, Term) and each.field is None]
    # What the description has all of is found without its files.
    without = " OR ".join((*unwanted, f"(description : ({wanted}))"))
    return f"({wanted}) NOT ({without})"


def _quote(clause: object) -> str:
    assert isinstance(clause, Term)
    return f'"{" ".join(clause.words)}"'
