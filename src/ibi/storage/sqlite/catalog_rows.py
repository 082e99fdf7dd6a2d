"""The tables of the catalogue, and an item as rows of them.

The key of a label is five bytes of seconds from the first year a label can have, the digits of the fraction, a zero,
and the prefix. Instants come first, as in the order of labels; equal labels of whatever case have equal bytes. The
form goes without saying: the prefix of a repository name has a slash, that of an IBIp has none.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from ibi.instant import FIRST_SECOND, Instant
from ibi.label import Label, RepositoryName
from ibi.label.generate import mount_suffix_of_repository_name
from ibi.messages.identification import LabelForms
from ibi.model.change import ChangeKind, Revision, kind_of
from ibi.model.description_values import Alternate
from ibi.model.file import RecordedFiles, without_files
from ibi.model.item import Item
from ibi.model.item_json import decode_item, whole_item_document, whole_local_document
from ibi.model.transfer import Transfer, decode_transfer, encode_transfer
from ibi.ports.catalog import Link
from ibi.storage.sqlite.changes import (
    BEGIN_HOLDINGS,
    BEGIN_HOLDINGS_BY_TYPE,
    HeldRow,
    append_change,
    begin_feed,
    complete_feed,
    count_held,
    held_row,
)
from ibi.storage.sqlite.connection import Connection, Migration
from ibi.storage.sqlite.search_rows import ListedRow, begin_search, list_item, listed_row, renew_search, unlist_item

# --- rows -------------------------------------------------------------------------------------------------------------

_SECONDS = 5
"""Bytes; 2⁴⁰ seconds are 34,000 years."""


def label_key(label: Label) -> bytes:
    if not label.is_dated:
        return f"\0{label}".encode()  # of before 2008 (E72): no item bears it, and no key is as that
    instant = label.instant
    # Nothing sorts before a digit, as no fraction does before any.
    rest = f"{instant.fraction}\0{label.prefix}"
    return (instant.seconds - FIRST_SECOND).to_bytes(_SECONDS, "big") + rest.encode("ascii")


def repository_name(key: bytes) -> RepositoryName:
    """The repository name that has this key, in its canonical spelling."""
    prefix = key[_SECONDS:].decode("ascii").partition("\0")[2]
    return RepositoryName.parse(f"{prefix}/{mount_suffix_of_repository_name(instant_of(key))}")


def instant_of(key: bytes) -> Instant:
    """The instant of the label that has this key."""
    fraction = key[_SECONDS:].decode("ascii").partition("\0")[0]
    return Instant(int.from_bytes(key[:_SECONDS], "big") + FIRST_SECOND, fraction)


def key_end(prefix: str) -> bytes:
    """How the keys of all labels with this prefix end, and of no others; `prefix` is spelled as labels have it."""
    return f"\0{prefix}".encode("ascii")


Record = tuple[bytes, bytes]
"""`item.json` and `local.json` without the white space."""

ALTERNATE: Final = "alternate"
"""Stands for a relation where an item has another name: a name of any scheme in the place of a label."""

OWNED_BY: Final = "owner"
"""Stands for a relation where an item belongs to an account, which is in the place of a label."""

PAGE: Final = 200

_LARGE: Final = 16 << 10
"""Bytes of a record, as some eighty files have: they are read in two milliseconds."""

ROWIDS_PER_TICK: Final = 256
"""Numbers set apart for the items of one 65,536th of a second."""

# Labels are keys of `label_key`. A table of records keyed by name (WITHOUT ROWID) would have inner pages that hold
# whole records, five a page, and be as deep as that makes it. Here inner pages hold nothing but numbers, and an item
# gets a number that follows from the instant of its labels, which both forms share: so a look-up by either goes down
# one tree and not two. The indexes keep labels unique and in order, and find what got no seat where it belongs.
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
    # Where items went that were given to other Archives, and of which nothing else is left here.
    """
    CREATE TABLE transfers (
        rep BLOB PRIMARY KEY,
        ibip BLOB UNIQUE,
        record BLOB NOT NULL
    ) WITHOUT ROWID
    """,
    # One row that says of which state of which store this is the catalogue (`ibi.storage.change_journal`). Triggers
    # keep the count, so that every change of the number of items changes it.
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
    # A list of everything by title, to its end.
    "CREATE INDEX listed_by_title ON listed (title)",
    complete_feed,
    renew_search,
    # Whose an item is, found as its other names are.
    """
    INSERT INTO links
        SELECT 'owner', CAST(json_extract(CAST(local AS TEXT), '$.owner') AS BLOB), number FROM items
        WHERE json_valid(CAST(local AS TEXT)) AND json_extract(CAST(local AS TEXT), '$.owner') IS NOT NULL
    """,
    BEGIN_HOLDINGS_BY_TYPE,
)
# Other tables share the file. What reads items remembers them until this number changes, whatever others write.
NUMBER_VERSIONS: Final = "ALTER TABLE standing ADD COLUMN version INTEGER NOT NULL DEFAULT 0"

FIND_SEATED: Final = {
    # The plus keeps SQLite from taking the index.
    "rep": "SELECT item, local FROM items WHERE number BETWEEN ? AND ? AND +rep = ?",
    "ibip": "SELECT item, local FROM items WHERE number BETWEEN ? AND ? AND +ibip = ?",
}
FIND: Final = {
    "rep": "SELECT item, local FROM items WHERE rep = ?",
    "ibip": "SELECT item, local FROM items WHERE ibip = ?",
}
NEWEST: Final = {
    # Instants come first in a key and the prefix last. From the newest label down, the first of the prefix ends it.
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
# Numbers follow from the instants of labels, so that the newest come first without being sorted.
OWNED_BEFORE: Final = f"""
    SELECT items.item, items.local FROM links JOIN items ON items.number = links.item
    WHERE links.link = '{OWNED_BY}' AND links.label = :owner
        AND links.item < coalesce((SELECT number FROM items WHERE rep = :before), :first)
    ORDER BY links.item DESC LIMIT :most
"""  # noqa: S608 - a constant

_OWNER = "SELECT rep FROM items WHERE ibip = ?"
# Where all seats are taken, any number will do: SQLite then takes the one after the highest.
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
    """What is to be written of an item, worked out before other writers wait for it."""

    rep: bytes
    ibip: bytes | None
    record: Record
    links: tuple[tuple[str, bytes], ...]
    second_label: str
    """The one that might be another item's."""
    first: int
    listed: ListedRow | None
    """What it is found by in a search."""
    name: str
    kind: ChangeKind
    revision: Revision
    is_exact: bool
    """Whether the revision is that of the object, so that two that are equal are of one record."""
    related: bool
    held: HeldRow
    """What it adds to the totals."""

    def parameters(self) -> dict[str, object]:
        item, local = self.record
        seats = {"first": self.first, "last": self.first + ROWIDS_PER_TICK - 1}
        return {**seats, "rep": self.rep, "ibip": self.ibip, "item": item, "local": local}


def row_of(item: Item, revision: Revision | None = None) -> Row:
    """Without a revision, that of its last publication is taken."""
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
    """The first of the numbers that are set apart for items of its instant, whatever its form."""
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
    """Of a large one, the files are read when they are looked at."""
    item, local = record
    if len(item) < _LARGE:
        return decode_item(item, local)
    rest, files = without_files(item)
    return decode_item(rest, local, files=files)


def memory_of(record: Record, item: Item) -> int:
    """Bytes that the two take together, about: what was read is five times as large as what is written, and of files
    that were not read there is half as much again."""
    files = item.files.size if isinstance(item.files, RecordedFiles) else 0
    return 6 * (sum(map(len, record)) - files) + 3 * files // 2


def put_row(connection: Connection, row: Row, *, anew: bool = False, as_recorded: bool = False) -> bool:
    """Write the row in the place of the one with its name; false, and nothing is written, if its IBIp is another's.

    `anew`: what it is found by in a search is written again even where it seems to be there. `as_recorded` is that of
    `append_change`.
    """
    if row.ibip is not None:
        owner = connection.execute(_OWNER, (row.ibip,)).fetchone()
        if owner is not None and owner[0] != row.rep:
            return False
    # To the end of the statement, or it would still be under way when the savepoint it is in is released.
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
    """The key of the item that was there."""
    removed = connection.execute(_REMOVE[label.form], (label_key(label),)).fetchall()
    for number, _ in removed:
        unlist_item(connection, number)
    return removed[0][1] if removed else None


def depart_row(connection: Connection, transfer: Transfer, revision: Revision, *, as_recorded: bool = False) -> None:
    """Write where the item went, in the place of whatever is known of it."""
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
    """Schemes have no zero."""
    return f"{alternate.scheme}\0{alternate.key}".encode()


def _labels(forms: LabelForms | None) -> tuple[Label, ...]:
    return () if forms is None else forms.labels
