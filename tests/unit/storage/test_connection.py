"""How SQLite is set up, and what its errors mean."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.connection import DatabaseError, connect, storage_errors, transaction
from ibi.storage.errors import DiskRefused, StoreNewer

MIGRATIONS = ("CREATE TABLE one (a);\nCREATE TABLE two (a);\n", "ALTER TABLE one ADD COLUMN b")


def setting(path: Path, name: str) -> object:
    connection = connect(path, MIGRATIONS)
    try:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("mmap_size", 0), ("cache_size", -2048), ("foreign_keys", 1)],
)
def test_every_connection_is_set_up_the_same(tmp_path: Path, name: str, value: object) -> None:
    assert setting(tmp_path / "x.sqlite", name) == value
    assert setting(tmp_path / "x.sqlite", name) == value


def test_a_new_store_goes_through_all_migrations(tmp_path: Path) -> None:
    connection = connect(tmp_path / "x.sqlite", MIGRATIONS)
    connection.execute("INSERT INTO one (a, b) VALUES (1, 2)")
    connection.close()
    assert setting(tmp_path / "x.sqlite", "user_version") == 2


def test_an_older_store_is_migrated_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    connection = connect(path, MIGRATIONS[:1])
    connection.execute("INSERT INTO one (a) VALUES (1)")
    connection.close()
    connection = connect(path, MIGRATIONS)
    assert connection.execute("SELECT a, b FROM one").fetchall() == [(1, None)]
    connection.close()
    backup = connect(tmp_path / "x.sqlite.format-1", MIGRATIONS[:1])
    assert backup.execute("SELECT a FROM one").fetchall() == [(1,)]
    backup.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with pytest.raises(DiskRefused):
        connect(path, (*MIGRATIONS, "CREATE TABLE three (a);\nCREATE TABLE one (a)"))
    connection = connect(path, ())
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    connection.close()


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    connect(tmp_path / "x.sqlite", MIGRATIONS).close()
    with pytest.raises(StoreNewer, match="format 2, this one knows 1"):
        connect(tmp_path / "x.sqlite", MIGRATIONS[:1])


def test_many_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for number in range(10):
                connect(tmp_path / f"{number}.sqlite", MIGRATIONS).close()
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    connection = connect(tmp_path / "x.sqlite", MIGRATIONS)
    with transaction(connection):
        connection.execute("INSERT INTO two VALUES (1)")
    with pytest.raises(DatabaseError), storage_errors(tmp_path), transaction(connection):
        connection.executemany("INSERT INTO two VALUES (?)", [(2,), (3, 4)])  # a fault of ours stays what it is
    assert connection.execute("SELECT a FROM two").fetchall() == [(1,)]
    connection.close()


def test_a_caller_that_waits_too_long_is_told(tmp_path: Path) -> None:
    one = connect(tmp_path / "x.sqlite", MIGRATIONS)
    other = connect(tmp_path / "x.sqlite", MIGRATIONS, patience=0.01)
    one.execute("BEGIN IMMEDIATE")
    with pytest.raises(DiskRefused, match="locked"), storage_errors(tmp_path / "x.sqlite"), transaction(other):
        pass
    one.close()
    other.close()


def test_what_is_no_database_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"nothing of the kind" * 1000)
    with pytest.raises(StoreDamaged, match="not a database"):
        connect(path, MIGRATIONS)


def test_a_place_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiskRefused):
        connect(tmp_path, MIGRATIONS)
    with pytest.raises(DiskRefused):
        connect(tmp_path / "missing" / "x.sqlite", MIGRATIONS)


def test_an_error_without_a_code_is_that_of_the_disk(tmp_path: Path) -> None:
    """As of the online backup, which SQLite's module raises without one."""
    with pytest.raises(DiskRefused, match="disk is full"), storage_errors(tmp_path / "x.sqlite"):
        raise DatabaseError("database or disk is full")
