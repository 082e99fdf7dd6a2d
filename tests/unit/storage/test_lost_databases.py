"""Each database of a data directory, damaged in seven ways: said for what it is, with the step that helps."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from ibi.membership.model.registration import Registration
from ibi.membership.store.registry import SqliteRegistry
from ibi.people.model.account import Person, Role, Scope
from ibi.people.rules.sign_in import new_token
from ibi.people.store.people import SqlitePeople
from ibi.people.store.tokens import SqliteTokens
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName, parse
from ibi.standard.messages import LabelForms
from ibi.standard.storage_errors import StorageError, StoreDamaged
from ibi.storage.connection import KINDS, STATE, USAGE, set_aside
from ibi.storage.directory_record import forget_begun, was_begun
from ibi.storage.errors import StateDamaged, TicksDamaged
from ibi.usage.model import Usage, UsageDay, UsageKind
from ibi.usage.store import SqliteUsageLog
from tests.support.damage import WAYS, remove_logs
from tests.support.minting_samples import mint
from tests.unit.storage.bench import Bench, all_unique

NOW = Instant.parse("2026-11-15T12:00:00Z")
SERVICE = parse("example.org/archive/2008/03.17.15.17")
DAY = UsageDay(RepositoryName.parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39"), 20_000)
_, TOKEN = new_token(b"\1" * 42, Scope.DEPOSIT, NOW)

OPEN: dict[str, Callable[[Path], Any]] = {
    "tokens": SqliteTokens,
    "people": SqlitePeople,
    "registry": SqliteRegistry,
}
ADD: dict[str, Callable[[Any], None]] = {
    "tokens": lambda tokens: tokens.add(TOKEN),
    "people": lambda people: people.add(Person("ana", Role.ADMIN, NOW)),
    "registry": lambda registry: registry.add(Registration(LabelForms.of(SERVICE), "hash", NOW)),
}
FIND: dict[str, Callable[[Any], object]] = {
    "tokens": lambda tokens: tokens.find(TOKEN.id),
    "people": lambda people: people.find("ana"),
    "registry": lambda registry: registry.find(SERVICE),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with something in each part of the state that cannot be made anew."""
    data = tmp_path_factory.mktemp("filled") / "data"
    for part, opened in OPEN.items():
        with closing(opened(data)) as store:
            ADD[part](store)
    with closing(SqliteUsageLog(data / USAGE.file_name)) as usage:
        usage.count(DAY, UsageKind.DOWNLOAD)
    return data


@pytest.fixture
def data(filled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "data")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", OPEN)
def test_what_cannot_be_made_anew_is_refused_and_begins_empty_only_on_purpose(data: Path, part: str, way: str) -> None:
    path = data / STATE.file_name
    WAYS[way](path, data / USAGE.file_name)
    for _ in range(2):  # a refusal changes nothing
        with pytest.raises(StateDamaged) as caught:
            OPEN[part](data)
        assert str(path) in str(caught.value)
        assert "`ibi rebuild --empty state`" in str(caught.value)
    forget_begun(path)
    aside = set_aside(path)
    assert (aside is None) == (way == "deleted")
    with closing(OPEN[part](data)) as store:
        assert FIND[part](store) is None
    assert was_begun(path)


@pytest.mark.parametrize("part", OPEN)
def test_what_was_committed_does_not_need_its_log(data: Path, tmp_path: Path, part: str) -> None:
    """A crash leaves a log; a copy of the file without it has every token, and every revocation, all the same."""
    crashed = tmp_path / "crashed"
    forget_begun(data / STATE.file_name)
    set_aside(data / STATE.file_name)
    with closing(OPEN[part](data)) as store:
        ADD[part](store)
        shutil.copytree(data, crashed)
    remove_logs(crashed / STATE.file_name)
    with closing(OPEN[part](crashed)) as store:
        assert FIND[part](store) is not None


@pytest.mark.parametrize("way", ["deleted", "emptied", "first page", "text", "another"])
@pytest.mark.parametrize("part", OPEN)
def test_damage_under_a_running_process_is_said_and_makes_nothing_unknown(data: Path, part: str, way: str) -> None:
    store = OPEN[part](data)
    try:
        store.check()
        WAYS[way](data / STATE.file_name, data / USAGE.file_name)
        with pytest.raises(StateDamaged):
            store.check()
        with suppress(StoreDamaged):
            assert FIND[part](store) is not None  # what is in memory is still right
    finally:
        store.close()


def test_a_token_is_not_looked_for_in_an_emptied_file(data: Path) -> None:
    with closing(SqliteTokens(data)) as tokens:
        (data / STATE.file_name).write_bytes(b"")
        for identity in (TOKEN.id, "another"):
            with pytest.raises(StoreDamaged, match="it is empty"):
                tokens.find(identity)


def test_a_file_put_in_its_place_is_used_after_a_restart_only(data: Path) -> None:
    path = data / STATE.file_name
    with closing(SqliteTokens(data)) as tokens:
        shutil.copy(path, data / "copy")
        (data / "copy").replace(path)
        with pytest.raises(StoreDamaged, match="start the server again"):
            tokens.find(TOKEN.id)
    with closing(SqliteTokens(data)) as tokens:
        assert tokens.find(TOKEN.id) == TOKEN


@pytest.mark.parametrize("part", OPEN)
def test_a_database_without_a_mark_is_recognised_and_noted(data: Path, part: str) -> None:
    path = data / STATE.file_name
    forget_begun(path)
    with closing(sqlite3.connect(str(path), isolation_level=None)) as connection:
        connection.execute("PRAGMA application_id = 0")
    with closing(OPEN[part](data)) as store:
        assert FIND[part](store) is not None
    assert was_begun(path)
    with closing(sqlite3.connect(str(path), isolation_level=None)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (STATE.application_id,)


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / STATE.file_name
    with closing(sqlite3.connect(str(path), isolation_level=None)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another database"):
        SqliteTokens(tmp_path)
    assert path.read_bytes() == before


def test_every_database_has_a_number_and_a_message_of_its_own() -> None:
    assert len(KINDS) == 4
    assert len({kind.damaged.__doc__ for kind in KINDS.values()}) == 4


# Counts of use.


@pytest.fixture
def told() -> list[tuple[StorageError, Path | None]]:
    return []


@pytest.mark.parametrize("way", WAYS)
def test_use_is_counted_anew_whatever_became_of_the_file(
    data: Path, told: list[tuple[StorageError, Path | None]], way: str
) -> None:
    path = data / USAGE.file_name
    WAYS[way](path, data / STATE.file_name)
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
    WAYS[way](bench.database, data / STATE.file_name)
    if way not in ("deleted", "emptied", "blank"):
        with pytest.raises(TicksDamaged, match=r"made anew from mint\.log"):
            bench.open()
        set_aside(bench.database)
    ticks = bench.open()
    mint(ticks, bench.clocks)
    assert all_unique(ticks)
