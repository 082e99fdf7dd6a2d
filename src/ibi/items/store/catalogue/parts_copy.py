"""Copy texts, previews and verification results from one file into another.

This happens in two cases. Earlier versions had three databases beside the catalogue; their rows move into it. A
catalogue that is damaged, or lists another store, is set aside: readable rows go into `catalogue-rescued.sqlite` first,
and into the next catalogue when it is opened.

The rows of a file are copied in one transaction, and the file is removed after that. So a killed process leaves the
source intact, and the next process that opens the catalogue copies again. Rows that exist already stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ibi.items.store.catalogue.integrity import BEGIN_INTEGRITY
from ibi.items.store.catalogue.part import connect_part
from ibi.items.store.catalogue.previews import BEGIN_PREVIEWS
from ibi.items.store.catalogue.texts import begin_texts, copy_word_index
from ibi.standard.storage_errors import CatalogDamaged
from ibi.storage.connection import Connection, DatabaseError, connect, connect_by_uri, storage_errors, transaction
from ibi.storage.errors import DiskRefused
from ibi.storage.group_commit import writer_queue
from ibi.storage.machine import refusals, sync_directory
from ibi.storage.unchanged import remove_database

RESCUED: Final = "catalogue-rescued.sqlite"


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one table of the catalogue, and their source."""

    table: str
    columns: str
    key: str
    """The sort key: rows are read forwards and, after damage, also backwards."""
    source: str
    """The source table, or a query in its place."""

    def insertion(self) -> str:
        places = ", ".join("?" for _ in self.columns.split(","))
        return f"INSERT OR IGNORE INTO {self.table} ({self.columns}) VALUES ({places})"  # noqa: S608 - constants


_FORMER_TEXTS: Final = (
    _Rows("texts", "digest, piece, text", "digest", "(SELECT digest, 0 AS piece, text FROM texts)"),
    _Rows("text_documents", "number, name", "number", "documents"),
    _Rows("text_files", "number, digest", "number, digest", "files"),
    _Rows("text_later", "name, until", "name", "later"),
)
_FORMER_PREVIEWS: Final = (
    _Rows("previews", "digest, name, made_by, begun, is_done, size, rendered", "digest", "previews"),
)
_FORMER_INTEGRITY: Final = (
    _Rows("verified_items", "name, verified, damaged, problems", "name", "items"),
    _Rows("block_digests", "digest, blocks", "digest", "blocks"),
    _Rows("wanted_verifications", "name, at", "name", "wanted"),
    _Rows("damage_letters", "sent", "sent", "letters"),
)
FORMER_VERIFICATIONS: Final = "integrity.sqlite"
_FORMER: Final = {
    FORMER_VERIFICATIONS: _FORMER_INTEGRITY,
    "texts.sqlite": _FORMER_TEXTS,
    "previews.sqlite": _FORMER_PREVIEWS,
}
_PRESENT: Final = tuple(
    _Rows(each.table, each.columns, key, each.table)
    for each, key in (
        *((each, each.key) for each in _FORMER_INTEGRITY),
        (_FORMER_TEXTS[0], "digest, piece"),
        *((each, each.key) for each in (*_FORMER_TEXTS[1:], *_FORMER_PREVIEWS)),
    )
)
FORMER_FILES: Final = tuple(_FORMER)
"""The databases of earlier versions."""
_PASSING: Final = frozenset({5, 6, 7, 13, 14})
"""Errors of SQLite that say nothing about the file: it is busy, or memory, disk or descriptors are used up."""


def take_in_parts(path: Path) -> None:
    """Copy rows from databases of earlier versions, or from a damaged catalogue, into the catalogue at `path`.

    Unreadable rows are left out. Files that cannot be copied now, as on a full disk, stay for the next time.
    """
    sources = [(path.with_name(name), rows) for name, rows in (*_FORMER.items(), (RESCUED, _PRESENT))]
    if not any(source.exists() for source, _ in sources):
        return
    with suppress(DiskRefused), writer_queue(path), storage_errors(path, CatalogDamaged):
        for source, rows in sources:
            if source.exists():  # another process may have copied it meanwhile
                with closing(connect_part(path)) as target, transaction(target):
                    _copy_parts(source, target, rows)
                with refusals(DiskRefused, source):
                    remove_database(source)
                    sync_directory(path.parent)


def rescue_parts(path: Path) -> None:
    """Copy the readable texts, previews and integrity rows of the catalogue at `path` into a file beside it."""
    if not path.exists():
        return
    rescued = path.with_name(RESCUED)
    tables = (begin_texts, BEGIN_PREVIEWS, BEGIN_INTEGRITY)
    with storage_errors(rescued), closing(connect(rescued, tables)) as target, transaction(target):
        _copy_parts(path, target, _PRESENT)


def _copy_parts(path: Path, target: Connection, rows: Sequence[_Rows]) -> None:
    with closing(connect_by_uri(f"{path.absolute().as_uri()}?mode=rw")) as source:
        is_first = target.execute("SELECT 1 FROM text_documents").fetchone() is None
        unread = [each for each in rows if not _copy_rows(source, target, each)]
        if rows is _FORMER_TEXTS and is_first and not unread:
            copy_word_index(source, target)


def _copy_rows(source: Connection, target: Connection, rows: _Rows) -> bool:
    """Copy the readable rows; return whether these are all."""
    statement = f"SELECT {rows.columns} FROM {rows.source} ORDER BY {rows.key}"  # noqa: S608 - constants
    if _copy_until_damage(source, target, statement, rows.insertion()):
        return True
    backwards = ", ".join(f"{column} DESC" for column in rows.key.split(", "))
    statement = f"SELECT {rows.columns} FROM {rows.source} ORDER BY {backwards}"  # noqa: S608 - constants
    _copy_until_damage(source, target, statement, rows.insertion())
    return False


def _copy_until_damage(source: Connection, target: Connection, selection: str, insertion: str) -> bool:
    for row in _read_until_damage(source, selection):
        if row is None:
            return False
        target.execute(insertion, row)
    return True


def _read_until_damage(source: Connection, selection: str) -> Iterator[tuple[Any, ...] | None]:
    """Yield the rows, and None once damage makes the rest unreadable."""
    try:
        yield from source.execute(selection)
    except DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _PASSING:
            raise
        yield None
