"""Collections in `state`.

Each member is a row, in the order of addition. Its key is the folded label, which is equal for all spellings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from ibi.collections.model import MOST_COLLECTIONS, CollectionExists, CollectionFull, CollectionSearch, ItemCollection
from ibi.items.model.search import Facet
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.translatable import message
from ibi.storage.database import DatabaseSession
from ibi.storage.state import StateStore

MIGRATIONS: Final = (
    """
    CREATE TABLE collections (number {identity}, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
        description TEXT NOT NULL, curator TEXT, search TEXT, created TEXT NOT NULL, changed TEXT NOT NULL);
    CREATE TABLE collection_members (place {identity},
        collection BIGINT NOT NULL REFERENCES collections (number) ON DELETE CASCADE,
        item TEXT NOT NULL, spelling TEXT NOT NULL, UNIQUE (collection, item));
    CREATE INDEX collection_members_item ON collection_members (item)
    """,
)
_COLUMNS: Final = "name, title, description, curator, search, created, changed"
_LIST: Final = f"SELECT {_COLUMNS} FROM collections ORDER BY lower(title), name"  # noqa: S608
_FIND: Final = f"SELECT {_COLUMNS} FROM collections WHERE name = ?"  # noqa: S608
_ADD: Final = f"INSERT INTO collections ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"  # noqa: S608
_CHANGE: Final = """
    UPDATE collections SET title = ?, description = ?, curator = ?, search = ?, created = ?, changed = ? WHERE name = ?
"""
_NUMBER: Final = "(SELECT number FROM collections WHERE name = ?)"
_COUNT: Final = f"SELECT count(*) FROM collection_members WHERE collection = {_NUMBER}"  # noqa: S608
_MEMBERS: Final = (
    f"SELECT spelling FROM collection_members WHERE collection = {_NUMBER} ORDER BY place DESC LIMIT ? OFFSET ?"  # noqa: S608
)
_PUT: Final = """
    INSERT INTO collection_members (collection, item, spelling) SELECT number, ?, ? FROM collections WHERE name = ?
    ON CONFLICT DO NOTHING
"""
_DROP: Final = f"DELETE FROM collection_members WHERE collection = {_NUMBER} AND item = ?"  # noqa: S608
_HOLDING: Final = f"""
    SELECT {_COLUMNS} FROM collections WHERE number IN (SELECT collection FROM collection_members WHERE item = ?)
    AND search IS NULL ORDER BY lower(title), name
"""  # noqa: S608


class SqliteCollections(StateStore):
    """Implements the port `CollectionStore` on one data directory."""

    def list(self) -> tuple[ItemCollection, ...]:
        return self._select(_LIST, ())

    def find(self, name: str) -> ItemCollection | None:
        with self._database.read() as connection:
            return _find(connection, name)

    def add(self, collection: ItemCollection) -> None:
        with self._database.change(lasting=True) as connection:
            if connection.execute(_ADD, (collection.name, *_values(collection))).rowcount != 1:
                raise CollectionExists(name=collection.name)
            if connection.execute("SELECT count(*) FROM collections").fetchone()[0] > MOST_COLLECTIONS:
                raise CollectionFull(most=MOST_COLLECTIONS, things=message("collections"))

    def change(self, name: str, into: Callable[[ItemCollection], ItemCollection]) -> ItemCollection | None:
        with self._database.change(lasting=True) as connection:
            before = _find(connection, name)
            if before is None:
                return None
            after = into(before)
            assert after.name == name, "its address stays"
            connection.execute(_CHANGE, (*_values(after), name))
            return after

    def remove(self, name: str) -> bool:
        with self._database.change(lasting=True) as connection:
            return connection.execute("DELETE FROM collections WHERE name = ?", (name,)).rowcount == 1

    def count(self, name: str) -> int:
        with self._database.read() as connection:
            return int(connection.execute(_COUNT, (name,)).fetchone()[0])

    def members(self, name: str, offset: int, most: int) -> tuple[RepositoryName, ...]:
        with self._database.read() as connection:
            rows = connection.execute(_MEMBERS, (name, most, offset)).fetchall()
        return tuple(RepositoryName.parse(spelling) for (spelling,) in rows)

    def put_members(self, name: str, items: Sequence[RepositoryName], most: int) -> int:
        with self._database.change(lasting=True) as connection:
            added = sum(connection.execute(_PUT, (_key(item), str(item), name)).rowcount for item in items)
            if added and connection.execute(_COUNT, (name,)).fetchone()[0] > most:
                raise CollectionFull(most=most, things=message("items"))
            return added

    def drop_members(self, name: str, items: Sequence[RepositoryName]) -> int:
        with self._database.change(lasting=True) as connection:
            return sum(connection.execute(_DROP, (name, _key(item))).rowcount for item in items)

    def holding(self, item: RepositoryName) -> tuple[ItemCollection, ...]:
        return self._select(_HOLDING, (_key(item),))

    def _select(self, statement: str, values: tuple[Any, ...]) -> tuple[ItemCollection, ...]:
        with self._database.read() as connection:
            return tuple(map(_collection, connection.execute(statement, values).fetchall()))


def _find(connection: DatabaseSession, name: str) -> ItemCollection | None:
    row = connection.execute(_FIND, (name,)).fetchone()
    return None if row is None else _collection(row)


def _key(item: RepositoryName) -> str:
    """Return the key of a label. Labels that differ only in case are equal."""
    return str(item).lower()


def _values(collection: ItemCollection) -> tuple[Any, ...]:
    search = collection.search
    written = (
        None
        if search is None
        else msgspec.json.encode(
            {"text": search.text, "filters": [[facet.value, value] for facet, value in search.filters]}
        ).decode()
    )
    dates = str(collection.created), str(collection.changed)
    return collection.title, collection.description, collection.curator, written, *dates


def _collection(row: tuple[Any, ...]) -> ItemCollection:
    name, title, description, curator, search, created, changed = row
    return ItemCollection(
        name=name,
        title=title,
        description=description,
        curator=curator,
        search=None if search is None else _read_search(search),
        created=Instant.parse(created),
        changed=Instant.parse(changed),
    )


def _read_search(text: str) -> CollectionSearch:
    """Read a search. Facets of a later version are ignored."""
    document = msgspec.json.decode(text)
    known = {facet.value: facet for facet in Facet}
    filters = tuple((known[name], value) for name, value in document["filters"] if name in known)
    return CollectionSearch(text=document["text"], filters=filters)
