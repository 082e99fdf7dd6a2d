"""Databases of layout 1, as an earlier version made them."""

from __future__ import annotations

from pathlib import Path

from ibi.storage.connection import Connection, connect
from ibi.storage.earlier_tables import EARLIER, EarlierDatabase
from ibi.storage.guarded import keep_private


def earlier_database(part: str) -> EarlierDatabase:
    """Return what is known of the database that had the tables of a part."""
    return next(each for each in EARLIER if each.part == part)


def open_earlier(data: Path, part: str, formats: int | None = None) -> Connection:
    """Make the database of a part in a directory, in its newest format or one of its first `formats`."""
    found = earlier_database(part)
    path = data / found.kind.file_name
    keep_private(path)
    return connect(path, found.migrations[:formats], kind=found.kind)
