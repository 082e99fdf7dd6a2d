"""Totals of what the catalogue lists: items, files and bytes by state.

They are kept up with every change, in its transaction, so that a report costs the same for ten items and ten million.
Triggers add and subtract, so that no way of changing an item leaves a total behind.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ibi.model.content import HeldTotal
from ibi.model.item import Item
from ibi.storage.sqlite.connection import Connection
from ibi.vocabulary import State

# `held` has one small row for each item: what was added to the totals is subtracted again, whatever the record of the
# item says by then. The items that there are already are read by SQLite itself, a million in some seconds.
BEGIN_HOLDINGS: Final = """
    CREATE TABLE held (
        number INTEGER PRIMARY KEY,
        state TEXT NOT NULL,
        files INTEGER NOT NULL,
        size INTEGER NOT NULL
    );
    CREATE TABLE held_totals (
        state TEXT PRIMARY KEY,
        items INTEGER NOT NULL,
        files INTEGER NOT NULL,
        size INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TRIGGER held_added AFTER INSERT ON held BEGIN
        INSERT INTO held_totals VALUES (NEW.state, 1, NEW.files, NEW.size) ON CONFLICT (state) DO UPDATE SET
            items = items + 1, files = files + excluded.files, size = size + excluded.size; END;
    CREATE TRIGGER held_removed AFTER DELETE ON held BEGIN
        UPDATE held_totals SET items = items - 1, files = files - OLD.files, size = size - OLD.size
            WHERE state = OLD.state; END;
    CREATE TRIGGER held_of_item_removed AFTER DELETE ON items BEGIN
        DELETE FROM held WHERE number = OLD.number; END;
    INSERT INTO held
        SELECT number, json_extract(here, '$.state'), (SELECT count(*) FROM json_each(record, '$.files')),
            (SELECT coalesce(sum(json_extract(value, '$.size')), 0) FROM json_each(record, '$.files'))
        FROM (
            SELECT number, iif(json_valid(CAST(item AS TEXT)), CAST(item AS TEXT), '{}') AS record,
                iif(json_valid(CAST(local AS TEXT)), CAST(local AS TEXT), '{}') AS here FROM items
        )
        WHERE json_extract(here, '$.state') IS NOT NULL
"""

_KNOWN: Final = "SELECT state, files, size FROM held WHERE number = ?"
_REMOVE: Final = "DELETE FROM held WHERE number = ?"
_ADD: Final = "INSERT INTO held VALUES (?, ?, ?, ?)"
_TOTALS: Final = "SELECT state, items, files, size FROM held_totals WHERE items > 0"


class HeldRow(NamedTuple):
    """What one item adds to the totals."""

    state: str
    files: int
    size: int


def held_row(item: Item) -> HeldRow:
    return HeldRow(item.state.value, len(item.files), sum(file.size for file in item.files))


def count_held(connection: Connection, number: int, row: HeldRow) -> None:
    """Have the item of that number counted as the row says."""
    known = connection.execute(_KNOWN, (number,)).fetchone()
    if known == row:
        return
    if known is not None:
        connection.execute(_REMOVE, (number,))
    connection.execute(_ADD, (number, *row))


def held_totals(connection: Connection) -> dict[State, HeldTotal]:
    """The totals of each state of which there are items."""
    known = {state.value: state for state in State}
    rows = connection.execute(_TOTALS).fetchall()
    return {known[state]: HeldTotal(*totals) for state, *totals in rows if state in known}
