"""Each database of a data directory, damaged in seven ways: said for what it is, with the step that helps."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from ibi.accounts.sign_in import new_token
from ibi.instant import Instant
from ibi.label import RepositoryName, parse
from ibi.messages import LabelForms
from ibi.model.account import Person, Role, Scope
from ibi.model.registration import Registration
from ibi.model.usage import Usage, UsageDay, UsageKind
from ibi.ports.errors import StorageError, StoreDamaged
from ibi.storage.errors import TicksDamaged
from ibi.storage.sqlite.connection import (
    ACCOUNTS,
    KINDS,
    PEOPLE,
    REGISTRY,
    USAGE,
    DatabaseKind,
    forget_begun,
    set_aside,
    was_begun,
)
from ibi.storage.sqlite.people import SqlitePeople
from ibi.storage.sqlite.registry import SqliteRegistry
from ibi.storage.sqlite.tokens import SqliteTokens
from ibi.storage.sqlite.usage import SqliteUsageLog
from tests.support.damage import WAYS, remove_logs
from tests.support.minting_samples import mint
from tests.unit.storage.sqlite.bench import Bench, all_unique

NOW = Instant.parse("2026-11-15T12:00:00Z")
SERVICE = parse("example.org/archive/2008/03.17.15.17")
DAY = UsageDay(RepositoryName.parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39"), 20_000)
_, TOKEN = new_token(b"\1" * 42, Scope.DEPOSIT, NOW)

OPEN: dict[DatabaseKind, Callable[[Path], Any]] = {
    ACCOUNTS: SqliteTokens,
    PEOPLE: SqlitePeople,
    REGISTRY: SqliteRegistry,
}
ADD: dict[DatabaseKind, Callable[[Any], None]] = {
    ACCOUNTS: lambda tokens: tokens.add(TOKEN),
    PEOPLE: lambda people: people.add(Person("ana", Role.ADMIN, NOW)),
    REGISTRY: lambda registry: registry.add(Registration(LabelForms.of(SERVICE), "hash", NOW)),
}
FIND: dict[DatabaseKind, Callable[[Any], object]] = {
    ACCOUNTS: lambda tokens: tokens.find(TOKEN.id),
    PEOPLE: lambda people: people.find("ana"),
    REGISTRY: lambda registry: registry.find(SERVICE),
}


def name_of(kind: object) -> str:
    return kind.file_name if isinstance(kind, DatabaseKind) else str(kind)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with something in each of the databases that cannot be made anew."""
    data = tmp_path_factory.mktemp("filled") / "data"
    for kind, opened in OPEN.items():
        with closing(opened(data)) as store:
            ADD[kind](store)
    with closing(SqliteUsageLog(data / USAGE.file_name)) as usage:
        usage.count(DAY, UsageKind.DOWNLOAD)
    return data


@pytest.fixture
def data(filled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "data")


def other_than(kind: DatabaseKind, data: Path) -> Path:
    return data / (PEOPLE if kind is ACCOUNTS else ACCOUNTS).file_name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OPEN, ids=name_of)
def test_what_cannot_be_made_anew_is_refused_and_begins_empty_only_on_purpose(
    data: Path, kind: DatabaseKind, way: str
) -> None:
    path = data / kind.file_name
    WAYS[way](path, other_than(kind, data))
    for _ in range(2):  # a refusal changes nothing
        with pytest.raises(StoreDamaged) as caught:
            OPEN[kind](data)
        assert type(caught.value) is kind.damaged
        assert str(path) in str(caught.value)
        assert f"`ibi rebuild --empty {path.stem}`" in str(caught.value)
    forget_begun(path)
    aside = set_aside(path)
    assert (aside is None) == (way == "deleted")
    with closing(OPEN[kind](data)) as store:
        assert FIND[kind](store) is None
    assert was_begun(path)


@pytest.mark.parametrize("kind", OPEN, ids=name_of)
def test_what_was_committed_does_not_need_its_log(data: Path, tmp_path: Path, kind: DatabaseKind) -> None:
    """A crash leaves a log; a copy of the file without it has every token, and every revocation, all the same."""
    crashed = tmp_path / "crashed"
    forget_begun(data / kind.file_name)
    set_aside(data / kind.file_name)
    with closing(OPEN[kind](data)) as store:
        ADD[kind](store)
        shutil.copytree(data, crashed)
    remove_logs(crashed / kind.file_name)
    with closing(OPEN[kind](crashed)) as store:
        assert FIND[kind](store) is not None


@pytest.mark.parametrize("way", ["deleted", "emptied", "first page", "text", "another"])
@pytest.mark.parametrize("kind", OPEN, ids=name_of)
def test_damage_under_a_running_process_is_said_and_makes_nothing_unknown(
    data: Path, kind: DatabaseKind, way: str
) -> None:
    store = OPEN[kind](data)
    try:
        store.check()
        WAYS[way](data / kind.file_name, other_than(kind, data))
        with pytest.raises(kind.damaged):
            store.check()
        with suppress(StoreDamaged):
            assert FIND[kind](store) is not None  # what is in memory is still right
    finally:
        store.close()


def test_a_token_is_not_looked_for_in_an_emptied_file(data: Path) -> None:
    with closing(SqliteTokens(data)) as tokens:
        (data / ACCOUNTS.file_name).write_bytes(b"")
        for identity in (TOKEN.id, "another"):
            with pytest.raises(StoreDamaged, match="it is empty"):
                tokens.find(identity)


def test_a_file_put_in_its_place_is_used_after_a_restart_only(data: Path) -> None:
    path = data / ACCOUNTS.file_name
    with closing(SqliteTokens(data)) as tokens:
        shutil.copy(path, data / "copy")
        (data / "copy").replace(path)
        with pytest.raises(StoreDamaged, match="start the server again"):
            tokens.find(TOKEN.id)
    with closing(SqliteTokens(data)) as tokens:
        assert tokens.find(TOKEN.id) == TOKEN


@pytest.mark.parametrize("kind", OPEN, ids=name_of)
def test_a_database_of_an_earlier_version_is_recognised_and_noted(data: Path, kind: DatabaseKind) -> None:
    path = data / kind.file_name
    forget_begun(path)
    with closing(sqlite3.connect(str(path), isolation_level=None)) as connection:
        connection.execute("PRAGMA application_id = 0")
    with closing(OPEN[kind](data)) as store:
        assert FIND[kind](store) is not None
    assert was_begun(path)
    with closing(sqlite3.connect(str(path), isolation_level=None)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (kind.application_id,)


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / ACCOUNTS.file_name
    with closing(sqlite3.connect(str(path), isolation_level=None)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another database"):
        SqliteTokens(tmp_path)
    assert path.read_bytes() == before


def test_every_database_has_a_number_and_a_message_of_its_own() -> None:
    assert len(KINDS) == 15
    assert len({kind.damaged.__doc__ for kind in KINDS.values()}) == 15


# Counts of use.


@pytest.fixture
def told() -> list[tuple[StorageError, Path | None]]:
    return []


@pytest.mark.parametrize("way", WAYS)
def test_use_is_counted_anew_whatever_became_of_the_file(
    data: Path, told: list[tuple[StorageError, Path | None]], way: str
) -> None:
    path = data / USAGE.file_name
    WAYS[way](path, other_than(USAGE, data))
    with closing(SqliteUsageLog(path, on_damage=lambda *what: told.append(what))) as usage:
        usage.count(DAY, UsageKind.DOWNLOAD)
        usage.flush()
        assert usage.days(DAY.rep) == ((DAY, Usage(downloads=1)),)
    ((error, aside),) = told
    assert isinstance(error, USAGE.damaged)
    assert (aside is None) == (way == "deleted")
    assert aside is None or aside.is_file()


@pytest.mark.parametrize("way", ["halved", "first page", "middle page", "text"])
def test_a_command_that_only_reads_counts_is_refused(data: Path, way: str) -> None:
    WAYS[way](data / USAGE.file_name, data)
    with pytest.raises(StoreDamaged, match="counts anew"):
        SqliteUsageLog(data / USAGE.file_name)


def test_counts_that_cannot_be_added_to_a_damaged_file_go_into_a_new_one(
    data: Path, told: list[tuple[StorageError, Path | None]]
) -> None:
    path = data / USAGE.file_name
    with closing(SqliteUsageLog(path, on_damage=lambda *what: told.append(what))) as usage:
        assert usage._connection is not None
        usage._connection.execute("PRAGMA shrink_memory")  # as if the page had not been read lately
        WAYS["middle page"](path, data)
        usage.count(DAY, UsageKind.DOWNLOAD)
        usage.flush()
        assert usage.days(DAY.rep) == ((DAY, Usage(downloads=1)),)
    with closing(SqliteUsageLog(path)) as usage:
        assert usage.days(DAY.rep) == ((DAY, Usage(downloads=1)),)
    assert len(told) == 1


# The clock, which is made anew from the log of what was minted.


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


@pytest.mark.parametrize("way", WAYS)
def test_the_clock_is_made_anew_from_the_log(bench: Bench, data: Path, way: str) -> None:
    bench.minted(3)
    WAYS[way](bench.database, data / ACCOUNTS.file_name)
    if way not in ("deleted", "emptied", "blank"):
        with pytest.raises(TicksDamaged, match=r"made anew from mint\.log"):
            bench.open()
        set_aside(bench.database)
    ticks = bench.open()
    mint(ticks, bench.clocks)
    assert all_unique(ticks)
