"""Whether the catalogue of a data directory is that of its store: emptied, old, foreign and damaged ones."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ibi.items.model.change import ChangeKind
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import CATALOGUE, STORE, open_repaired, open_store, rebuild_catalogue
from ibi.items.service.store_listing import ListingResult
from ibi.items.service.stored_item import ChangeUnfinished, name_of
from ibi.items.store.catalogue.migrations import MIGRATIONS
from ibi.items.store.generation_file import FILE_NAME, CatalogStanding, GenerationFile
from ibi.standard.storage_errors import CatalogDamaged, StoreIncomplete
from ibi.storage.connection import connect
from ibi.storage.errors import NotAStore
from tests.support.damage import WAYS, remove_logs
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, kept_in, put, sources

COUNT = 6


def fill(data: Path, first: int = 0, count: int = COUNT) -> list[Item]:
    with open_store(data) as store:
        made = deposits(store, CountedLabels(first))
        for _ in range(count):
            put(made, sources(a=b"a" * 100))
        return dump(store.catalog)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("filled") / "data"
    fill(made)
    return made


@pytest.fixture
def data(filled: Path, tmp_path: Path) -> Path:
    """A copy of what was filled once; a copy has the same state in store and catalogue."""
    return shutil.copytree(filled, tmp_path / "data")


def check_all_found(data: Path, items: list[Item]) -> None:
    """The next start looks at nothing, and both say the same."""
    with open_store(data) as store:
        assert (store.is_rebuilt, store.swept.looked_at) == (False, 0)
        assert dump(store.catalog) == items == kept_in(store.content, store)
        store.check()


@contextmanager
def raw(data: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(data / CATALOGUE, MIGRATIONS)) as connection:
        yield connection


@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_catalogue_is_made_anew_at_a_start(data: Path, tmp_path: Path, way: str) -> None:
    with open_store(data) as store:
        before = dump(store.catalog)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.execute("CREATE TABLE tokens (id)")
        other.commit()
    WAYS[way](data / CATALOGUE, tmp_path / "other.sqlite")
    told: list[int | None] = []
    with open_repaired(data, on_rebuild=told.append) as store:
        assert dump(store.catalog) == before
        assert (told, store.swept.looked_at) == ([COUNT], COUNT)
    check_all_found(data, before)
    asides = list(data.glob(f"{CATALOGUE}.damaged-*"))
    assert len(asides) == (0 if way in ("deleted", "emptied", "blank") else 1)


def test_a_damaged_catalogue_is_refused_by_a_command_that_only_opens(data: Path) -> None:
    WAYS["first page"](data / CATALOGUE, data)
    with pytest.raises(CatalogDamaged, match="`ibi rebuild` sets it aside"):
        open_store(data)


def test_an_older_catalogue_is_noticed(data: Path, tmp_path: Path) -> None:
    shutil.copy(data / CATALOGUE, tmp_path / "backup")
    after = fill(data, first=10, count=1)
    shutil.copy(tmp_path / "backup", data / CATALOGUE)
    with open_store(data) as store:
        assert store.is_rebuilt
        assert dump(store.catalog) == after
    check_all_found(data, after)


def test_an_older_catalogue_with_as_many_items_is_noticed(data: Path, tmp_path: Path) -> None:
    shutil.copy(data / CATALOGUE, tmp_path / "backup")
    with open_store(data) as store:
        first = dump(store.catalog)[0]
        deposits(store).update(first.rep, draft("a.txt", title="New"), sources(a=b"new"), WHO)
        after = dump(store.catalog)
    shutil.copy(tmp_path / "backup", data / CATALOGUE)
    with open_store(data) as store:
        assert dump(store.catalog) == after
    check_all_found(data, after)


def test_the_catalogue_of_another_directory_is_set_aside(data: Path, tmp_path: Path) -> None:
    with open_store(data) as store:
        before = dump(store.catalog)
    fill(tmp_path / "other", first=100)
    shutil.copy(tmp_path / "other" / CATALOGUE, data / CATALOGUE)
    with pytest.raises(CatalogDamaged, match="of another store"):
        open_store(data)
    asides: list[Path | None] = []
    with open_repaired(data, on_aside=lambda _, aside: asides.append(aside)) as store:
        assert dump(store.catalog) == before
    assert [aside is not None and aside.is_file() for aside in asides] == [True]


@pytest.mark.parametrize("drop", ["", "DROP TRIGGER item_removed"])
def test_rows_that_are_missing_are_noticed(data: Path, drop: str) -> None:
    with open_store(data) as store:
        before = dump(store.catalog)
    with raw(data) as connection:
        connection.execute(drop)
        connection.execute("DELETE FROM items WHERE number IN (SELECT number FROM items LIMIT 2)")
    with open_store(data) as store:
        assert store.is_rebuilt
        assert dump(store.catalog) == before
    check_all_found(data, before)


def test_a_lost_log_of_the_catalogue_is_noticed(data: Path, tmp_path: Path) -> None:
    """What was committed and not yet copied into the file was in the log alone, as after a crash."""
    with open_store(data) as store:
        put(deposits(store, CountedLabels(50)))
        after = dump(store.catalog)
        shutil.copytree(data, tmp_path / "crashed")
    crashed = tmp_path / "crashed"
    assert Path(f"{crashed / CATALOGUE}-wal").stat().st_size
    remove_logs(crashed / CATALOGUE)
    with open_store(crashed) as store:
        assert dump(store.catalog) == after
    check_all_found(crashed, after)


def test_a_log_that_is_left_over_is_not_trusted_blindly(data: Path, tmp_path: Path) -> None:
    """An operator puts back one file of three: SQLite mixes the two, and what comes of it is compared."""
    shutil.copy(data / CATALOGUE, tmp_path / "backup")
    with open_store(data) as store:
        made = deposits(store, CountedLabels(50))
        for _ in range(5):
            put(made)
        after = dump(store.catalog)
        shutil.copytree(data, tmp_path / "crashed")
    crashed = tmp_path / "crashed"
    shutil.copy(tmp_path / "backup", crashed / CATALOGUE)
    with open_repaired(crashed) as store:
        assert dump(store.catalog) == after


def test_a_store_put_back_from_an_older_backup_is_refused_until_confirmed(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / STORE, tmp_path / "backup")
    after = fill(data, first=10, count=2)
    shutil.rmtree(data / STORE)
    shutil.copytree(tmp_path / "backup", data / STORE)
    for _ in range(2):
        with pytest.raises(StoreIncomplete, match=f"lacks 2 of {COUNT + 2} items"):
            open_store(data)
    listed = rebuild_catalogue(data)
    assert (listed.removed, listed.unreadable) == (2, ())
    check_all_found(data, after[:COUNT])


def test_a_store_put_back_from_a_newer_backup_is_read_in(data: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(data, older)
    after = fill(data, first=10, count=2)
    shutil.rmtree(older / STORE)
    shutil.copytree(data / STORE, older / STORE)
    with open_store(older) as store:
        assert dump(store.catalog) == after


@pytest.mark.parametrize("has_catalogue", [True, False])
def test_a_store_without_its_items_is_refused(data: Path, *, has_catalogue: bool) -> None:
    """Its disk is not mounted, or somebody has deleted what is in it."""
    shutil.rmtree(data / STORE / "sid.inpe.br")
    if has_catalogue:
        (data / STORE / FILE_NAME).unlink()
    else:
        (data / CATALOGUE).unlink()
    with pytest.raises(StoreIncomplete, match=f"lacks {COUNT} of {COUNT} items"):
        open_store(data)
    assert (data / CATALOGUE).exists()


def test_a_death_inside_the_commit_has_one_item_looked_at(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store has the state before and the state after: the catalogue has one of them."""
    write = GenerationFile.write

    def die(self: GenerationFile, before: CatalogStanding, after: CatalogStanding, *, durably: bool = False) -> None:
        write(self, before, after, durably=durably)
        raise KeyboardInterrupt

    with open_store(data, boot="now") as store:
        items = dump(store.catalog)
        monkeypatch.setattr(GenerationFile, "write", die)
        with pytest.raises(KeyboardInterrupt):
            put(deposits(store, CountedLabels(50)))
        shutil.copytree(data, tmp_path / "crashed")
        monkeypatch.undo()
    with open_store(tmp_path / "crashed", boot="now") as store:
        assert (store.is_rebuilt, store.swept.looked_at) == (False, 1)
        assert len(dump(store.catalog)) == len(items) + 1


def test_processes_that_write_side_by_side_agree(data: Path) -> None:
    with open_store(data) as one, open_store(data) as other:
        for number in range(4):
            put(deposits(one if number % 2 else other, CountedLabels(50 + number)))
        one.check()
        other.check()
        after = dump(one.catalog)
    check_all_found(data, after)


def test_a_catalogue_replaced_under_a_running_process_takes_no_more_changes(data: Path) -> None:
    with open_store(data) as store:
        before = dump(store.catalog)
        for end in ("", "-wal", "-shm"):
            (data / f"{CATALOGUE}{end}").unlink(missing_ok=True)
        with pytest.raises(CatalogDamaged, match="is gone"):
            store.check()
        with open_store(data) as other:
            assert dump(other.catalog) == before
        with pytest.raises(CatalogDamaged, match="was replaced"):
            store.check()
        assert dump(store.catalog) == before
        with pytest.raises(ChangeUnfinished):
            put(deposits(store, CountedLabels(50)))
    with open_store(data) as store:
        assert len(dump(store.catalog)) == COUNT + 1


def test_an_emptied_catalogue_makes_nothing_unknown_to_a_running_process(data: Path) -> None:
    with open_store(data) as store:
        item = dump(store.catalog)[0]
        (data / CATALOGUE).write_bytes(b"")
        with pytest.raises(CatalogDamaged):
            store.check()
        # A thread that opens a connection of its own must not make the file anew.
        from threading import Thread

        found: list[object] = []

        def ask() -> None:
            try:
                found.append(store.find(item.rep))
            except CatalogDamaged as error:
                found.append(error)

        thread = Thread(target=ask)
        thread.start()
        thread.join()
        assert found == [item] or isinstance(found[0], CatalogDamaged)
    assert not (data / CATALOGUE).stat().st_size or not is_empty_catalogue(data)


def is_empty_catalogue(data: Path) -> bool:
    with raw(data) as connection:
        return bool(connection.execute("SELECT count(*) FROM items").fetchone() == (0,))


def test_a_store_replaced_under_a_running_process_is_noticed(data: Path, tmp_path: Path) -> None:
    with open_store(data) as store:
        store.check()
        (data / STORE).rename(tmp_path / "moved")
        with pytest.raises(NotAStore):
            store.check()
        shutil.copytree(tmp_path / "moved", data / STORE)
        with pytest.raises(NotAStore, match="start the server again"):
            store.check()


def test_a_crash_while_the_catalogue_is_made_anew_begins_again(data: Path) -> None:
    with open_store(data) as store:
        before = dump(store.catalog)
    (data / CATALOGUE).write_bytes(b"")

    def die() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_store(data, on_item=die)
    with open_store(data) as store:
        assert store.is_rebuilt
        assert dump(store.catalog) == before
    check_all_found(data, before)


OTHERS = (
    *("texts", "text_progress", "text_documents", "text_files", "text_later", "text_words", "text_long_words"),
    *("text_long", "previews", "block_digests", "verified_items", "damage_version", "damage_letters"),
    "wanted_verifications",
)


def as_an_earlier_version(data: Path) -> None:
    (data / STORE / FILE_NAME).unlink()
    with raw(data) as connection:
        for trigger in ("item_added", "item_removed", "held_of_item_removed"):
            connection.execute(f"DROP TRIGGER {trigger}")
        for table in (
            "standing",
            "transfers",
            "changes",
            "feed",
            "held",
            "held_totals",
            "held_types",
            "vocabulary",
            *OTHERS,
        ):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DELETE FROM links WHERE link = 'owner'")
        connection.execute("DROP INDEX listed_by_title")
        connection.execute("PRAGMA user_version = 2")
        connection.execute("PRAGMA application_id = 0")


def test_a_directory_of_an_earlier_version_is_taken_over(data: Path) -> None:
    with open_store(data) as store:
        before = dump(store.catalog)
    as_an_earlier_version(data)
    with open_store(data) as store:
        assert (store.is_rebuilt, store.swept) == (False, ListingResult())
        assert dump(store.catalog) == before
        entries = store.changes.since(0, 100).changes
        assert sorted(each.label for each in entries) == [name_of(item) for item in before]
        assert [each.at for each in entries] == [str(item.updated) for item in before]
        assert {each.kind for each in entries} == {ChangeKind.PUT}
    check_all_found(data, before)


def test_one_of_an_earlier_version_that_lacks_rows_is_made_anew(data: Path) -> None:
    with open_store(data) as store:
        before = dump(store.catalog)
    with raw(data) as connection:
        connection.execute("DELETE FROM items WHERE number IN (SELECT number FROM items LIMIT 1)")
    as_an_earlier_version(data)
    with open_store(data) as store:
        assert store.is_rebuilt
        assert [name_of(item) for item in dump(store.catalog)] == [name_of(item) for item in before]
