"""An Original is given to another Archive: what stays, what is said, and that a crash or a rebuild changes neither."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.items.model.item import Item
from ibi.items.model.transfer_record import Transfer, decode_transfer, encode_transfer
from ibi.items.opening.archive_store import open_store, rebuild_catalogue
from ibi.items.rules.errors import NotAllowedNow, OriginalNeeded, ServiceItemStays, UnknownItem, UntransferableItem
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.item_repository import STEPS, ItemRepository
from ibi.items.service.stored_item import ItemTransferred, name_of
from ibi.standard.label import parse
from ibi.standard.messages import State
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, labels, sources
from tests.support.one_sided_transfers import Transfers
from tests.support.set_clocks import SetClocks

TO = parse("other.br/arq/2020/01.01.00.00")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ArchiveStore]:
    with open_store(tmp_path) as store:
        yield store


def deposited(store: ItemRepository, **options: bool) -> Item:
    made = deposits(store, CountedLabels())
    return made.deposit(draft("a.txt"), sources(a=b"text"), WHO, **options)  # type: ignore[arg-type]


def transfers(store: ItemRepository, **options: object) -> Transfers:
    return Transfers(store, SetClocks(), **options)  # type: ignore[arg-type]


def test_what_is_given_away_leaves_where_it_went(store: ArchiveStore) -> None:
    item = deposited(store)
    transfer = transfers(store).release(item.rep, TO, WHO)
    assert (transfer.labels, transfer.to) == (item.labels, TO)
    for label in item.labels.labels:
        assert store.catalog.find(label) is None
        assert store.catalog.transfer(label) == transfer
    assert list(store.catalog.items()) == []
    with pytest.raises(ItemTransferred):
        store.read(name_of(item))
    assert [verified for verified in store.verify() if verified.problems] == []


def test_the_bytes_stay_in_earlier_versions(store: ArchiveStore) -> None:
    item = deposited(store)
    transfers(store).release(item.rep, TO, WHO)
    with store.content.open(name_of(item), "doc/a.txt", 1) as file:
        assert file.read(0, 100) == b"text"


def test_a_copy_that_stays_says_it_too(store: ArchiveStore) -> None:
    item = deposited(store)
    transfers(store).release(item.rep, TO, WHO, keep_copy=True, address="other.br:8080")
    copy = store.find(item.rep)
    assert (copy.state, copy.transferred_to, copy.source) == (State.COPY, TO, "other.br:8080")
    assert copy.files == item.files
    assert store.read(name_of(item)).item == copy
    assert store.catalog.transfer(item.rep) is None


@pytest.mark.parametrize("keep_copy", [False, True])
@pytest.mark.parametrize("damaged", [False, True])
def test_a_transfer_survives_a_rebuild(tmp_path: Path, keep_copy: bool, damaged: bool) -> None:
    with open_store(tmp_path) as store:
        item = deposited(store)
        transfers(store).release(item.rep, TO, WHO, keep_copy=keep_copy)
        before = store.catalog.find(item.rep), store.catalog.transfer(item.rep)
    for path in tmp_path.glob("catalogue.sqlite*") if damaged else ():
        path.unlink()
    rebuild_catalogue(tmp_path)
    with open_store(tmp_path) as store:
        assert (store.catalog.find(item.rep), store.catalog.transfer(item.rep)) == before
        assert [verified for verified in store.verify() if verified.problems] == []


def test_a_rebuild_forgets_a_transfer_that_the_store_does_not_tell_of(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        item = deposited(store)
        gone = Transfer(item.labels, TO, item.updated)
        store.catalog.depart(gone)
        store.catalog.depart(Transfer(labels(77), TO, item.updated))
        assert [verified.name for verified in store.verify() if verified.problems] == [name_of(item)]
    rebuild_catalogue(tmp_path)
    with open_store(tmp_path) as store:
        assert store.catalog.find(item.rep) == item
        assert store.catalog.transfer(item.rep) is None
        assert store.catalog.transfer(labels(77).labels[0]) is None


def test_verify_tells_of_a_catalogue_that_still_has_it(store: ArchiveStore) -> None:
    item = deposited(store)
    transfers(store).release(item.rep, TO, WHO)
    store.catalog.put(item)
    (problem,) = next(iter(store.verify([item.rep]))).problems
    assert (problem.code, problem.path) == ("catalogue", "transferred.json")


class Death(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("keep_copy", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_leaves_it_here_or_gone_and_the_catalogue_says_which(
    tmp_path: Path, step: str, keep_copy: bool
) -> None:
    def die(reached: str) -> None:
        if reached == step and armed:
            raise Death

    armed = False
    store = open_store(tmp_path, on_step=die)
    item = deposited(store)
    armed = True
    try:
        transfers(store).release(item.rep, TO, WHO, keep_copy=keep_copy)
    except Death:
        pass
    else:
        assert step == "claim answered"
    store.close()
    with open_store(tmp_path, boot="another") as store:
        found, transfer = store.catalog.find(item.rep), store.catalog.transfer(item.rep)
        if step == "change noted":
            assert (found, transfer) == (item, None)
        elif keep_copy:
            assert found is not None
            assert (found.transferred_to, transfer) == (TO, None)
        else:
            assert found is None
            assert transfer is not None
            assert transfer.to == TO


def test_only_an_original_that_may_go_goes(store: ArchiveStore) -> None:
    item = deposited(store, transferable=False)
    with pytest.raises(UntransferableItem):
        transfers(store).release(item.rep, TO, WHO)
    with pytest.raises(ServiceItemStays):
        transfers(store, service=item.labels).release(item.rep, TO, WHO)
    with pytest.raises(UnknownItem):
        transfers(store).release(TO, TO, WHO)
    assert store.find(item.rep) == item


def test_what_was_given_away_cannot_be_given_again(store: ArchiveStore) -> None:
    item = deposited(store)
    transfers(store).release(item.rep, TO, WHO, keep_copy=True)
    with pytest.raises(OriginalNeeded):
        transfers(store).release(item.rep, TO, WHO)


def test_an_archive_gives_nothing_to_itself(store: ArchiveStore) -> None:
    item, own = deposited(store), labels(5)
    with pytest.raises(NotAllowedNow, match="this Archive itself"):
        transfers(store, service=own).release(item.rep, own.labels[0], WHO)
    assert store.find(item.rep) == item


def test_the_record_is_read_as_it_was_written() -> None:
    transfer = Transfer(labels(3), TO, SetClocks().read().wall)
    assert decode_transfer(encode_transfer(transfer)) == transfer
