"""The tables of the catalogue, and the rows of an item.

The key of a label is five bytes of seconds since the first year a label can have, the digits of the fraction, a zero,
and the prefix. Instants come first, as in the order of labels. Equal labels have equal bytes, whatever their case. The
form needs no mark: the prefix of a repository name has a slash, and that of an IBIp has none.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from ibi.items.model.change import ChangeKind, Revision, kind_of
from ibi.items.model.description_values import Alternate
from ibi.items.model.file import RecordedFiles, without_files
from ibi.items.model.item import Item
from ibi.items.model.item_json import decode_item, whole_item_document, whole_local_document
from ibi.items.model.transfer_record import Transfer, decode_transfer, encode_transfer
from ibi.items.ports.catalog import Link
from ibi.items.store.catalogue.changes import (
    BEGIN_HOLDINGS,
    BEGIN_HOLDINGS_BY_TYPE,
    HeldRow,
    append_change,
    begin_feed,
    complete_feed,
    count_held,
    held_row,
)
from ibi.items.store.catalogue.search_rows import (
    ListedRow,
    begin_search,
    list_item,
    listed_row,
    renew_search,
    unlist_item,
)
from ibi.standard.instant import FIRST_SECOND, Instant
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.storage.columns import label_key, repository_name
from ibi.storage.connection import Connection, Migration

Record = tuple[bytes, bytes]
"""`item.json` and `local.json` without white space."""

ALTERNATE: Final = "alternate"
"""The relation to an alternate name of an item: a name of any scheme takes the place of the label."""

OWNED_BY: Final = "owner"
"""The relation to the owner of an item: an account takes the place of the label."""

PAGE: Final = 200

_LARGE: Final = 16 << 10
"""Size in bytes from which the files of a record are parsed lazily. It is reached with about eighty files, and such a
record parses in two milliseconds."""

ROWIDS_PER_TICK: Final = 256
"""Row numbers reserved for the items of one 65,536th of a second."""

# Labels are keys of `label_key`. A table of records keyed by name (WITHOUT ROWID) would hold whole records in its inner
# pages, five per page, and be deep for that reason. Here inner pages hold only numbers. The number of an item follows
# from the instant of its labels, which both forms share, so a look-up by either form reads one tree instead of two. The
# indexes keep labels unique and in order, and find items outside their reserved numbers.
ITEM_MIGRATIONS: Final[tuple[Migration, ...]] = (
    """
    CREATE TABLE items (
        number INTEGER PRIMARY KEY,
        rep BLOB NOT NULL UNIQUE,
        ibip BLOB UNIQUE,
        item BLOB NOT NULL,
        local BLOB NOT NULL
    );
    CREATE TABLE links (
        link TEXT NOT NULL,
        label BLOB NOT NULL,
        item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
        PRIMARY KEY (link, label, item)
    ) WITHOUT ROWID;
    CREATE INDEX links_of_item ON links (item)
    """,
    begin_search,
    # The new Archives of items that were transferred; nothing else of these items is left here.
    """
    CREATE TABLE transfers (
        rep BLOB PRIMARY KEY,
        ibip BLOB UNIQUE,
        record BLOB NOT NULL
    ) WITHOUT ROWID
    """,
    # One row that names the store, and the state of the store, to which this catalogue belongs
    # (`ibi.items.store.change_journal`). Triggers keep the count of items correct.
    """
    CREATE TABLE standing (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store TEXT NOT NULL,
        generation TEXT NOT NULL,
        changes INTEGER NOT NULL,
        items INTEGER NOT NULL
    );
    INSERT INTO standing SELECT 1, '', '', 0, count(*) FROM items;
    CREATE TRIGGER item_added AFTER INSERT ON items BEGIN UPDATE standing SET items = items + 1; END;
    CREATE TRIGGER item_removed AFTER DELETE ON items BEGIN UPDATE standing SET items = items - 1; END
    """,
    begin_feed,
    BEGIN_HOLDINGS,
    # Serves a list of everything by title.
    "CREATE INDEX listed_by_title ON listed (title)",
    complete_feed,
    renew_search,
    # The owner of an item is found like its alternate names.
    """
    INSERT INTO links
        SELECT 'owner', CAST(json_extract(CAST(local AS TEXT), '$.owner') AS BLOB), number FROM items
        WHERE json_valid(CAST(local AS TEXT)) AND json_extract(CAST(local AS TEXT), '$.owner') IS NOT NULL
    """,
    BEGIN_HOLDINGS_BY_TYPE,
)
# Other tables share the file. Caches of items stay valid until this number changes, whatever else is written.
NUMBER_VERSIONS: Final = "ALTER TABLE standing ADD COLUMN version INTEGER NOT NULL DEFAULT 0"

FIND_SEATED: Final = {
    # The plus keeps SQLite from using the index.
    "rep": "SELECT item, local FROM items WHERE number BETWEEN ? AND ? AND +rep = ?",
    "ibip": "SELECT item, local FROM items WHERE number BETWEEN ? AND ? AND +ibip = ?",
}
FIND: Final = {
    "rep": "SELECT item, local FROM items WHERE rep = ?",
    "ibip": "SELECT item, local FROM items WHERE ibip = ?",
}
NEWEST: Final = {
    # Instants come first in a key and the prefix last. The scan goes down from the newest label and stops at the first
    # one with the prefix.
    "rep": "SELECT rep FROM items WHERE substr(rep, -length(:prefix)) = :prefix ORDER BY rep DESC LIMIT 1",
    "ibip": "SELECT ibip FROM items WHERE substr(ibip, -length(:prefix)) = :prefix ORDER BY ibip DESC LIMIT 1",
}
NAMES_AFTER: Final = "SELECT rep FROM items WHERE rep > ? ORDER BY rep LIMIT ?"
COUNT: Final = "SELECT count(*) FROM items"
STANDING: Final = "SELECT store, generation, changes, items FROM standing"
VERSION: Final = "SELECT version FROM standing"
COUNT_VERSION: Final = "UPDATE standing SET version = version + 1"
COUNT_CHANGE: Final = (
    "UPDATE standing SET changes = changes + 1, version = version + 1 RETURNING store, generation, changes, items"
)
SET_STANDING: Final = "UPDATE standing SET store = ?, generation = ?, changes = ?, items = ?"
PAGE_AFTER: Final = "SELECT rep, item, local FROM items WHERE rep > ? ORDER BY rep LIMIT ?"
CLAIMANTS_AFTER: Final = """SELECT rep, item, local FROM items WHERE rep > ? AND number IN
    (SELECT item FROM links WHERE link IN ('edition_of', 'translation_of', 'describes')) ORDER BY rep LIMIT ?"""
LINKED: Final = """
    SELECT items.item, items.local FROM links JOIN items ON items.number = links.item
    WHERE links.link = ? AND links.label = ? ORDER BY items.rep
"""
# Numbers follow from the instants of labels, so the newest items come first without a sort.
OWNED_BEFORE: Final = f"""
    SELECT items.item, items.local FROM links JOIN items ON items.number = links.item
    WHERE links.link = '{OWNED_BY}' AND links.label = :owner
        AND links.item < coalesce((SELECT number FROM items WHERE rep = :before), :first)
    ORDER BY links.item DESC LIMIT :most
"""  # noqa: S608 - a constant

_OWNER = "SELECT rep FROM items WHERE ibip = ?"
# If all reserved numbers are taken, SQLite chooses the one after the highest.
_PUT = """
    INSERT INTO items (number, rep, ibip, item, local) VALUES (
        (SELECT nullif(coalesce(max(number) + 1, :first), :last + 1) FROM items WHERE number BETWEEN :first AND :last),
        :rep, :ibip, :item, :local)
    ON CONFLICT (rep) DO UPDATE SET ibip = excluded.ibip, item = excluded.item, local = excluded.local
    RETURNING number
"""
_LINK_NAMES = tuple(link.value for link in Link)
_UNLINK = "DELETE FROM links WHERE item = ?"
_LINK = "INSERT INTO links (link, label, item) VALUES (?, ?, ?)"
_REMOVE = {
    "rep": "DELETE FROM items WHERE rep = ? RETURNING number, rep",
    "ibip": "DELETE FROM items WHERE ibip = ? RETURNING number, rep",
}


_DEPARTED = {
    "rep": "SELECT record FROM transfers WHERE rep = ?",
    "ibip": "SELECT record FROM transfers WHERE ibip = ?",
}


class Row(NamedTuple):
    """The rows of an item, computed before other writers have to wait for them."""

    rep: bytes
    ibip: bytes | None
    record: Record
    links: tuple[tuple[str, bytes], ...]
    second_label: str
    """The label that might belong to another item."""
    first: int
    listed: ListedRow | None
    """The search row; None if searches do not find the item."""
    name: str
    kind: ChangeKind
    revision: Revision
    is_exact: bool
    """True if the revision is that of the object, so that equal revisions mean equal records."""
    related: bool
    held: HeldRow
    """The item's share of the totals."""

    def parameters(self) -> dict[str, object]:
        item, local = self.record
        seats = {"first": self.first, "last": self.first + ROWIDS_PER_TICK - 1}
        return {**seats, "rep": self.rep, "ibip": self.ibip, "item": item, "local": local}


def row_of(item: Item, revision: Revision | None = None) -> Row:
    """Return the rows of an item. Without a revision, that of its last publication is taken."""
    ibip, links = item.labels.ibip, _links(item)
    return Row(
        rep=label_key(item.rep),
        ibip=None if ibip is None else label_key(ibip),
        record=(msgspec.json.encode(whole_item_document(item)), msgspec.json.encode(whole_local_document(item))),
        links=links if item.owner is None else (*links, (OWNED_BY, item.owner.encode())),
        second_label=str(ibip or ""),
        first=first_rowid(item.rep),
        listed=listed_row(item),
        name=str(item.rep),
        kind=kind_of(item),
        revision=revision or Revision(item.version, item.updated),
        is_exact=revision is not None,
        related=bool(links or item.translations),
        held=held_row(item),
    )


def first_rowid(label: Label) -> int:
    """Return the first row number reserved for items of the label's instant, in either form."""
    instant = label.instant
    part = int(f"{instant.fraction:0<5.5}") * 65_536 // 100_000 if instant.fraction else 0
    return ((instant.seconds - FIRST_SECOND) * 65_536 + part) * ROWIDS_PER_TICK


def find_record(connection: Connection, label: Label) -> Record | None:
    first, key = first_rowid(label), label_key(label)
    seated: Record | None = connection.execute(
        FIND_SEATED[label.form], (first, first + ROWIDS_PER_TICK - 1, key)
    ).fetchone()
    if seated is not None:
        return seated
    elsewhere: Record | None = connection.execute(FIND[label.form], (key,)).fetchone()
    return elsewhere


def decode_record(record: Record) -> Item:
    """Decode a record. The files of a large one are parsed on first access."""
    item, local = record
    if len(item) < _LARGE:
        return decode_item(item, local)
    rest, files = without_files(item)
    return decode_item(rest, local, files=files)


def memory_of(record: Record, item: Item) -> int:
    """Return about how many bytes the record and the item take together. A parsed document is five times as large as
    its text; unparsed files take half as much again as their text."""
    files = item.files.size if isinstance(item.files, RecordedFiles) else 0
    return 6 * (sum(map(len, record)) - files) + 3 * files // 2


def put_row(connection: Connection, row: Row, *, anew: bool = False, as_recorded: bool = False) -> bool:
    """Write the row in place of the one with its name. Return false, and write nothing, if another item has its IBIp.

    `anew` writes the search rows again even if they seem to be there. `as_recorded` is passed on to `append_change`.
    """
    if row.ibip is not None:
        owner = connection.execute(_OWNER, (row.ibip,)).fetchone()
        if owner is not None and owner[0] != row.rep:
            return False
    # Fetch to the end of the statement, or it would still be running when its savepoint is released.
    ((number,),) = connection.execute(_PUT, row.parameters()).fetchall()
    connection.execute(_UNLINK, (number,))
    connection.executemany(_LINK, ((*link, number) for link in row.links))
    list_item(connection, number, row.listed, anew=anew)
    append_change(
        connection,
        row.name,
        row.kind,
        row.revision,
        related=row.related,
        always=not row.is_exact,
        as_recorded=as_recorded,
    )
    count_held(connection, number, row.held)
    return True


def remove_row(connection: Connection, label: Label, at: Instant) -> bool:
    removed = _take_out(connection, label)
    if removed is not None:
        append_change(connection, str(repository_name(removed)), ChangeKind.REMOVED, Revision(0, at))
    return removed is not None


def _take_out(connection: Connection, label: Label) -> bytes | None:
    """Remove the item and return its key; None if there was none."""
    removed = connection.execute(_REMOVE[label.form], (label_key(label),)).fetchall()
    for number, _ in removed:
        unlist_item(connection, number)
    return removed[0][1] if removed else None


def depart_row(connection: Connection, transfer: Transfer, revision: Revision, *, as_recorded: bool = False) -> None:
    """Write the destination of a transferred item, in place of all other data about it."""
    _take_out(connection, transfer.rep)
    append_change(connection, str(transfer.rep), ChangeKind.MOVED, revision, as_recorded=as_recorded)
    ibip = transfer.labels.ibip
    connection.execute(
        "REPLACE INTO transfers VALUES (?, ?, ?)",
        (label_key(transfer.rep), None if ibip is None else label_key(ibip), encode_transfer(transfer)),
    )


def has_departures(connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM transfers LIMIT 1").fetchone() is not None


def find_transfer(connection: Connection, label: Label) -> Transfer | None:
    row = connection.execute(_DEPARTED[label.form], (label_key(label),)).fetchone()
    return None if row is None else decode_transfer(row[0])


def transfers(connection: Connection) -> list[Transfer]:
    return [decode_transfer(record) for (record,) in connection.execute("SELECT record FROM transfers").fetchall()]


def forget_transfer(connection: Connection, label: Label) -> None:
    connection.execute("DELETE FROM transfers WHERE rep = ?", (label_key(label),))


def _links(item: Item) -> tuple[tuple[str, bytes], ...]:
    named = [(name, label_key(label)) for name in _LINK_NAMES for label in _labels(getattr(item, name))]
    others = {(ALTERNATE, alternate_key(alternate)) for alternate in item.alternates}
    return (*named, *sorted(others))


def alternate_key(alternate: Alternate) -> bytes:
    """Return the key of an alternate name. Schemes contain no zero byte."""
    return f"{alternate.scheme}\0{alternate.key}".encode()


def _labels(forms: LabelForms | None) -> tuple[Label, ...]:
    return () if forms is None else forms.labels
