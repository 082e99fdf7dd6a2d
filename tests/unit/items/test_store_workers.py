"""Verifying and rebuilding in several processes gives what one process gives, whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import pytest

from ibi.items.model.item import Item
from ibi.items.opening import store_workers
from ibi.items.opening.archive_store import CATALOGUE, open_store, rebuild_catalogue
from ibi.items.opening.store_workers import (
    StoreWorkers,
    Work,
    WorkerEnded,
    reading_workers,
    useful_jobs,
    verification_workers,
)
from ibi.items.ports.archive_store import ReadItem
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, put, sources

# The command has one thread when it forks; what runs the tests in parallel has more.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory of some items, of which one is a later edition and one was deleted."""
    with open_store(tmp_path / "data") as kept:
        made = deposits(kept, CountedLabels(0))
        first = put(made, title="First")
        for number in range(7):
            put(made, sources(a=f"content {number}".encode()), title=f"Item {number}")
        put(made, title="Second edition", edition_of=first.labels)
        made.delete(put(made, title="Gone").rep, "a test", WHO)
    return tmp_path / "data"


def items_of(data: Path) -> list[Item]:
    with open_store(data) as kept:
        return dump(kept.catalog)


@contextmanager
def echoing(_: Path) -> Iterator[Work]:
    yield lambda names, _: [(name, os.getpid()) for name in names]


@contextmanager
def dying(_: Path) -> Iterator[Work]:
    def die(names: object, _: object) -> list[object]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []

    yield die


def test_results_come_in_the_order_of_the_names_and_from_all_processes(tmp_path: Path) -> None:
    names = [f"{number}" for number in range(1000)]
    with closing(StoreWorkers(tmp_path, 3, echoing, 7)) as workers:
        for _ in range(2):
            results = [one for batch in workers.results(names) for one in batch]
            assert [name for name, _ in results] == names
            assert len({process for _, process in results}) == 3


def test_what_was_not_taken_of_one_call_does_not_get_into_the_next(tmp_path: Path) -> None:
    with closing(StoreWorkers(tmp_path, 2, echoing, 2)) as workers:
        assert [name for name, _ in next(workers.results("abcdefgh"))] == ["a", "b"]
        assert [name for batch in workers.results("xyz") for name, _ in batch] == ["x", "y", "z"]


def test_a_process_that_is_killed_is_told_of_and_the_others_end(tmp_path: Path) -> None:
    workers = StoreWorkers(tmp_path, 2, dying, 1)
    with closing(workers), pytest.raises(WorkerEnded, match="killed by signal 9"):
        list(workers.results("abc"))


def test_verifying_in_two_processes_finds_what_one_finds(data: Path) -> None:
    victims = sorted((data / "store").glob("**/content/doc/a.txt"))[1:5:2]
    for path in victims:
        path.chmod(0o600)
        path.write_bytes(b"?")
    (data / "store" / "sid.inpe.br" / "stray").write_text("?")
    with open_store(data) as kept:
        alone = [*kept.verify()]
    assert sum(bool(each.problems) for each in alone) == 3
    with verification_workers(data, 2) as verify_all, open_store(data) as kept:
        assert verify_all is not None
        together = [*kept.verify(verify_all=verify_all)]
    assert sorted(together, key=str) == sorted(alone, key=str)


def test_the_damaged_and_the_least_recently_verified_come_first(data: Path) -> None:
    with open_store(data) as kept:
        names = [*kept.content.iterate()]
        assert kept.integrity is not None
        ledger = kept.integrity.ledger
        ledger.expect(names)
        for at, name in enumerate(reversed(names[3:]), 1000):
            ledger.record(name, (), at)
        assert [each.name for each in kept.verify()] == [*names[:3], *reversed(names[3:])]


def test_what_was_found_whole_lately_is_passed_over_and_the_rest_is_not(data: Path) -> None:
    with open_store(data) as kept:
        names = [*kept.content.iterate()]
        some = [each.name for each in islice(kept.verify(), 4)]  # and then it is stopped
        assert kept.integrity is not None
        recently = kept.integrity.summary().newest
        assert recently is not None
        rest = [each.name for each in kept.verify(before=recently - 100)]
        assert sorted(map(str, [*rest, *some])) == sorted(names)
        assert [each.name for each in kept.verify(before=recently + 100) if each.name] != []


@pytest.mark.parametrize("lost", [True, False])
def test_rebuilding_in_two_processes_gives_the_same_catalogue(data: Path, *, lost: bool) -> None:
    before = items_of(data)
    if lost:
        for path in data.glob(f"{CATALOGUE}*"):
            path.unlink()
    counted: list[None] = []
    with reading_workers(data, 2) as read_ahead:
        assert read_ahead is not None
        listed = rebuild_catalogue(data, lambda: counted.append(None), read_ahead)
    assert (listed.looked_at, len(counted), listed.unreadable) == (len(before), len(before), ())
    assert items_of(data) == before


def test_an_item_that_cannot_be_read_is_named_and_the_others_are_listed(data: Path) -> None:
    before = items_of(data)
    record = next((data / "store").glob("**/item.json"))
    record.chmod(0o600)
    record.write_bytes(b"{}")
    for path in data.glob(f"{CATALOGUE}*"):
        path.unlink()
    with reading_workers(data, 2) as read_ahead:
        listed = rebuild_catalogue(data, read_ahead=read_ahead)
    assert len(listed.unreadable) == 1
    assert len(items_of(data)) == len(before) - 1


def test_an_item_that_changes_after_it_was_read_is_listed_as_it_is_then(data: Path) -> None:
    with reading_workers(data, 2) as workers, open_store(data) as kept, open_store(data) as another:
        assert workers is not None
        read = [one for batch in workers(kept.content.iterate()) for one in batch]
        item = dump(kept.catalog)[3]
        deposits(another).update(item.rep, draft("a.txt", title="Changed"), sources(a=b"other"), WHO)

        def stale(_: object) -> Iterator[list[ReadItem]]:
            yield read

        kept._listing.read_ahead = stale
        kept.rebuild()
        assert kept.find(item.rep).metadata.titles() == ("Changed",)


def test_processes_are_started_where_there_is_enough_to_do(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert useful_jobs(data, None) == 0
    assert [useful_jobs(data, asked) for asked in (1, 2, 5)] == [0, 2, 5]
    monkeypatch.setattr(store_workers, "_WORTH_IT", 4)
    assert useful_jobs(data, None) == 2
    assert useful_jobs(tmp_path / "nothing", None) == 0
