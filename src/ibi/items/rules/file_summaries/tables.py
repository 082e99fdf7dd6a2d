"""The first rows of a table in a text with separated values."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Final

from ibi.items.rules.file_summaries.reading import shorten

MOST_ROWS: Final = 50
MOST_COLUMNS: Final = 20
_SEPARATORS: Final = ",;\t|"


@dataclass(frozen=True, slots=True)
class Table:
    """The first rows of a table, cut or filled to the length of the first row. That row names the columns."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_whole: bool = True
    """True if no row and no column was left out."""


def read_table(text: str, *, is_whole: bool = True) -> Table | None:
    """Return the table in a text with separated values, or None if its first line has no separator. Unless `is_whole`,
    the last line may be cut."""
    if not is_whole:
        text = text[: text.rfind("\n") + 1]
    first = text.partition("\n")[0]
    separator = max(_SEPARATORS, key=first.count)
    if separator not in first:
        return None
    rows, is_complete = _read_rows(text, separator)
    if not rows:
        return None
    width = min(len(rows[0]), MOST_COLUMNS)
    is_whole = is_whole and is_complete and all(len(row) <= width for row in rows)
    shaped = [tuple(shorten(cell) for cell in row[:width]) + ("",) * (width - len(row)) for row in rows]
    return Table(shaped[0], tuple(shaped[1:]), is_whole)


def _read_rows(text: str, separator: str) -> tuple[list[list[str]], bool]:
    """Return the first rows that are not empty, and whether they are all rows of the text."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader((f"{line}\n" for line in text.split("\n")), delimiter=separator):
            if len(rows) > MOST_ROWS:
                return rows, False
            if row:
                rows.append(row)
    except csv.Error:
        return rows, False
    return rows, True
