"""Other names of items: one item of an Archive has a name, whoever asks for it at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from ibi.items.model.description_values import Alternate
from ibi.items.model.item import Draft, Item
from ibi.items.opening.archive_store import open_store
from ibi.items.rules.errors import AlternateTaken
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from tests.support.deposit_samples import WHO, CountedLabels, draft
from tests.support.flat_items import replace
from tests.support.set_clocks import SetClocks

DOI = Alternate("doi", "10.1000/182")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ArchiveStore]:
    with open_store(tmp_path) as opened:
        yield opened


def named(*alternates: Alternate) -> Draft:
    return replace(draft(target_url="http://x.br/"), alternates=alternates)


def test_of_several_that_ask_at_a_time_one_gets_the_name(store: ArchiveStore) -> None:
    begin = Barrier(6)

    def deposit(number: int) -> Item | AlternateTaken:
        deposits = Deposits(store, CountedLabels(number), SetClocks())
        begin.wait()
        try:
            return deposits.deposit(named(DOI, Alternate("url", "http://y.br/")), {}, WHO)
        except AlternateTaken as error:
            return error

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(deposit, range(6)))
    assert sum(isinstance(each, Item) for each in made) == 1
    assert len(store.catalog.find_alternate(DOI)) == 1


def test_what_two_items_share_already_keeps_neither_from_being_changed(store: ArchiveStore) -> None:
    deposits = Deposits(store, CountedLabels(), SetClocks())
    one, other = (deposits.deposit(named(), {}, WHO) for _ in range(2))
    for item in (one, other):  # as an earlier version left them
        deposits.change({item.rep: lambda now: replace(now, alternates=(DOI,))}, WHO, "test")
    changed = replace(named(DOI, Alternate("ark", "12148/btv1b8449691v")), visibility=other.visibility)
    assert len(deposits.update(other.rep, changed, {}, WHO).item.alternates) == 2
    with pytest.raises(AlternateTaken, match=f"doi:10.1000/182 is another name of {one.rep}"):
        deposits.deposit(named(DOI), {}, WHO)
