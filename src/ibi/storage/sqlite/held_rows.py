"""Totals of what the catalogue lists: items, files and bytes by state and by type, and the largest items.

They are kept up with every change, in its transaction, so that a report costs the same for ten items and ten million.
Triggers add and subtract, so that no way of changing an item leaves a total behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from ibi.label import RepositoryName
from ibi.model.content import HeldTotal
from ibi.model.item import Item
from ibi.model.metadata import ResourceType
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

BEGIN_HOLDINGS_BY_TYPE: Final = """
    ALTER TABLE held ADD COLUMN type TEXT NOT NULL DEFAULT '';
    CREATE TABLE held_types (
        type TEXT PRIMARY KEY,
        items INTEGER NOT NULL,
        files INTEGER NOT NULL,
        size INTEGER NOT NULL
    ) WITHOUT ROWID;
    UPDATE held SET type = coalesce(json_extract(CAST(items.item AS TEXT), '$.metadata.resource_type'), '')
        FROM items WHERE items.number = held.number AND json_valid(CAST(items.item AS TEXT));
    INSERT INTO held_types SELECT type, count(*), sum(files), sum(size) FROM held GROUP BY type;
    CREATE TRIGGER held_type_added AFTER INSERT ON held BEGIN
        INSERT INTO held_types VALUES (NEW.type, 1, NEW.files, NEW.size) ON CONFLICT (type) DO UPDATE SET
            items = items + 1, files = files + excluded.files, size = size + excluded.size; END;
    CREATE TRIGGER held_type_removed AFTER DELETE ON held BEGIN
        UPDATE held_types SET items = items - 1, files = files - OLD.files, size = size - OLD.size
            WHERE type = OLD.type; END
"""

_KNOWN: Final = "SELECT state, files, size, type FROM held WHERE number = ?"
_TAKE_OFF: Final = "DELETE FROM held WHERE number = ?"
_ADD: Final = "INSERT INTO held (number, state, files, size, type) VALUES (?, ?, ?, ?, ?)"
_TOTALS: Final = "SELECT state, items, files, size FROM held_totals WHERE items > 0"
_TYPE_TOTALS: Final = "SELECT type, items, files, size FROM held_types WHERE items > 0"
# `held` alone is read for it, of which a hundred thousand rows are some megabytes: an index would cost every deposit.
_LARGEST: Final = """
    SELECT rep, files, size FROM (SELECT number, files, size FROM held WHERE size > 0 ORDER BY size DESC LIMIT ?)
    JOIN items USING (number) ORDER BY size DESC, rep
"""


class HeldRow(NamedTuple):
    """What one item adds to the totals."""

    state: str
    files: int
    size: int
    type: str


def held_row(item: Item) -> HeldRow:
    kind = item.metadata.resource_type
    return HeldRow(
        item.state.value,
        len(item.files),
        sum(file.size for file in item.files),
        "" if kind is None else kind.value,
    )


def count_held(connection: Connection, number: int, row: HeldRow) -> None:
    """Have the item of that number counted as the row says."""
    known = connection.execute(_KNOWN, (number,)).fetchone()
    if known == row:
        return
    if known is not None:
        connection.execute(_TAKE_OFF, (number,))
    connection.execute(_ADD, (number, *row))


def held_totals(connection: Connection) -> dict[State, HeldTotal]:
    """The totals of each state of which there are items."""
    known = {state.value: state for state in State}
    rows = connection.execute(_TOTALS).fetchall()
    return {known[state]: HeldTotal(*totals) for state, *totals in rows if state in known}


def held_types(connection: Connection) -> dict[ResourceType | None, HeldTotal]:
    """The totals of each type of which there are items; None for those without one."""
    known = {kind.value: kind for kind in ResourceType}
    found: dict[ResourceType | None, HeldTotal] = {}
    for name, *totals in connection.execute(_TYPE_TOTALS).fetchall():
        found[known.get(name)] = HeldTotal(*totals)
    return found


def largest_held(connection: Connection, most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
    from ibi.storage.sqlite.catalog_rows import repository_name  # which writes the totals, and imports this

    rows = connection.execute(_LARGEST, (most,)).fetchall()
    return tuple((repository_name(rep), HeldTotal(1, files, size)) for rep, files, size in rows)


T = TypeVar("T")


class CatalogHoldings:
    """The part of a catalogue that tells its totals."""

    def _ask_reader(self, ask: Callable[..., T]) -> T:
        raise NotImplementedError

    def holdings(self) -> dict[State, HeldTotal]:
        return self._ask_reader(lambda reader: held_totals(reader.connection))

    def holdings_by_type(self) -> dict[ResourceType | None, HeldTotal]:
        return self._ask_reader(lambda reader: held_types(reader.connection))

    def largest(self, most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
        return self._ask_reader(lambda reader: largest_held(reader.connection, most))
