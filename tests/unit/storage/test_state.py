"""The database that all stores of `state` share: its parts, its transactions, and what is kept when it is damaged."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Event

import pytest

from ibi.people.model.account import Person, Role
from ibi.people.store.people import SqlitePeople
from ibi.standard.instant import Instant
from ibi.storage import state as state_module
from ibi.storage.connection import STATE, driver  # type: ignore[attr-defined]  # the SQLite of the stores
from ibi.storage.database import CHANGE_NUMBERS, POSTGRESQL, SQLITE, note_change, read_change_number, run_migration
from ibi.storage.directory_record import was_begun
from ibi.storage.errors import DiskRefused, StateDamaged, StoreClosed, StoreForked, StoreNewer
from ibi.storage.state import KNOWN_VERSIONS, PARTS, SqliteDatabase, StatePart, empty_part, open_state
from ibi.storage.state_copies import list_copies

NOW = Instant.parse("2026-11-15T12:00:00Z")
MIGRATIONS = ("CREATE TABLE extra (name TEXT PRIMARY KEY)", "ALTER TABLE extra ADD COLUMN size BIGINT")
"""Those of a part that a later version has."""

WORDS = frozenset(
    """AND ALWAYS AS BIGINT BYTEA CASCADE CHECK CREATE DEFAULT DELETE DO GENERATED IDENTITY IN INDEX INSTEAD INTEGER IS
    KEY NOT NOTHING NULL ON OR PRIMARY REFERENCES RULE TABLE TEXT TO UNIQUE UPDATE WHERE""".split()
)
"""What migrations may use: each of these was run by PostgreSQL 15. Run the migrations there before you add a word."""
RESERVED = frozenset(
    """all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
    current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc
    distinct do else end except false fetch for foreign from grant group having in initially intersect into lateral
    leading limit localtime localtimestamp not null offset on only or order placing primary references returning select
    session_user some symmetric table then to trailing true union unique user using variadic when where window
    with""".split()
)
"""The words that PostgreSQL 15 takes for no name (`pg_get_keywords()` with the category R)."""


class Recorded:
    """A session that only keeps the statements."""

    rowcount = 0

    def __init__(self) -> None:
        self.statements: list[str] = []

    def execute(self, statement: str, parameters: object = (), /) -> Recorded:
        assert not parameters
        self.statements.append(statement)
        return self

    def executemany(self, statement: str, parameters: object, /) -> None:
        raise AssertionError(statement)

    def fetchone(self) -> None:
        return None

    def fetchall(self) -> list[object]:
        return []


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def names(database: SqliteDatabase) -> list[str]:
    with database.read() as session:
        return [name for (name,) in session.execute("SELECT name FROM people ORDER BY name").fetchall()]


def add(database: SqliteDatabase, name: str) -> None:
    with database.change() as session:
        session.execute(
            "INSERT INTO people (name, folded, role, created, shown) VALUES (?, ?, 'reader', 0, '')", (name, name)
        )


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_has_as_many_migrations_as_its_version_says(part: StatePart) -> None:
    assert len(part.migrations()) == part.version


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_names_the_tables_that_its_migrations_make(part: StatePart) -> None:
    session = Recorded()
    for migration in part.migrations():
        run_migration(session, migration, SQLITE)
    made = re.findall(r"CREATE TABLE (\w+)", "\n".join(session.statements))
    assert sorted(made) == sorted(part.tables)


def test_no_two_parts_have_a_name_or_a_table_in_common() -> None:
    tables = [table for part in PARTS for table in part.tables]
    assert len(tables) == len(set(tables))
    assert len({part.name for part in PARTS}) == len(PARTS)


def test_a_part_refers_to_no_table_of_a_later_one() -> None:
    seen: set[str] = set()
    for part in PARTS:
        session = Recorded()
        for migration in part.migrations():
            run_migration(session, migration, SQLITE)
        seen |= set(part.tables)
        assert set(re.findall(r"REFERENCES (\w+)", "\n".join(session.statements))) <= seen, part.name


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_postgresql_knows_every_word_of_a_migration(part: StatePart) -> None:
    session = Recorded()
    for migration in (*part.migrations(), CHANGE_NUMBERS):
        run_migration(session, migration, POSTGRESQL)
    for statement in session.statements:
        text = re.sub(r"'[^']*'", "''", statement)
        assert not set(re.findall(r"\b[A-Z_]{2,}\b", text)) - WORDS, statement
        assert not {name for name in re.findall(r"\b[a-z_]+\b", text) if name in RESERVED}, statement
        assert "{" not in text, statement


def test_a_change_inside_a_change_joins_it(data: Path) -> None:
    with closing(open_state(data)) as database, closing(open_state(data)) as other:
        with suppress(KeyError), database.change():
            add(database, "ana")
            add(other, "bia")
            assert names(other) == ["ana", "bia"]  # a reader inside sees the change
            raise KeyError
        assert names(database) == []
        with database.change():
            add(other, "ana")
        assert names(other) == ["ana"]


def test_a_lasting_change_is_lasting_also_inside_another(data: Path) -> None:
    """It survives the loss of the log."""
    with closing(open_state(data)) as database:
        with database.change(), database.change(lasting=True):
            add(database, "ana")
        (data / "copy").write_bytes((data / STATE.file_name).read_bytes())
    with closing(driver.connect(str(data / "copy"))) as copy:
        assert copy.execute("SELECT name FROM people").fetchall() == [("ana",)]


def test_a_reader_does_not_wait_for_a_writer(data: Path) -> None:
    begun, may_end = Event(), Event()

    def write(database: SqliteDatabase) -> None:
        with database.change():
            add(database, "ana")
            begun.set()
            assert may_end.wait(60)

    with closing(open_state(data)) as database, ThreadPoolExecutor(1) as other:
        written = other.submit(write, database)
        assert begun.wait(60)
        assert names(database) == []  # while the writer is in the middle of its change
        may_end.set()
        written.result(60)
        assert names(database) == ["ana"]


def test_changes_of_many_threads_are_all_there(data: Path) -> None:
    with closing(open_state(data)) as database, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: add(database, f"{number:03}"), range(64)))
        assert len(names(database)) == 64


def test_a_reader_cannot_write(data: Path) -> None:
    with closing(open_state(data)) as database:
        with pytest.raises(DiskRefused, match="readonly"), database.read() as session:
            session.execute("DELETE FROM people")
        assert names(database) == []


@pytest.mark.parametrize("number", [1, 2])
def test_the_stores_of_a_process_share_a_file_until_the_last_closes(data: Path, number: int) -> None:
    opened = [open_state(data) for _ in range(number)]
    assert len({id(each._file) for each in opened}) == 1
    for each in opened:
        each.close()
        each.close()
        with pytest.raises(StoreClosed):
            each.check()
    assert [path for _, path in state_module._open_files if path.is_relative_to(data)] == []


def test_a_store_is_refused_in_a_forked_process(data: Path) -> None:
    with closing(open_state(data)) as database:
        child = os.fork()
        if child == 0:
            try:
                database.check()
            except StoreForked:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_damage_that_was_found_stays(data: Path) -> None:
    path = data / STATE.file_name
    with closing(open_state(data)) as database:
        with database.change(lasting=True):
            add(database, "ana")
        content = path.read_bytes()
        path.write_bytes(b"\0" * len(content))
        with pytest.raises(StateDamaged):
            names(database)
        path.write_bytes(content)  # the pages in memory could be of either
        for refused in (database.check, lambda: names(database), lambda: add(database, "bia")):
            with pytest.raises(StateDamaged):
                refused()


def test_a_damaged_page_is_found_at_the_start(data: Path) -> None:
    path = data / STATE.file_name
    with closing(open_state(data)) as database:
        database.examine()
        with database.change(lasting=True):
            for number in range(2000):
                add(database, f"{number:05}" * 50)
    content = bytearray(path.read_bytes())
    content[-3 * 4096 :] = b"\xff" * (3 * 4096)
    path.write_bytes(content)
    with pytest.raises(StateDamaged), closing(open_state(data)) as database:
        database.examine()


def test_a_database_is_noted_and_for_its_owner_alone(data: Path) -> None:
    open_state(data).close()
    assert was_begun(data / STATE.file_name)
    assert stat.S_IMODE((data / STATE.file_name).stat().st_mode) == 0o600


def with_extra(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """Have this version know one part more."""
    part = StatePart("extra", __name__, ("extra",), version)
    monkeypatch.setattr(StatePart, "migrations", _migrations(version))
    monkeypatch.setattr(state_module, "PARTS", (*PARTS, part))
    monkeypatch.setattr(state_module, "KNOWN_VERSIONS", {**KNOWN_VERSIONS, "extra": version})


def _migrations(version: int) -> Callable[[StatePart], object]:
    theirs = StatePart.migrations
    return lambda part: MIGRATIONS[:version] if part.name == "extra" else theirs(part)


def test_a_migration_of_one_part_keeps_a_copy_first(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_state(data)) as database:
        add(database, "ana")
    assert list(list_copies(data)) == []  # a new database has nothing to keep
    for version in (1, 2):
        with monkeypatch.context() as changed:
            with_extra(changed, version)
            with closing(open_state(data)) as database, database.read() as session:
                assert session.execute("SELECT version FROM parts WHERE name = 'extra'").fetchone() == (version,)
        assert len(list(list_copies(data))) == version
    first = list(list_copies(data))[-1]
    with closing(driver.connect(str(first))) as copy:
        assert copy.execute("SELECT name FROM people").fetchall() == [("ana",)]
        assert copy.execute("SELECT 1 FROM parts WHERE name = 'extra'").fetchone() is None


def test_a_migration_that_fails_leaves_everything_as_it_was(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_state(data)) as database:
        add(database, "ana")
    with monkeypatch.context() as changed:
        with_extra(changed, 2)
        changed.setattr(f"{__name__}.MIGRATIONS", (MIGRATIONS[0], "no SQL"))
        with pytest.raises(Exception, match="syntax error"):
            open_state(data)
    with closing(open_state(data)) as database, database.read() as session:
        assert names(database) == ["ana"]
        assert session.execute("SELECT 1 FROM sqlite_schema WHERE name = 'extra'").fetchone() is None


def test_a_part_of_a_later_version_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        with_extra(changed, 1)
        open_state(data).close()
    with pytest.raises(StoreNewer):
        open_state(data)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_each_part_can_be_emptied_and_the_others_stay(data: Path, part: StatePart) -> None:
    with closing(SqlitePeople(data)) as people:
        people.add(Person("ana", Role.ADMIN, NOW))
    with closing(open_state(data)) as database, database.change() as session:
        session.execute("UPDATE parts SET begun = 'before'")
        note_change(session, "another")
    kept = empty_part(data, part.name)
    with closing(open_state(data)) as database, database.read() as session:
        assert names(database) == ([] if part.name == "people" else ["ana"])
        for table in part.tables:
            assert session.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        begun = dict(session.execute("SELECT name, begun FROM parts").fetchall())
        assert {name for name, time in begun.items() if time != "before"} == {part.name}
        assert read_change_number(session, part.name) == 1
    with closing(driver.connect(str(kept))) as copy:
        assert copy.execute("SELECT name FROM people").fetchall() == [("ana",)]
