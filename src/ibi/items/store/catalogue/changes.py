"""The feed of changes in the catalogue's file, written in the transactions of the changes themselves."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

from ibi.items.model.change import ChangeKind, ChangePage, FeedPosition, ItemChange, Revision
from ibi.items.model.content import HeldTotal
from ibi.items.model.item import Item
from ibi.items.model.metadata import ResourceType
from ibi.standard.label import Label, RepositoryName
from ibi.standard.vocabulary import State
from ibi.storage.connection import Connection, snapshot

# The totals change in the transaction of each change, so that a report costs the same for ten items and ten million.
# Triggers add and subtract, so that no way of changing an item leaves a total behind.
#
# `held` has one small row for each item: exactly the added values are subtracted later, even if the record differs by
# then. SQLite itself reads the items that exist already, a million in some seconds.
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
# The query reads only `held`; a hundred thousand rows take some megabytes. An index would slow down every deposit.
_LARGEST: Final = """
    SELECT rep, files, size FROM (SELECT number, files, size FROM held WHERE size > 0 ORDER BY size DESC LIMIT ?)
    JOIN items USING (number) ORDER BY size DESC, rep
"""


class HeldRow(NamedTuple):
    """The contribution of one item to the totals."""

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
    """Count the item with that number as the row says."""
    known = connection.execute(_KNOWN, (number,)).fetchone()
    if known == row:
        return
    if known is not None:
        connection.execute(_TAKE_OFF, (number,))
    connection.execute(_ADD, (number, *row))


def held_totals(connection: Connection) -> dict[State, HeldTotal]:
    """Return the totals of each state that has items."""
    known = {state.value: state for state in State}
    rows = connection.execute(_TOTALS).fetchall()
    return {known[state]: HeldTotal(*totals) for state, *totals in rows if state in known}


def held_types(connection: Connection) -> dict[ResourceType | None, HeldTotal]:
    """Return the totals of each type that has items; None stands for items without a type."""
    known = {kind.value: kind for kind in ResourceType}
    found: dict[ResourceType | None, HeldTotal] = {}
    for name, *totals in connection.execute(_TYPE_TOTALS).fetchall():
        found[known.get(name)] = HeldTotal(*totals)
    return found


def largest_held(connection: Connection, most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
    from ibi.storage.columns import repository_name  # which writes the totals, and imports this

    rows = connection.execute(_LARGEST, (most,)).fetchall()
    return tuple((repository_name(rep), HeldTotal(1, files, size)) for rep, files, size in rows)


T = TypeVar("T")


class CatalogHoldings:
    """The methods of a catalogue that return its totals."""

    def _ask_reader(self, ask: Callable[..., T]) -> T:
        raise NotImplementedError

    def holdings(self) -> dict[State, HeldTotal]:
        return self._ask_reader(lambda reader: held_totals(reader.connection))

    def holdings_by_type(self) -> dict[ResourceType | None, HeldTotal]:
        return self._ask_reader(lambda reader: held_types(reader.connection))

    def largest(self, most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
        return self._ask_reader(lambda reader: largest_held(reader.connection, most))


_KINDS: Final = {kind.value: kind for kind in ChangeKind}
_COLUMNS = "number, label, kind, at, head, listed, related"
_EPOCH = "SELECT epoch, (SELECT coalesce(max(number), 0) FROM changes) FROM feed"
_SINCE = f"SELECT {_COLUMNS} FROM changes WHERE number > ? ORDER BY number LIMIT ?"  # noqa: S608
_CURRENT = f"SELECT {_COLUMNS} FROM changes WHERE number > ? AND is_last ORDER BY number LIMIT ?"  # noqa: S608
# The plus keeps SQLite from sorting all of a large prefix for each page.
_CURRENT_OF = f"""
    SELECT {_COLUMNS} FROM changes WHERE number > ? AND is_last AND +label >= ? AND +label < ? ORDER BY number LIMIT ?
"""  # noqa: S608
_FIRST_FROM = "SELECT label FROM changes WHERE is_last = 1 AND label >= ? ORDER BY label LIMIT 1"
_LAST = f"SELECT {_COLUMNS} FROM changes WHERE label = ? AND is_last = 1"  # noqa: S608
_TYPES: Final = {str(kind): kind for kind in ResourceType}
_TYPE = "SELECT json_extract(CAST(item AS TEXT), '$.metadata.resource_type') FROM items WHERE rep = ?"
_LISTED = "SELECT listed FROM changes WHERE number = ?"
_OVERTAKE = "UPDATE changes SET is_last = 0 WHERE number = ?"
_APPEND = """
    INSERT INTO changes (label, kind, at, head, related, listed, is_last)
    VALUES (?, ?, ?, ?, ?, max(?, coalesce((SELECT listed FROM changes ORDER BY number DESC LIMIT 1), 0)), 1)
"""
_APPEND_AT = "INSERT INTO changes (label, kind, at, head, related, listed, is_last) VALUES (?, ?, ?, ?, ?, ?, 1)"
_RENEW = (
    """
    CREATE TEMP TABLE renewed AS
    SELECT label, kind, at, head, listed, related FROM changes WHERE is_last ORDER BY listed, number
    """,
    "DELETE FROM changes",
    """
    INSERT INTO changes (label, kind, at, head, listed, related, is_last)
    SELECT label, kind, at, head, listed, related, 1 FROM temp.renewed ORDER BY rowid
    """,
    "DROP TABLE temp.renewed",
)
# The entries for a catalogue without a feed, from its records. They lack the version of the object; the number of
# publications is close to it, and the next rebuild reads the objects.
_FILL = """
    INSERT INTO changes (label, kind, at, head, listed, related, is_last)
    SELECT
        json_extract(item, '$.labels.rep'),
        iif(json_extract(local, '$.state') = 'Deleted', 'deleted', 'put'),
        coalesce(json_extract(local, '$.tombstone.when'), json_extract(item, '$.updated')),
        coalesce(json_extract(item, '$.version'), 1),
        min(:now, coalesce(unixepoch(substr(json_extract(item, '$.updated'), 1, 19)), :now)),
        1,
        1
    FROM items
    WHERE json_extract(item, '$.labels.rep') IS NOT NULL AND json_extract(item, '$.updated') IS NOT NULL
    ORDER BY 5, rep
"""


def begin_feed(connection: Connection) -> None:
    """Make the tables, with an entry for each item of the catalogue. Part of a migration."""
    connection.execute(
        """
        CREATE TABLE changes (
            number INTEGER PRIMARY KEY,
            label TEXT NOT NULL COLLATE NOCASE,
            kind TEXT NOT NULL,
            at TEXT NOT NULL,
            head INTEGER NOT NULL,
            listed INTEGER NOT NULL,
            related INTEGER NOT NULL,
            is_last INTEGER NOT NULL
        )
        """
    )
    connection.execute("CREATE UNIQUE INDEX last_changes ON changes (label) WHERE is_last = 1")
    connection.execute("CREATE TABLE feed (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL)")
    connection.execute("INSERT INTO feed VALUES (1, ?)", (_new_epoch(),))
    connection.execute(_FILL, {"now": int(time.time())})


def complete_feed(connection: Connection) -> None:
    """Add the column that the first feeds did not have. Part of a migration. Relations are not looked up, so each item
    counts as one with relations."""
    if "related" not in {name for _, name, *_ in connection.execute("PRAGMA table_info(changes)")}:
        connection.execute("ALTER TABLE changes ADD COLUMN related INTEGER NOT NULL DEFAULT 1")


def append_change(
    connection: Connection,
    label: str,
    kind: ChangeKind,
    revision: Revision,
    *,
    related: bool = True,
    always: bool = False,
    as_recorded: bool = False,
) -> None:
    """Append an entry, unless the last one of that label is equal and `always` is not set.

    `related` is that of `ItemChange`. With `as_recorded`, an item without an entry gets the time of its revision
    instead of now; the order of entries is then wrong until `renew_epoch`.
    """
    last = connection.execute(_LAST, (label,)).fetchone()
    at, head = str(revision.at), revision.head
    if last is not None:
        number, _, last_kind, last_at, last_head, _, was_related = last
        related = related or bool(was_related)
        if (last_kind, last_at, last_head) == (kind, at, head) and not always:
            return
        connection.execute(_OVERTAKE, (number,))
    now = int(time.time())
    if as_recorded and last is None:
        connection.execute(_APPEND_AT, (label, kind.value, at, head, related, min(now, revision.at.seconds)))
    else:
        connection.execute(_APPEND, (label, kind.value, at, head, related, now))


def renew_epoch(connection: Connection) -> None:
    """Restart the feed with the last entry of each item, in the order of their times."""
    for statement in _RENEW:
        connection.execute(statement)
    connection.execute("UPDATE feed SET epoch = ?", (_new_epoch(),))


def _new_epoch() -> str:
    return secrets.token_hex(8)


class CatalogConnections(Protocol):
    """Access to the file of a catalogue."""

    def read(self, ask: Callable[[Connection], T]) -> T:
        """Run `ask` on the connection of this thread."""

    def write(self, change: Callable[[Connection], T]) -> T:
        """Run `change` in a transaction that excludes all writers, even in other processes; durable on return."""


class SqliteChanges:
    """Implements the port `ChangeFeed` on the file of a catalogue."""

    prompt = True

    def __init__(self, connections: CatalogConnections) -> None:
        self._connections = connections

    def since(self, number: int, most: int) -> ChangePage:
        return self._connections.read(partial(_page, statement=_SINCE, number=number, most=most))

    def current(self, number: int, most: int, prefix: str | None = None) -> ChangePage:
        if prefix is None:
            return self._connections.read(partial(_page, statement=_CURRENT, number=number, most=most))
        bounds = f"{prefix}/", _after_labels_of(prefix)
        return self._connections.read(partial(_page, statement=_CURRENT_OF, number=number, most=most, bounds=bounds))

    def prefixes(self, after: str, most: int) -> tuple[str, ...]:
        return self._connections.read(partial(_prefixes, after=after, most=most))

    def types(self, changes: Sequence[ItemChange]) -> list[ResourceType | None]:
        return self._connections.read(partial(_types, changes=changes))

    def last_of(self, label: Label) -> ItemChange | None:
        row = self._connections.read(lambda connection: connection.execute(_LAST, (str(label),)).fetchone())
        return None if row is None else _entry(row)

    def before(self, second: int) -> int:
        return self._connections.read(partial(_last_before, second=second))

    def position(self) -> FeedPosition:
        """Return the position in a write transaction, so that no invisible entry has an earlier time."""
        return self._connections.write(_position)


def _page(connection: Connection, statement: str, number: int, most: int, bounds: tuple[str, ...] = ()) -> ChangePage:
    with snapshot(connection):
        epoch, end = connection.execute(_EPOCH).fetchone()
        rows = connection.execute(statement, (number, *bounds, most)).fetchall()
    return ChangePage(epoch, tuple(map(_entry, rows)), end)


def _after_labels_of(prefix: str) -> str:
    """Return the text that follows all labels of the prefix, and precedes those of the next one."""
    return f"{prefix}{chr(ord('/') + 1)}"


def _prefixes(connection: Connection, after: str, most: int) -> tuple[str, ...]:
    """Return the next prefixes. The index leads from one to the next, however many labels each has."""
    found: list[str] = []
    place = _after_labels_of(after) if after else ""
    while len(found) < most and (row := connection.execute(_FIRST_FROM, (place,)).fetchone()) is not None:
        found.append(RepositoryName.parse(row[0]).prefix)
        place = _after_labels_of(found[-1])
    return tuple(found)


def _types(connection: Connection, changes: Sequence[ItemChange]) -> list[ResourceType | None]:
    from ibi.storage.columns import label_key  # which writes the feed, and imports this

    rows = (connection.execute(_TYPE, (label_key(change.rep),)).fetchone() for change in changes)
    return [None if row is None else _TYPES.get(row[0]) for row in rows]


def _last_before(connection: Connection, second: int) -> int:
    """Find the last entry before a time by bisection: times do not decrease from entry to entry."""
    with snapshot(connection):
        _, high = connection.execute(_EPOCH).fetchone()
        low = 0
        while low < high:
            middle = (low + high + 1) // 2
            if connection.execute(_LISTED, (middle,)).fetchone()[0] < second:
                low = middle
            else:
                high = middle - 1
    return low


def _position(connection: Connection) -> FeedPosition:
    epoch, end = connection.execute(_EPOCH).fetchone()
    last = connection.execute(_LISTED, (end,)).fetchone()
    return FeedPosition(epoch, end, max(int(time.time()), 0 if last is None else last[0]))


def _entry(row: tuple[int, str, str, str, int, int, int]) -> ItemChange:
    number, label, kind, at, head, listed, related = row
    return ItemChange(number, label, _KINDS[kind], at, head, listed, bool(related))
