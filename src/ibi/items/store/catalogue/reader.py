"""Look-ups in the catalogue on the connection of one thread. Searches are in `ibi.items.store.catalogue.search`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Final
from weakref import finalize

from ibi.items.model.description_values import Alternate
from ibi.items.model.item import Item
from ibi.items.model.item_json import decode_names
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.catalog import Link
from ibi.items.store.catalogue.rows import (
    ALTERNATE,
    LINKED,
    NAMES_AFTER,
    NEWEST,
    OWNED_BEFORE,
    PAGE,
    PAGE_AFTER,
    VERSION,
    Record,
    alternate_key,
    decode_record,
    find_record,
    find_transfer,
    first_rowid,
    has_departures,
    memory_of,
    transfers,
)
from ibi.items.store.catalogue.search import LAST_ROW, SqliteSearch
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.lru_cache import LruCache
from ibi.storage.columns import instant_of, key_end, label_key
from ibi.storage.connection import Connection, snapshot

_DATA_VERSION: Final = "PRAGMA data_version"
_MOST_ITEMS: Final = 1_000
_MOST_BYTES: Final = 24 << 20
"""Most of this memory belongs to items that all threads share."""


class CatalogReader:
    """Look-ups on a connection that never writes, with a cache that is valid until items change.

    `data_version` shows every change by other connections, including those of this process. The catalogue's own version
    shows whether items changed. A changed record is read again, and decoded only if it differs.
    """

    def __init__(self, connection: Connection, item_of: Callable[[Record], Item]) -> None:
        """`item_of` returns the item of a record, from a cache if possible. The connection is closed with its
        thread."""
        self.connection = connection
        self._execute = connection.execute
        self._item_of = item_of
        self._version = -1
        self._seen: tuple[int, int] = (-1, -1)
        """The `data_version` seen last, and the version of the catalogue then."""
        self._departures: tuple[int, bool] = (-1, False)
        """A version of the catalogue, and whether there were transferred items then."""
        self._found: LruCache[Label, Item] = LruCache(_MOST_ITEMS, _MOST_BYTES, keeps_last=True)
        self.close = finalize(self, connection.close)

    @cached_property
    def search(self) -> SqliteSearch:
        """The search on this connection, made on first use because most threads never search."""
        return SqliteSearch(self.connection, self._item_of)

    def version(self) -> int:
        """Return a number that differs after every change of items, as this connection sees it."""
        (data_version,) = self._execute(_DATA_VERSION).fetchone()
        if data_version != self._seen[0]:
            # A change between the two statements makes this newer than `data_version` says, which does no harm.
            row = self._execute(VERSION).fetchone()
            self._seen = data_version, -data_version if row is None else row[0]
        return self._seen[1]

    def find(self, label: Label) -> Item | None:
        version = self.version()
        if version != self._version:
            self._found.clear()
            self._version = version
        return self._found.find(label) or self._look_up(label)

    def _look_up(self, label: Label) -> Item | None:
        record = find_record(self.connection, label)
        if record is None:
            return None
        item = self._item_of(record)
        # A change between the two statements makes this newer than its version says, which does no harm.
        self._found.keep(label, item, memory_of(record, item))
        return item

    def names_of(self, reps: Iterable[RepositoryName]) -> frozenset[Label | Alternate]:
        asked, found = list(reps), set[Label | Alternate]()
        # In one snapshot: with a snapshot for each, writes of others would make SQLite read all pages again.
        with snapshot(self.connection):
            for rep in asked:
                record = find_record(self.connection, rep)
                found |= frozenset() if record is None else decode_names(record[0])
        return frozenset(found)

    def transfer(self, label: Label) -> Transfer | None:
        """Return the transfer of an item. Most Archives transferred nothing, and most requested labels are unknown; so
        the table is queried only if it has rows."""
        version = self.version()
        if version != self._departures[0]:
            self._departures = version, has_departures(self.connection)
        return find_transfer(self.connection, label) if self._departures[1] else None

    def transfers(self) -> list[Transfer]:
        """Return all transfers; they are few."""
        return transfers(self.connection)

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        return tuple(map(self._item_of, self._execute(LINKED, (link.value, label_key(label))).fetchall()))

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        return tuple(map(self._item_of, self._execute(LINKED, (ALTERNATE, alternate_key(alternate))).fetchall()))

    def owned_by(self, owner: str, before: RepositoryName | None, most: int) -> tuple[Item, ...]:
        asked = {
            "owner": owner.encode(),
            "before": None if before is None else label_key(before),
            "first": LAST_ROW if before is None else first_rowid(before),
            "most": most,
        }
        return tuple(map(self._item_of, self._execute(OWNED_BEFORE, asked).fetchall()))

    def newest(self, prefix: str) -> Instant | None:
        """Return the newest instant of a label with this prefix."""
        end = key_end(prefix)
        row = self._execute(NEWEST["rep" if "/" in prefix else "ibip"], {"prefix": end}).fetchone()
        return None if row is None else instant_of(row[0])

    def names(self, after: bytes) -> list[bytes]:
        """Return the keys of the next `PAGE` items after that key."""
        return [key for (key,) in self._execute(NAMES_AFTER, (after, PAGE)).fetchall()]

    def page(self, after: bytes, *, statement: str = PAGE_AFTER) -> list[tuple[bytes, Item]]:
        """Return the statement's next `PAGE` items after that key, with their keys. They bypass the cache: a full scan
        needs no item twice, and should not evict the items of others."""
        return [
            (key, decode_record((item, local)))
            for key, item, local in self._execute(statement, (after, PAGE)).fetchall()
        ]
