"""A store that is read without anything being written beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.items.opening.archive_store import CATALOGUE, STORE, is_read_only, open_read_only, open_store
from ibi.storage.errors import DiskRefused
from tests.support.damage import WAYS
from tests.support.deposit_samples import CountedLabels, deposits, dump, put, sources


def ignore(_: int | None) -> None:
    """Nothing is said of a rebuild."""


def contents(place: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.lstat() for path in (place, *place.rglob("*"))}
    return {name: (status.st_size, status.st_mtime_ns) for name, status in found.items()}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with open_store(tmp_path / "data") as store:
        made = deposits(store, CountedLabels())
        for _ in range(3):
            put(made, sources(a=b"a" * 100))
    return tmp_path / "data"


def test_everything_is_read_and_nothing_written(data: Path) -> None:
    with open_store(data) as store:
        items = dump(store.catalog)
    before = contents(data)
    with open_read_only(data, on_rebuild=ignore) as store:
        assert not store.is_rebuilt
        assert dump(store.catalog) == items
        assert [verified.problems for verified in store.verify()] == [()] * 3
        assert store.find(items[0].labels.labels[-1]) == items[0]
    assert contents(data) == before


def test_what_lies_in_the_log_of_the_catalogue_is_read_too(data: Path) -> None:
    """A copy may be made while the database is open, with its log beside it."""
    with open_store(data) as writer:
        put(deposits(writer, CountedLabels(10)), sources(a=b"b"))
        items = dump(writer.catalog)
        with open_read_only(data, on_rebuild=ignore) as store:
            assert dump(store.catalog) == items
            assert len(items) == 4


@pytest.mark.parametrize("way", WAYS)
def test_a_catalogue_that_cannot_be_used_is_made_anew_elsewhere(data: Path, tmp_path: Path, way: str) -> None:
    with open_store(data) as store:
        items = dump(store.catalog)
    (tmp_path / "other.sqlite").write_bytes(b"")
    WAYS[way](data / CATALOGUE, tmp_path / "other.sqlite")
    before = contents(data)
    told: list[int | None] = []
    with open_read_only(data, on_rebuild=told.append) as store:
        assert dump(store.catalog) == items
    assert told == [3]
    assert contents(data) == before


def test_a_directory_without_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiskRefused, match=STORE):
        open_read_only(tmp_path, on_rebuild=ignore)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_ones_own_is_no_read_only_one(data: Path) -> None:
    assert not is_read_only(data)
    assert not is_read_only(data / "not there")
