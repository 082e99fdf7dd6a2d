"""How a search is kept in step with the catalogue in SQLite. What it finds is in `tests/contract/test_search.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.items.model.search import SearchPage, SearchQuery
from ibi.items.ports.catalog import Search
from ibi.items.rules.errors import LabelTaken
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.migrations import MIGRATIONS
from ibi.items.store.catalogue.rows import put_row, row_of
from ibi.standard.storage_errors import CatalogDamaged
from ibi.storage.connection import Connection, connect, transaction
from tests.properties.item_strategies import forms_at
from tests.support.catalog_samples import item, same_ibip

_: type[Search] = SqliteCatalog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalogue.sqlite"


@pytest.fixture
def catalog(path: Path) -> Iterator[SqliteCatalog]:
    with closing(SqliteCatalog(path)) as catalog:
        yield catalog


@pytest.fixture
def file(path: Path, catalog: SqliteCatalog) -> Iterator[Connection]:
    with closing(connect(path, MIGRATIONS)) as connection:
        yield connection


def found(catalog: SqliteCatalog, text: str) -> int:
    return catalog.search(SearchQuery(text=text)).total


def of_format_1(path: Path, number: int) -> None:
    """A catalogue as it was before it could be searched."""
    with closing(connect(path, MIGRATIONS[:1])) as connection:
        for minute in range(number):
            row = row_of(item(minute, f"Old title {minute}"))
            values = (row.first, row.rep, row.ibip, *row.record)
            connection.execute("INSERT INTO items (number, rep, ibip, item, local) VALUES (?, ?, ?, ?, ?)", values)


def test_an_older_catalogue_is_filled_when_it_is_opened(path: Path) -> None:
    of_format_1(path, 1_203)
    with closing(SqliteCatalog(path)) as catalog:
        assert found(catalog, "old title") == 1_203
        assert found(catalog, "1202") == 1
        catalog.put(item(5, "New"))
        assert found(catalog, "old title") == 1_202
    assert path.with_name("catalogue.sqlite.format-1").exists()


def test_an_older_catalogue_with_a_record_that_makes_no_sense_is_damaged(path: Path) -> None:
    of_format_1(path, 2)
    with closing(connect(path, MIGRATIONS[:1])) as connection:
        connection.execute("UPDATE items SET item = x'7b'")
    with pytest.raises(CatalogDamaged, match="ibi rebuild"):
        SqliteCatalog(path)


def test_a_record_of_a_newer_version_does_not_keep_a_catalogue_from_being_opened(path: Path) -> None:
    of_format_1(path, 2)
    schema, later = '"schema":1', '"schema":9,"requires_schema":9'
    newer = f"UPDATE items SET item = CAST(replace(CAST(item AS TEXT), '{schema}', '{later}') AS BLOB)"
    with closing(connect(path, MIGRATIONS[:1])) as connection:
        connection.execute(f"{newer} WHERE number = (SELECT min(number) FROM items)")
    with closing(SqliteCatalog(path)) as catalog:
        assert found(catalog, "old") == 1


def test_what_is_refused_is_not_found(catalog: SqliteCatalog) -> None:
    catalog.put(item(1, "First"))
    with pytest.raises(LabelTaken):
        catalog.put_all([item(2, "Second"), item(labels=same_ibip(1), title="Third")])
    assert [found(catalog, text) for text in ("first", "second", "third")] == [1, 0, 0]


def test_a_relation_does_not_touch_the_index(file: Connection, catalog: SqliteCatalog) -> None:
    catalog.put(item(1, "Same"))
    before = file.execute("SELECT id, block FROM search_data ORDER BY id").fetchall()
    catalog.put(replace(item(1, "Same"), next_edition=forms_at(2)))
    assert file.execute("SELECT id, block FROM search_data ORDER BY id").fetchall() == before


def test_what_is_out_of_step_is_put_right_by_reading_all_in(file: Connection, catalog: SqliteCatalog) -> None:
    catalog.put(item(1, "One"))
    catalog.put(item(2, "Two"))
    file.execute("DELETE FROM search")
    catalog.put(item(1, "One"))  # nothing seems to have changed
    assert found(catalog, "one") == 0
    catalog.put_all([item(1, "One"), item(2, "Two")])
    assert (found(catalog, "one"), found(catalog, "two"), found(catalog, "")) == (1, 1, 2)


def test_a_row_for_each_item_and_none_more(file: Connection, catalog: SqliteCatalog) -> None:
    for minute in range(20):
        catalog.put(item(minute, f"T{minute}"))
        catalog.put(item(minute, f"U{minute}"))
    for minute in range(0, 20, 2):
        catalog.remove(forms_at(minute).labels[minute % 4 // 2])
    (listed,), (indexed,), (kept,) = (
        file.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("listed", "search_docsize", "items")
    )
    assert listed == indexed == kept == 10
    file.execute("INSERT INTO search (search) VALUES ('integrity-check')")


def test_a_damaged_index_is_told_as_damage(
    file: Connection, catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.put_all(item(minute, f"Title {minute}") for minute in range(50))
    file.execute("UPDATE search_data SET block = zeroblob(length(block)) WHERE id > 10")
    with pytest.raises(CatalogDamaged, match="ibi rebuild"):
        SqliteCatalog(catalog._path)
    monkeypatch.setattr("ibi.storage.connection._INSPECTED", 0)
    with closing(SqliteCatalog(catalog._path)) as opened, pytest.raises(CatalogDamaged, match="ibi rebuild"):
        opened.search(SearchQuery(text="title"))


def test_an_sqlite_that_cannot_forget_words_keeps_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibi.items.store.catalogue.search_rows._CONTENTLESS_SINCE", (99, 0))
    with closing(connect(path, MIGRATIONS)) as connection:
        for title in ("Before", "After"):
            with transaction(connection):
                put_row(connection, row_of(item(1, title)))
        assert connection.execute("SELECT title FROM search").fetchall() == [("after",)]
    with closing(SqliteCatalog(path)) as catalog:
        assert (found(catalog, "before"), found(catalog, "after")) == (0, 1)


def test_a_search_sees_one_state(catalog: SqliteCatalog) -> None:
    catalog.put(item(1, "One"))
    assert catalog.search(SearchQuery(text="one")) == SearchPage((item(1, "One"),), 1)
    catalog.put(item(2, "One more"))
    assert found(catalog, "one") == 2  # nobody's snapshot was left open
