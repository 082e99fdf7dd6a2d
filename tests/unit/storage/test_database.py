"""The SQL of the stores of `state`: migrations in the words of an engine, upserts and change numbers."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ibi.storage.connection import Connection, connect
from ibi.storage.database import (
    POSTGRESQL,
    SQLITE,
    DatabaseSession,
    Dialect,
    note_change,
    read_change_number,
    run_migration,
    upsert,
)


def open_database(place: Path) -> Connection:
    return connect(place / "any.sqlite", ("CREATE TABLE change_numbers (name TEXT PRIMARY KEY, number BIGINT)",))


def test_a_migration_has_the_words_of_its_engine(tmp_path: Path) -> None:
    text = "CREATE TABLE a (id {identity}, b {bytes});\nCREATE TABLE c (d TEXT)"
    with closing(open_database(tmp_path)) as connection:
        run_migration(connection, text, SQLITE)
        made = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE name IN ('a', 'c')"))
    assert made["a"] == "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, b BLOB)"
    assert set(made) == {"a", "c"}
    assert "BYTEA" in POSTGRESQL.bytes


def test_a_migration_may_be_done_in_python(tmp_path: Path) -> None:
    def migrate(session: DatabaseSession, dialect: Dialect) -> None:
        session.execute(f"CREATE TABLE made_by_{dialect.name} (a TEXT)")

    with closing(open_database(tmp_path)) as connection:
        run_migration(connection, migrate, SQLITE)
        assert connection.execute("SELECT * FROM made_by_sqlite").fetchall() == []


def test_an_upsert_replaces_the_row_with_the_same_key(tmp_path: Path) -> None:
    with closing(open_database(tmp_path)) as connection:
        connection.execute("CREATE TABLE t (a TEXT, b TEXT, c TEXT, PRIMARY KEY (a, b))")
        put = upsert("t", "a, b, c", "a, b")
        for row in (("1", "1", "x"), ("1", "2", "y"), ("1", "1", "z")):
            connection.execute(put, row)
        assert connection.execute("SELECT * FROM t ORDER BY b").fetchall() == [("1", "1", "z"), ("1", "2", "y")]


def test_an_upsert_of_nothing_but_a_key_leaves_the_row(tmp_path: Path) -> None:
    with closing(open_database(tmp_path)) as connection:
        connection.execute("CREATE TABLE t (a TEXT PRIMARY KEY)")
        for _ in range(2):
            connection.execute(upsert("t", "a", "a"), ("1",))
        assert connection.execute("SELECT * FROM t").fetchall() == [("1",)]


def test_change_numbers_count_for_each_name(tmp_path: Path) -> None:
    with closing(open_database(tmp_path)) as connection:
        assert read_change_number(connection, "people") == 0
        for name in ("people", "registry", "people"):
            note_change(connection, name)
        assert [read_change_number(connection, name) for name in ("people", "registry", "other")] == [2, 1, 0]
