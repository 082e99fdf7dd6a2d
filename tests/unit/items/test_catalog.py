"""The catalogue in SQLite: what the port does not ask of a catalogue without a disk."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ibi.items.model.file import File
from ibi.items.ports.catalog import Catalog, Link
from ibi.items.rules.errors import LabelTaken
from ibi.items.store.catalogue import rows as catalog_rows
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.migrations import MIGRATIONS
from ibi.standard.document_errors import NewerDocument
from ibi.standard.instant import FIRST_SECOND, LAST_SECOND, Instant
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.messages import LabelForms
from ibi.standard.storage_errors import CatalogDamaged
from ibi.storage.connection import Connection, connect
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked, StoreNewer
from tests.properties.item_strategies import forms_at
from tests.support.catalog_dump import dump
from tests.support.catalog_samples import item, same_ibip

_: type[Catalog] = SqliteCatalog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "catalogue.sqlite"


@pytest.fixture
def catalog(path: Path) -> Iterator[SqliteCatalog]:
    with closing(SqliteCatalog(path)) as catalog:
        yield catalog


@pytest.fixture
def file(path: Path, catalog: SqliteCatalog) -> Iterator[Connection]:
    with closing(connect(path, MIGRATIONS)) as connection:
        yield connection


def labels(minute: int) -> tuple[Label, ...]:
    return forms_at(minute).labels


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_was_put_is_there_after_closing(path: Path) -> None:
    with closing(SqliteCatalog(path)) as catalog:
        catalog.put(item(1, edition_of=forms_at(2)))
        lines = list(dump(catalog))
    with closing(SqliteCatalog(path)) as catalog:
        assert list(dump(catalog)) == lines
        assert catalog.find_linked(Link.EDITION_OF, labels(2)[1]) == (item(1, edition_of=forms_at(2)),)


# --- others who change it --------------------------------------------------------------------------------------------

SCRIPT = """
import os, signal, sys
from pathlib import Path
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.migrations import MIGRATIONS
from tests.support.catalog_samples import item
catalog = SqliteCatalog(Path(sys.argv[1]))
"""


def in_another_process(path: Path, script: str) -> int:
    root = Path(__file__).parents[3]
    environ = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    return subprocess.run([sys.executable, "-c", SCRIPT + script, str(path)], env=environ, check=False).returncode


def test_a_change_by_another_process_is_seen_at_once(path: Path, catalog: SqliteCatalog) -> None:
    catalog.put(item(1, "before"))
    catalog.put(item(2))
    assert [catalog.find(label) for label in labels(1)] == [item(1, "before")] * 2
    assert in_another_process(path, "catalog.put(item(1, 'after')); catalog.remove(item(2).rep)") == 0
    assert [catalog.find(label) for label in labels(1)] == [item(1, "after")] * 2
    assert catalog.find(labels(2)[0]) is None


def test_a_change_through_another_opening_is_seen_at_once(path: Path, catalog: SqliteCatalog) -> None:
    with closing(SqliteCatalog(path)) as other:
        for number in range(20):
            other.put(item(1, f"title {number}"))
            assert [catalog.find(label) for label in labels(1)] == [item(1, f"title {number}")] * 2


def test_a_change_by_another_thread_is_seen_at_once(catalog: SqliteCatalog) -> None:
    catalog.put(item(1, "before"))
    assert catalog.find(labels(1)[0]) == item(1, "before")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(catalog.find, labels(1)[0]).result() == item(1, "before")
        catalog.put(item(1, "after"))
        assert pool.submit(catalog.find, labels(1)[0]).result() == item(1, "after")
        pool.submit(catalog.remove, labels(1)[1]).result()
    assert catalog.find(labels(1)[0]) is None


def test_what_was_acknowledged_survives_a_kill(path: Path) -> None:
    assert in_another_process(path, "catalog.put(item(1)); os.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
    with closing(SqliteCatalog(path)) as catalog:
        assert list(catalog.items()) == [item(1)]


def test_reading_does_not_wait_for_a_writer(file: Connection, catalog: SqliteCatalog) -> None:
    catalog.put(item(1))
    file.execute("BEGIN IMMEDIATE")
    file.execute("DELETE FROM items")
    assert catalog.find(labels(1)[0]) == item(1)
    assert list(catalog.items()) == [item(1)]
    file.execute("ROLLBACK")


# --- what is remembered ----------------------------------------------------------------------------------------------


def test_an_item_that_did_not_change_is_the_same_object(catalog: SqliteCatalog) -> None:
    catalog.put(item(1))
    rep, ibip = labels(1)
    first = catalog.find(rep)
    assert catalog.find(ibip) is first
    catalog.put(item(2))
    assert catalog.find(rep) is first
    assert catalog.find(ibip) is first
    catalog.put(item(1, "another"))
    assert catalog.find(rep) is not first


def test_a_large_item_is_kept_and_found(catalog: SqliteCatalog) -> None:
    files = tuple(File(f"{number:05}.pdf", number, f"{number:0128x}") for number in range(3_000))
    large = item(1, files=files)
    catalog.put(large)
    assert catalog.find(large.rep) == large
    assert list(catalog.items()) == [large]


def test_to_look_up_a_large_item_reads_few_of_its_files(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody else waits meanwhile: ten thousand files take two hundred milliseconds."""
    files = tuple(File(f"{number:05}.pdf", number, f"{number:0128x}") for number in range(10_000))
    catalog.put(item(1, files=files, target="00777.pdf"))
    read, check = [], File.__post_init__

    def counted(file: File) -> None:
        read.append(file)
        check(file)

    monkeypatch.setattr(File, "__post_init__", counted)
    found = catalog.find(labels(1)[0])
    assert found is not None
    assert found.file("09999.pdf") == files[-1]
    assert len(read) < 100


@pytest.mark.parametrize("files", [b"1", b"{}", b"[", b"[1,", b"\xff"])
def test_a_large_record_that_makes_no_sense_is_damage(file: Connection, catalog: SqliteCatalog, files: bytes) -> None:
    catalog.put(item(1))
    file.execute("UPDATE items SET item = ?", (b'{"schema":1,' + b" " * 20_000 + b'"files":' + files + b"}",))
    for ask in (lambda: catalog.find(labels(1)[0]), lambda: list(catalog.items())):
        with pytest.raises(CatalogDamaged, match="ibi rebuild"):
            ask()


def test_large_items_do_not_fill_the_memory(catalog: SqliteCatalog) -> None:
    files = tuple(File(f"{number:05}.pdf", number, f"{number:0128x}") for number in range(10_000))
    catalog.put_all(item(minute, files=files) for minute in range(20))
    kept = [catalog.find(labels(minute)[0]) for minute in range(20)]
    assert catalog.find(labels(19)[0]) is kept[19]
    assert catalog.find(labels(0)[0]) is not kept[0]


def test_a_record_has_no_white_space_between_its_fields(file: Connection, catalog: SqliteCatalog) -> None:
    catalog.put(item(1, "Água"))
    ((shared, local),) = file.execute("SELECT item, local FROM items").fetchall()
    assert "Água".encode() in shared
    assert b": " not in shared + local
    assert b"\n" not in shared + local


def plan(connection: Connection, statement: str) -> str:
    parameters = (None,) * statement.count("?")
    return "; ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))


@pytest.mark.parametrize("statement", [*catalog_rows.FIND.values(), catalog_rows.PAGE_AFTER, catalog_rows.LINKED])
def test_no_question_reads_a_whole_table(file: Connection, statement: str) -> None:
    assert "SEARCH" in plan(file, statement)
    assert "SCAN" not in plan(file, statement)


@pytest.mark.parametrize("statement", catalog_rows.FIND_SEATED.values())
def test_a_look_up_goes_down_one_tree(file: Connection, statement: str) -> None:
    assert plan(file, statement) == "SEARCH items USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"


@pytest.mark.parametrize("fraction", ["", "5", "00001", "99999999999"])
def test_both_labels_lead_to_the_same_seats(file: Connection, catalog: SqliteCatalog, fraction: str) -> None:
    instant = Instant(1_700_000_000, fraction)
    forms = LabelForms(RepositoryName.from_parts("a.br", 80, instant), Ibip.from_parts("150.163.34.243", 800, instant))
    catalog.put(item(labels=forms))
    ((number,),) = file.execute("SELECT number FROM items").fetchall()
    assert {catalog_rows.first_rowid(label) for label in forms.labels} == {number}


def test_seats_never_end_where_the_next_begin() -> None:
    latest = RepositoryName.from_parts("a.br", 80, Instant(LAST_SECOND, "9" * 30))
    assert catalog_rows.first_rowid(latest) + catalog_rows.ROWIDS_PER_TICK < 1 << 63
    earliest = RepositoryName.from_parts("a.br", 80, Instant(FIRST_SECOND))
    following = RepositoryName.from_parts("a.br", 80, Instant(FIRST_SECOND, "00002"))
    assert catalog_rows.first_rowid(earliest) == 0
    assert catalog_rows.first_rowid(following) == catalog_rows.ROWIDS_PER_TICK


@pytest.mark.parametrize("seconds", [FIRST_SECOND, 1_700_000_000, LAST_SECOND])
def test_more_items_of_one_instant_than_there_are_seats(
    file: Connection, catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    monkeypatch.setattr(catalog_rows, "ROWIDS_PER_TICK", 3)
    names = [RepositoryName.from_parts(f"h{number}.br", 80, Instant(seconds)) for number in range(9)]
    kept = [item(labels=LabelForms(name)) for name in names]
    catalog.put_all([*kept, item(1), *kept])
    assert [catalog.find(name) for name in names] == kept
    assert catalog.find(item(1).rep) == item(1)
    assert catalog.remove(names[1])
    catalog.put(item(labels=LabelForms(names[1]), title="again"))
    assert catalog.find(names[1]) == item(labels=LabelForms(names[1]), title="again")
    assert len(list(catalog.items())) == 10
    assert catalog.find(RepositoryName.from_parts("nobody.br", 80, Instant(seconds))) is None


def test_pages_are_read_in_order_without_sorting(file: Connection) -> None:
    assert "TEMP B-TREE" not in plan(file, catalog_rows.PAGE_AFTER)


def test_a_batch_that_is_refused_is_refused_whole_and_those_before_stay(catalog: SqliteCatalog) -> None:
    catalog.put(item(1))
    with pytest.raises(LabelTaken):
        catalog.put_all(iter([item(2), item(labels=same_ibip(1)), item(3)]))
    assert list(catalog.items()) == [item(1)]
    assert catalog.put_all([]) == 0


# --- what is wrong with a file ---------------------------------------------------------------------------------------


def test_a_catalogue_of_a_newer_version_is_refused(path: Path) -> None:
    SqliteCatalog(path).close()
    with closing(connect(path, MIGRATIONS)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreNewer):
        SqliteCatalog(path)


def test_a_file_that_is_no_catalogue_is_damaged_and_can_be_rebuilt(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(CatalogDamaged, match="ibi rebuild") as caught:
        SqliteCatalog(path)
    assert caught.value.code == "store-damaged"


@pytest.mark.parametrize("record", [b"", b"{", b"{}", b'{"schema":1}', b"\xff"])
def test_a_record_that_makes_no_sense_is_damage(file: Connection, catalog: SqliteCatalog, record: bytes) -> None:
    catalog.put(item(1))
    file.execute("UPDATE items SET item = ?", (record,))
    for ask in (lambda: catalog.find(labels(1)[0]), lambda: list(catalog.items())):
        with pytest.raises(CatalogDamaged, match="ibi rebuild"):
            ask()


def test_a_record_of_a_newer_version_is_told_as_that(file: Connection, catalog: SqliteCatalog) -> None:
    catalog.put(item(1))
    (record,) = file.execute("SELECT item FROM items").fetchone()
    file.execute("UPDATE items SET item = ?", (record.replace(b'"schema":1', b'"schema":4,"requires_schema":4'),))
    with pytest.raises(NewerDocument):
        catalog.find(labels(1)[0])


def test_damage_on_the_way_is_told_as_damage(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a catalogue that is too large to be read to its end when it is opened."""
    monkeypatch.setattr("ibi.storage.connection._INSPECTED", 0)
    with closing(SqliteCatalog(path)) as catalog:
        catalog.put_all(item(minute) for minute in range(200))
    with closing(connect(path, MIGRATIONS)) as connection:
        roots = [page for (page,) in connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 1")]
    with path.open("r+b") as raw:  # what the tables consist of, and not that there are such tables
        for page in roots:
            raw.seek(4096 * (page - 1))
            raw.write(b"\xff" * 4096)
    with closing(SqliteCatalog(path)) as catalog:
        for ask in (lambda: catalog.find(labels(1)[0]), lambda: list(catalog.items()), lambda: catalog.put(item(1))):
            with pytest.raises(CatalogDamaged):
                ask()


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DiskRefused):
        SqliteCatalog(tmp_path / "file" / "catalogue.sqlite")


def test_a_full_disk_refuses_and_loses_nothing(catalog: SqliteCatalog) -> None:
    catalog.put(item(1))
    catalog._write(lambda connection: connection.execute("SELECT 1"))
    writer = catalog._writer._connection
    assert writer is not None
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DiskRefused, match="full"):
        catalog.put(item(2, "x" * 100_000))
    assert list(catalog.items()) == [item(1)]
    writer.execute("PRAGMA max_page_count = 1000000")
    catalog.put(item(2))
    assert list(catalog.items()) == [item(1), item(2)]


# --- openings and closings -------------------------------------------------------------------------------------------


def test_a_closed_catalogue_says_so_and_may_be_closed_again(path: Path) -> None:
    catalog = SqliteCatalog(path)
    catalog.put(item(1))
    reading = catalog.items()
    catalog.find(labels(1)[0])
    catalog.close()
    catalog.close()
    with pytest.raises(StoreClosed):
        catalog.find(labels(1)[0])
    with pytest.raises(StoreClosed):
        next(reading)
    with pytest.raises(StoreClosed):
        catalog.put(item(1))


def test_a_catalogue_may_be_closed_while_others_read(path: Path) -> None:
    catalog = SqliteCatalog(path)
    catalog.put(item(1))
    started = threading.Barrier(5, timeout=20)

    def read() -> None:
        started.wait()
        while True:
            catalog.find(labels(1)[0])
            catalog.find_linked(Link.EDITION_OF, labels(1)[0])

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        started.wait()
        catalog.close()
        assert {type(reader.exception(20)) for reader in readers} == {StoreClosed}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files the way of Linux")
def test_a_thread_that_ends_leaves_no_connection(catalog: SqliteCatalog) -> None:
    catalog.put(item(1))
    catalog.find(labels(1)[0])
    before = open_files()
    for _ in range(10):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(catalog.find, labels(1) * 4))
    gc.collect()
    # SQLite keeps a closed file open for the next connection while others hold locks: four, not forty.
    assert open_files() <= before + 8


def test_a_forked_process_opens_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = SqliteCatalog(path)
    catalog.put(item(1))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for ask in (lambda: catalog.find(labels(1)[0]), lambda: catalog.put(item(2)), lambda: list(catalog.items())):
        with pytest.raises(StoreForked):
            ask()
    catalog.close()
    monkeypatch.undo()
    assert catalog.find(labels(1)[0]) == item(1)
    catalog.close()


def test_the_version_changes_with_every_change_and_with_nothing_else(path: Path, catalog: SqliteCatalog) -> None:
    versions = [catalog.version()]
    assert catalog.find(labels(1)[0]) is None
    assert catalog.version() == versions[0]
    catalog.put(item(1))
    versions.append(catalog.version())
    with closing(SqliteCatalog(path)) as other:
        other.put(item(2))
    versions.append(catalog.version())
    catalog.remove(labels(1)[0])
    versions.append(catalog.version())
    assert len(set(versions)) == 4


def test_a_recent_version_knows_of_own_changes_at_once_and_of_others_soon(
    path: Path, catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("ibi.items.store.catalogue.catalog.monotonic", lambda: now[0])
    versions = [catalog.recent_version()]
    catalog.put(item(1))
    versions.append(catalog.recent_version())
    with closing(SqliteCatalog(path)) as other:
        other.put(item(2))
        assert catalog.recent_version() == versions[-1]
        now[0] += 0.002
        versions.append(catalog.recent_version())
        other.put(item(3))
    catalog.remove(labels(1)[0])
    versions.append(catalog.recent_version())
    assert len(set(versions)) == 4
    catalog.close()
    with pytest.raises(StoreClosed):
        catalog.recent_version()


# The newest label.


def test_the_newest_date_of_a_prefix_is_found_in_either_form(catalog: SqliteCatalog) -> None:
    rep, ibip = (label.prefix for label in labels(0))
    assert catalog.newest([rep, ibip]) is None
    for minute in (3, 300, 7):
        catalog.put(item(minute))
    foreign = RepositoryName.from_parts("other.lab.br", 80, Instant(1_900_000_000, "5"))
    catalog.put(item(labels=LabelForms(foreign, None)))
    newest = labels(300)[0].instant
    for prefixes in ([rep], [ibip], [rep, ibip]):
        assert catalog.newest(prefixes) == newest
    assert catalog.newest([foreign.prefix]) == foreign.instant
    assert catalog.newest([rep, foreign.prefix]) == foreign.instant
    # A prefix that ends as another does, and one that begins as another does, are others.
    assert catalog.newest([rep.removeprefix("l"), f"{rep}.8080", "xlab.br/arq"]) is None
