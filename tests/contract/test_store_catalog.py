"""The ports `ContentStore` and `StoreCatalog`, tried on every adapter: what the care for a store rests on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from ibi.items.model.content import Bytes, Change
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.archive_store import ContentStore, StoreCatalog
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.generation_file import GenerationFile
from ibi.items.store.ocfl.store import OcflStore
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import CatalogDamaged, StorageError
from tests.properties.item_strategies import forms_at
from tests.support.catalog_samples import item

NAME = str(item(1).rep)
CHANGE = Change("ana", "Deposited", Instant(1_234_806_360))


Opened = tuple[ContentStore, StoreCatalog]
Open = Callable[[], AbstractContextManager[Opened]]
"""One store with its catalogue, as each process opens them anew."""


@contextmanager
def _in_files(place: Path) -> Iterator[Opened]:
    with ExitStack() as opened:
        content = opened.enter_context(closing(OcflStore(place / "store")))
        generation = opened.enter_context(closing(GenerationFile(place / "store")))
        yield content, opened.enter_context(closing(SqliteCatalog(place / "catalogue.sqlite", generation)))


ADAPTERS = {"files": _in_files}


@pytest.fixture(params=ADAPTERS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    return lambda: ADAPTERS[request.param](tmp_path)


@pytest.fixture
def content(opened: Open) -> Iterator[ContentStore]:
    with opened() as (content, _):
        yield content


@pytest.fixture
def catalog(opened: Open) -> Iterator[StoreCatalog]:
    """A new one, that agrees with its store."""
    with opened() as (_, catalog):
        catalog.end_rebuild()
        yield catalog


def test_a_store_holds_what_was_kept(content: ContentStore) -> None:
    assert not content.holds(NAME)
    content.create(NAME, {"item.json": Bytes(b"{}")}, CHANGE)
    assert content.holds(NAME)
    assert list(content.strays()) == []
    content.check()
    assert str(content.place)


def test_a_new_catalogue_and_its_store_have_no_mark(opened: Open) -> None:
    with opened() as (_, catalog):
        assert catalog.is_unmarked()
        assert not catalog.agrees()
        assert catalog.expected_items() is None
        catalog.check_store()
        catalog.end_rebuild()
        assert not catalog.is_unmarked()
        assert catalog.agrees()
        assert catalog.expected_items() == 0
    with opened() as (_, catalog):
        assert catalog.agrees()


def test_each_change_is_counted_on_both_sides(opened: Open) -> None:
    with opened() as (_, catalog):
        catalog.end_rebuild()
        catalog.put(item(1))
        catalog.put_all([item(2), item(3)])
        catalog.remove(item(2).rep)
        assert catalog.agrees()
        assert catalog.expected_items() == 2
        catalog.check()
    with opened() as (_, catalog):
        assert catalog.agrees()
        catalog.settle_standing()
        assert catalog.agrees()


def test_until_a_rebuild_ends_it_is_the_catalogue_of_no_store(opened: Open) -> None:
    with opened() as (_, catalog):
        catalog.end_rebuild()
        assert not catalog.begin_rebuild(always=False)
        assert catalog.begin_rebuild(always=True)
        assert not catalog.agrees()
        catalog.put(item(1))
    with opened() as (_, catalog):  # after a crash, say
        assert not catalog.agrees()
        assert catalog.begin_rebuild(always=False)
        catalog.end_rebuild()
        assert catalog.agrees()
        assert catalog.expected_items() == 1


def test_the_catalogue_of_another_store_is_refused(opened: Open, tmp_path: Path) -> None:
    with opened() as (_, catalog):
        catalog.end_rebuild()
    other = tmp_path / "other"
    with _in_files(other) as (_, catalog):
        catalog.end_rebuild()
    for path in tmp_path.glob("catalogue.sqlite*"):
        path.unlink()
    for path in other.glob("catalogue.sqlite*"):
        shutil.move(path, tmp_path)
    with opened() as (_, catalog):
        assert not catalog.agrees()
        with pytest.raises(CatalogDamaged):
            catalog.check_store()
        with pytest.raises(StorageError):
            catalog.check()


def test_names_are_those_of_the_items_in_their_order(catalog: StoreCatalog) -> None:
    items = [item(number) for number in (3, 1, 2)]
    catalog.put_all(items)
    assert list(catalog.names()) == sorted(each.rep for each in items)


def test_transfers_are_listed_until_they_are_forgotten(catalog: StoreCatalog) -> None:
    assert catalog.transfers() == []
    gone = Transfer(item(1).labels, forms_at(77).labels[0], item(1).updated)
    catalog.put(item(1))
    catalog.depart(gone)
    assert catalog.transfers() == [gone]
    assert list(catalog.names()) == []
    catalog.forget_transfer(item(1).rep)
    assert catalog.transfers() == []
    assert catalog.transfer(item(1).rep) is None


def test_the_newest_date_is_that_of_labels_with_a_prefix(catalog: StoreCatalog) -> None:
    prefix = item(1).rep.prefix
    assert catalog.newest([prefix]) is None
    catalog.put_all([item(2), item(5), item(1)])
    assert catalog.newest([prefix]) == item(5).rep.instant
    assert catalog.newest(["other.br/x"]) is None
    assert catalog.newest([]) is None


def test_the_index_of_words_is_in_order(catalog: StoreCatalog) -> None:
    catalog.put(item(1))
    catalog.check_search()
