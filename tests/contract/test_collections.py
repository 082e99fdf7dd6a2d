"""The port `CollectionStore`, tried on every adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.collections.model import (
    CollectionExists,
    CollectionFull,
    CollectionSearch,
    InvalidCollection,
    ItemCollection,
)
from ibi.collections.ports import CollectionStore
from ibi.collections.store import SqliteCollections
from ibi.items.model.search import Facet
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.storage.connection import STATE
from ibi.storage.errors import StateDamaged

ADAPTERS: dict[str, Callable[[Path], SqliteCollections]] = {"sqlite": SqliteCollections}
NOW = Instant(1_800_000_000)
ITEMS = [RepositoryName.parse(f"lab.br/arq/2026/11.16.10.0{number}") for number in range(5)]


def collection(name: str = "theses", title: str = "Teses") -> ItemCollection:
    return ItemCollection(name=name, title=title, curator="person:ana", created=NOW, changed=NOW)


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CollectionStore]:
    made = ADAPTERS[request.param](tmp_path)
    yield made
    made.close()


def test_what_is_added_is_found_and_listed_by_its_title(store: CollectionStore) -> None:
    searched = replace(
        collection("rain", "águas"), search=CollectionSearch(text="rain", filters=((Facet.YEAR, "2026"),))
    )
    for each in (collection(), searched, collection("b", "atlas")):
        store.add(each)

    assert store.find("rain") == searched
    assert store.find("theses") == collection()
    assert store.find("none") is None
    assert [each.title for each in store.list()] == ["atlas", "Teses", "águas"]


def test_a_name_is_taken_once(store: CollectionStore) -> None:
    store.add(collection())

    with pytest.raises(CollectionExists):
        store.add(collection(title="Another"))
    assert store.find("theses") == collection()


def test_a_change_keeps_the_items(store: CollectionStore) -> None:
    store.add(collection())
    store.put_members("theses", ITEMS[:2], 10)

    changed = store.change("theses", lambda now: replace(now, title="Outras"))
    assert changed == store.find("theses") == collection(title="Outras")
    assert store.count("theses") == 2
    assert store.change("none", lambda now: now) is None


def test_members_are_there_once_the_latest_first_and_an_item_may_be_in_several(store: CollectionStore) -> None:
    store.add(collection())
    store.add(collection("other", "Outra"))
    assert store.put_members("theses", ITEMS[:3], 10) == 3
    assert store.put_members("theses", [RepositoryName.parse("LAB.br/arq/2026/11.16.10.01"), ITEMS[3]], 10) == 1
    assert store.put_members("other", ITEMS[:1], 10) == 1

    assert store.members("theses", 0, 10) == (ITEMS[3], ITEMS[2], ITEMS[1], ITEMS[0])
    assert store.members("theses", 1, 2) == (ITEMS[2], ITEMS[1])
    assert [each.name for each in store.holding(ITEMS[0])] == ["other", "theses"]
    assert store.holding(ITEMS[4]) == ()


def test_items_are_taken_out_and_go_with_their_collection(store: CollectionStore) -> None:
    store.add(collection())
    store.put_members("theses", ITEMS[:3], 10)

    assert store.drop_members("theses", [ITEMS[0], ITEMS[4]]) == 1
    assert store.remove("theses")
    assert not store.remove("theses")
    store.add(collection())
    assert store.count("theses") == 0
    assert store.holding(ITEMS[1]) == ()


def test_no_more_than_the_bound_is_put_in_and_then_none_of_them(store: CollectionStore) -> None:
    store.add(collection())
    store.put_members("theses", ITEMS[:2], 3)

    with pytest.raises(CollectionFull):
        store.put_members("theses", ITEMS[2:], 3)
    assert store.count("theses") == 2
    assert store.put_members("none", ITEMS, 3) == 0


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_another_process_sees_a_change_at_once_and_it_outlives_both(name: str, tmp_path: Path) -> None:
    with closing(ADAPTERS[name](tmp_path)) as one, closing(ADAPTERS[name](tmp_path)) as other:
        one.add(collection())
        other.put_members("theses", ITEMS[:1], 3)
        assert one.count("theses") == 1
    with closing(ADAPTERS[name](tmp_path)) as again:
        assert again.find("theses") == collection()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / STATE.file_name).write_bytes(b"no database" * 1000)

    with pytest.raises(StateDamaged, match="--empty"):
        SqliteCollections(tmp_path)


def test_a_lost_file_is_not_silently_begun_again(tmp_path: Path) -> None:
    SqliteCollections(tmp_path).close()
    (tmp_path / STATE.file_name).unlink()

    with pytest.raises(StateDamaged, match="it is gone"):
        SqliteCollections(tmp_path)


@pytest.mark.parametrize("name", ["", "A", "a b", "a/b", "-a", "a--b", "a-", "á", "x" * 61, "new", "a\n"])
def test_a_name_that_cannot_stand_in_an_address_is_refused(name: str) -> None:
    with pytest.raises(InvalidCollection) as refused:
        collection(name)
    assert refused.value.parameters["field"] == "name"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "  "),
        ("title", "x" * 201),
        ("title", "a\x00b"),
        ("description", "x" * 5001),
        ("description", "a\u202eb\x1b"),
        ("search", CollectionSearch()),
        ("search", CollectionSearch(text="x" * 1001)),
    ],
)
def test_other_fields_have_their_bounds(field: str, value: object) -> None:
    with pytest.raises(InvalidCollection) as refused:
        replace(collection(), **{field: value})  # type: ignore[arg-type]
    assert refused.value.parameters["field"] == field
