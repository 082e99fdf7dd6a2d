"""The totals of a catalogue that an earlier version has made."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ibi.items.model.content import HeldTotal
from ibi.items.model.file import File
from ibi.items.store.catalogue import rows as catalog_rows
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.changes import BEGIN_HOLDINGS
from ibi.items.store.catalogue.rows import row_of
from ibi.standard.vocabulary import State
from ibi.storage.connection import CATALOGUE, connect
from tests.support.archive_catalog import add_up, add_up_by_type
from tests.support.catalog_samples import item

BEFORE = catalog_rows.ITEM_MIGRATIONS[: catalog_rows.ITEM_MIGRATIONS.index(BEGIN_HOLDINGS)]
"""The format that had no totals yet."""
INSERT = "INSERT INTO items (number, rep, ibip, item, local) VALUES (?, ?, ?, ?, ?)"


def test_the_items_of_an_earlier_version_are_counted_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / CATALOGUE.file_name
    items = [item(1), item(2, files=tuple(File(f"{n}.txt", n, "0" * 128, "text/plain") for n in range(4)))]
    with closing(connect(path, BEFORE, kind=CATALOGUE)) as connection:
        for row in map(row_of, items):
            connection.execute(INSERT, (row.first, row.rep, row.ibip, *row.record))
    with closing(SqliteCatalog(path)) as catalog:
        assert catalog.holdings() == add_up(items)
        assert catalog.holdings() == {State.ORIGINAL: HeldTotal(2, 4, 6)}
        assert catalog.holdings_by_type() == add_up_by_type(items)
        catalog.remove(items[1].rep)
        assert catalog.holdings() == {State.ORIGINAL: HeldTotal(1)}


def test_a_record_that_makes_no_sense_keeps_no_catalogue_from_being_opened(tmp_path: Path) -> None:
    path = tmp_path / CATALOGUE.file_name
    row = row_of(item(1))
    with closing(connect(path, BEFORE, kind=CATALOGUE)) as connection:
        # As the migration to the search index has left it, which reads records too.
        connection.execute(INSERT, (row.first, row.rep, row.ibip, b"{", b"\xff"))
    with closing(SqliteCatalog(path)) as catalog:
        assert catalog.holdings() == {}
