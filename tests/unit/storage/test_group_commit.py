"""Many threads, few commits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from ibi.items.rules.errors import LabelTaken
from ibi.storage.connection import Connection, connect
from ibi.storage.errors import DiskRefused, StoreClosed
from ibi.storage.group_commit import GroupCommit

PATIENCE = 20


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    connection = connect(tmp_path / "x.sqlite", ("CREATE TABLE numbers (number INTEGER NOT NULL)",))
    yield connection
    connection.close()


@pytest.fixture
def writer(tmp_path: Path, connection: Connection) -> Iterator[GroupCommit]:
    writer = GroupCommit(tmp_path / "x.sqlite", connect(tmp_path / "x.sqlite", ("",)))
    yield writer
    writer.close()


def insert(number: int) -> Callable[[Connection], int]:
    def change(connection: Connection) -> int:
        connection.execute("INSERT INTO numbers VALUES (?)", (number,))
        return number

    return change


def refuse(connection: Connection) -> int:
    insert(-1)(connection)
    raise LabelTaken(label="x")


def fail(connection: Connection) -> int:
    insert(-2)(connection)
    connection.execute("INSERT INTO nowhere VALUES (1)")
    return 0


def numbers(connection: Connection) -> list[int]:
    return [number for (number,) in connection.execute("SELECT number FROM numbers ORDER BY number")]


def together(writer: GroupCommit, *changes: Callable[[Connection], int]) -> list[Future[int]]:
    """Have all of them wait for one that is under way, in their order, so that they are served as a group."""
    begun, go_on = threading.Event(), threading.Event()

    def hold(connection: Connection) -> int:
        begun.set()
        assert go_on.wait(PATIENCE)
        return 0

    with ThreadPoolExecutor(len(changes) + 1) as pool:
        first = pool.submit(writer.run, hold)
        assert begun.wait(PATIENCE)
        waiting = []
        for number, change in enumerate(changes, start=1):
            waiting.append(pool.submit(writer.run, change))
            while len(writer._together._waiting) < number:
                pass
        go_on.set()
        first.result(PATIENCE)
    return waiting


def test_a_change_is_made_and_its_outcome_returned(writer: GroupCommit, connection: Connection) -> None:
    assert writer.run(insert(7)) == 7
    assert numbers(connection) == [7]


def test_those_who_wait_share_a_commit(writer: GroupCommit, connection: Connection) -> None:
    before: list[int] = []

    def look(_: Connection) -> int:
        before.append(len(numbers(connection)))
        return 0

    changes = [insert(1), insert(2), insert(3), look]
    assert [future.result() for future in together(writer, *changes)] == [1, 2, 3, 0]
    assert before == [0]  # nothing was committed by the time the last one was served
    assert numbers(connection) == [1, 2, 3]


def test_a_refusal_undoes_one_change_alone(writer: GroupCommit, connection: Connection) -> None:
    one, refused, other = together(writer, insert(1), refuse, insert(2))
    with pytest.raises(LabelTaken):
        refused.result()
    assert (one.result(), other.result()) == (1, 2)
    assert numbers(connection) == [1, 2]


def test_what_fails_takes_no_other_along(writer: GroupCommit, connection: Connection) -> None:
    one, failed, other, last = together(writer, insert(1), fail, insert(2), insert(3))
    assert isinstance(failed.exception(), DiskRefused)
    assert [one.result(), other.result(), last.result()] == numbers(connection) == [1, 2, 3]
    assert writer.run(insert(9)) == 9


def test_under_many_threads_every_change_is_made_once(writer: GroupCommit, connection: Connection) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda number: writer.run(insert(number)), range(100))) == list(range(100))
    assert numbers(connection) == list(range(100))


def test_a_closed_one_says_so(writer: GroupCommit) -> None:
    writer.close()
    writer.close()
    with pytest.raises(StoreClosed):
        writer.run(insert(1))
