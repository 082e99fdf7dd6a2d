"""E91: a whole Archive is merged into another item by item; what was begun is gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.archive.errors import ServiceItemStays
from ibi.model.item import Item
from ibi.vocabulary import State
from tests.support.deposit_samples import CountedLabels, deposits, draft, put, sources
from tests.support.transfer_archives import TransferArchive, give, two_archives


def merge(a: TransferArchive, b: TransferArchive, items: list[Item]) -> None:
    for item in items:
        found = a.item(item.rep)
        assert found is not None
        if found.state is State.ORIGINAL:
            give(a, b, found)


def test_a_merge_that_broke_off_is_finished_by_giving_the_command_again(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (a, b):
        made = deposits(a.store, CountedLabels(5))
        items = [put(made) for _ in range(3)]
        give(a, b, items[0])
        a.sending.begin(items[1], b.url, "agreed")
        a.network.cut = {b.url}
        a.sending.begin(items[2], b.url, "agreed")
        states = [a.state(item.rep) for item in items]
        assert states == [State.COPY, State.ORIGINAL, State.ORIGINAL]
    with two_archives(tmp_path) as (a, b):
        a.tracking.trust()
        b.tracking.trust()
        merge(a, b, items)
        for item in items:
            left, come = a.item(item.rep), b.item(item.rep)
            assert left is not None
            assert come is not None
            assert (left.state, left.transferred_to, come.state) == (State.COPY, b.service.rep, State.ORIGINAL)
            assert (come.labels, come.files) == (item.labels, item.files)


def test_the_item_of_the_service_stays(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (a, b):
        given = sources(a=b"x")
        item = deposits(a.store).deposit(draft(*given), given, "Ana")
        a.chains.service = item.labels
        with pytest.raises(ServiceItemStays):
            a.sending.check(item, b.url)
