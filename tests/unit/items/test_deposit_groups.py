"""Deposits that are made together: each gets its own answer, and what is refused keeps no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from ibi.items.model import item_json
from ibi.items.model.change import Revision
from ibi.items.model.content import KeptObject, NewObject
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.items.ports.archive_store import ContentExists
from ibi.items.service import stored_item
from ibi.items.service.stored_item import ChangeUnfinished
from ibi.items.store.ocfl.durability import Batch
from ibi.standard.errors import IbiError
from ibi.storage.errors import DiskRefused
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, kept_in, labels, put, sources
from tests.support.grouped_deposits import Gate, in_one_group


class Group:
    """An Archive on a disk, on which some deposits are made in one go."""

    def __init__(self, data: Path) -> None:
        self.gate = Gate()
        self.store = open_store(data, on_step=self.gate)
        self.made = deposits(self.store, CountedLabels())
        self.data = data

    def deposit(self, title: str, key: str | None = None) -> Callable[[], Item]:
        given = sources(a=title.encode())
        return lambda: self.made.deposit(draft(*given, title=title), given, WHO, key=key)

    def run(self, *jobs: Callable[[], Item]) -> list[Future[Item]]:
        first, *rest = in_one_group(self.store, self.gate, self.deposit("first"), jobs)
        first.result()
        return rest

    def check(self, *kept: Item) -> None:
        """These are there and nothing else is, nor anything half done."""
        here = [item for item in dump(self.store.catalog) if item.metadata.title[0].value != "first"]
        assert sorted(here, key=lambda item: item.rep) == sorted(kept, key=lambda item: item.rep)
        assert dump(self.store.catalog) == kept_in(self.store.content, self.store)
        assert [one for one in self.store.verify() if one.problems] == []
        assert [path.name for path in self.data.glob("store-staging/*/*") if path.name != "lock"] == []
        put(deposits(self.store, CountedLabels(50)))
        self.store.close()
        with open_store(self.data) as again:
            assert again.swept.looked_at == 0


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return Group(tmp_path / "data")


def test_deposits_made_together_are_one_group(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    before = group.store.content.create_all

    def counted(objects: Sequence[NewObject]) -> list[KeptObject | Exception]:
        sizes.append(len(objects))
        return before(objects)

    monkeypatch.setattr(group.store.content, "create_all", counted)
    done = group.run(*(group.deposit(f"item {number}") for number in range(3)))
    group.check(*(each.result() for each in done))
    assert sizes[:2] == [1, 3]


def test_the_same_key_twice_is_one_item(group: Group) -> None:
    one, same, other = group.run(group.deposit("one", "key"), group.deposit("one", "key"), group.deposit("other"))
    assert one.result() == same.result()
    group.check(one.result(), other.result())


def test_one_that_is_there_already_keeps_no_other(group: Group) -> None:
    group.made = deposits(group.store, CountedLabels())
    again = deposits(group.store, CountedLabels())  # mints what the first one has
    given = sources(a=b"a")
    refused, kept = group.run(
        lambda: again.deposit(draft(*given), given, WHO),
        group.deposit("kept"),
    )
    assert isinstance(refused.exception(), ContentExists)
    group.check(kept.result())


def _at_the_disk(group: Group, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Have the disk refuse to sync for the so-manieth time, once."""
    before, syncs = Batch.sync, [0]

    def sync(self: Batch) -> None:
        syncs[0] += 1
        if syncs[0] == number:
            raise OSError(28, "No space left on device")
        before(self)

    monkeypatch.setattr(Batch, "sync", sync)


@pytest.mark.parametrize("number", [3, 4], ids=["before it is brought in", "after"])
def test_what_could_not_be_synced_is_refused_for_all_and_nothing_stays(
    group: Group, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The first deposit syncs twice. A key that is there twice is no reason to say that the item was."""
    _at_the_disk(group, monkeypatch, number)
    done = group.run(group.deposit("one", "key"), group.deposit("one", "key"), group.deposit("other"))
    assert [type(each.exception()) for each in done] == [DiskRefused] * 3
    group.check()


def test_a_record_that_cannot_be_written_keeps_no_other(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    before = item_json.encode_item

    def encode(item: Item) -> bytes:
        if item.metadata.title[0].value == "bad":
            raise ValueError("unforeseen")
        return before(item)

    monkeypatch.setattr(stored_item, "encode_item", encode)
    one, bad, other = group.run(group.deposit("one"), group.deposit("bad"), group.deposit("other"))
    assert isinstance(bad.exception(), ValueError)
    group.check(one.result(), other.result())


ERRORS = [ValueError("unforeseen"), MemoryError(), DiskRefused(path="x", reason="y"), OSError(5, "I/O"), SystemExit()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_whatever_the_content_raises_every_caller_is_answered(
    group: Group, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before, calls = group.store.content.create_all, [0]

    def fail(objects: Sequence[NewObject]) -> list[KeptObject | Exception]:
        calls[0] += 1
        if calls[0] == 2:
            raise error
        return before(objects)

    monkeypatch.setattr(group.store.content, "create_all", fail)
    done = group.run(*(group.deposit(f"item {number}") for number in range(3)))
    assert [type(each.exception()) for each in done] == [type(error)] * 3
    if isinstance(error, Exception):
        group.check()
    else:  # it was about to end: the journal has their names
        put(deposits(group.store, CountedLabels(50)))


@pytest.mark.parametrize("error", ERRORS[:4], ids=lambda error: type(error).__name__)
def test_whatever_the_catalogue_raises_every_caller_is_answered_and_nothing_is_lost(
    group: Group, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """What is kept by then stays, and is listed as soon as that is possible."""
    before, calls = group.store.catalog.put_each, [0]

    def fail(items: Sequence[Item], revisions: Sequence[Revision]) -> list[IbiError | None]:
        calls[0] += 1
        if calls[0] == 2:
            raise error
        return before(items, revisions)

    monkeypatch.setattr(group.store.catalog, "put_each", fail)
    done = group.run(*(group.deposit(f"item {number}") for number in range(3)))
    if isinstance(error, DiskRefused):
        assert [type(each.exception()) for each in done] == [ChangeUnfinished] * 3
    else:  # each is tried alone, and it does not happen again
        assert [each.exception() for each in done] == [None] * 3
    found = [group.store.find(labels(number).labels[0]) for number in range(1, 4)]
    group.check(*found)


def test_one_that_the_catalogue_cannot_take_is_told_so_alone(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    before = group.store.catalog.put_each

    def fail(items: Sequence[Item], revisions: Sequence[Revision]) -> list[IbiError | None]:
        if any(item.metadata.title[0].value == "bad" for item in items):
            raise ValueError("unforeseen")
        return before(items, revisions)

    monkeypatch.setattr(group.store.catalog, "put_each", fail)
    one, bad, other = group.run(group.deposit("one"), group.deposit("bad"), group.deposit("other"))
    assert isinstance(bad.exception(), ValueError)
    assert {one.result().rep, other.result().rep} <= {item.rep for item in dump(group.store.catalog)}
    group.check(one.result(), other.result(), group.store.find(labels(2).labels[0]))
