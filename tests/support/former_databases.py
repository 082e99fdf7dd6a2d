"""Databases beside the catalogue as earlier versions made them: their rows move into the catalogue's file."""

from __future__ import annotations

import zlib
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from ibi.items.store.catalogue.search_rows import contentless_options
from ibi.storage.connection import Connection, driver, transaction  # type: ignore[attr-defined]

DIGEST = "ab" * 64
BLOCKS = b"1" * 64
PROBLEMS = b'[["damaged","E092","v1/content/doc/a.txt","another digest",null]]'


def write_former_databases(data: Path, texts: dict[tuple[int, str], str], previews: int = 3, items: int = 3) -> None:
    """`texts` are those of items, by their number and name."""
    data.mkdir(exist_ok=True)
    _write_texts(data / "texts.sqlite", texts)
    _write_previews(data / "previews.sqlite", previews)
    _write_integrity(data / "integrity.sqlite", items)


def _connect(path: Path) -> Connection:
    connection: Connection = driver.connect(str(path), isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    return connection


def _write_texts(path: Path, texts: dict[tuple[int, str], str]) -> None:
    with closing(_connect(path)) as file, transaction(file):
        kind = contentless_options(file)
        for statement in (
            "CREATE TABLE progress"
            " (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL, number INTEGER NOT NULL)",
            "INSERT INTO progress VALUES (1, 'an epoch', 7)",
            "CREATE TABLE texts (digest TEXT PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE documents (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
            "CREATE TABLE files (number INTEGER, digest TEXT, PRIMARY KEY (number, digest)) WITHOUT ROWID",
            "CREATE INDEX files_by_digest ON files (digest)",
            "CREATE TABLE later (name TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
            f"CREATE VIRTUAL TABLE words USING fts5 (description, body, {kind} tokenize = 'ascii')",
            "PRAGMA user_version = 1",
        ):
            file.execute(statement)
        for (number, name), text in texts.items():
            digest = sha256(text.encode()).hexdigest()
            file.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (digest, zlib.compress(text.encode())))
            file.execute("INSERT INTO documents VALUES (?, ?)", (number, name))
            file.execute("INSERT INTO files VALUES (?, ?)", (number, digest))
            file.execute("INSERT INTO words (rowid, description, body) VALUES (?, 'a title', ?)", (number, text))


def _write_previews(path: Path, number: int) -> None:
    with closing(_connect(path)) as file, transaction(file):
        file.execute(
            "CREATE TABLE previews (digest TEXT PRIMARY KEY, name TEXT NOT NULL, made_by INTEGER NOT NULL,"
            " begun INTEGER NOT NULL, is_done INTEGER NOT NULL, size INTEGER NOT NULL, rendered BLOB)"
        )
        rows = [(str(each), "a/b", 1, each, 1, 9, zlib.compress(b"<p>")) for each in range(number)]
        file.executemany("INSERT INTO previews VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        file.execute("PRAGMA user_version = 1")


def _write_integrity(path: Path, number: int) -> None:
    with closing(_connect(path)) as file, transaction(file):
        for statement in (
            "CREATE TABLE blocks (digest BLOB PRIMARY KEY, blocks BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE items (name TEXT PRIMARY KEY, verified INTEGER, damaged INTEGER,"
            " problems BLOB NOT NULL DEFAULT '[]') WITHOUT ROWID",
            "CREATE TABLE letters (sent INTEGER NOT NULL)",
            "CREATE TABLE wanted (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID",
            "INSERT INTO letters VALUES (5), (9)",
            "INSERT INTO wanted VALUES ('wanted', 4)",
            "PRAGMA user_version = 2",
        ):
            file.execute(statement)
        digest = bytes.fromhex(DIGEST)
        file.execute("INSERT INTO blocks VALUES (?, ?)", (digest, BLOCKS + sha256(digest + BLOCKS).digest()[:8]))
        file.execute("INSERT INTO items VALUES ('damaged', 100, 90, ?)", (PROBLEMS,))
        names = [(f"item {each:06}", each) for each in range(number)]
        file.executemany("INSERT INTO items (name, verified) VALUES (?, ?)", names)
