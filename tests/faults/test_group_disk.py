"""A disk that is full under several deposits in one go: each gets its own answer, and each answer is true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.items.service.stored_item import ChangeUnfinished
from ibi.storage.errors import DiskRefused
from tests.faults.test_deposit_disk import Filling, check, small_disk
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, sources
from tests.support.grouped_deposits import Gate, in_one_group

__all__ = ["small_disk"]

SIZES = 1, 3000, 30_000
"""Of the deposits of a group: there may be space for some of them."""


class Filler:
    """Leaves so many pages once the first deposit is made: the others come to a disk that is nearly full."""

    def __init__(self, filling: Filling, pages: int) -> None:
        self._filling, self._pages, self._is_done = filling, pages, False

    def __call__(self, step: str) -> None:
        if step == "change done" and not self._is_done:
            self._is_done = True
            self._filling.take_all()
            self._filling.give(self._pages)


def test_every_amount_of_space_is_enough_or_refused_to_whom_it_is_not(small_disk: Path) -> None:
    filling, seen, expected = Filling(small_disk), set[str](), set[str]()
    labels = CountedLabels()
    with open_store(small_disk / "data", on_step=lambda step: gate(step)) as store:
        made = deposits(store, labels)

        def deposit(size: int) -> Callable[[], Item]:
            given = sources(a=b"x" * size)
            return lambda: made.deposit(draft("a.txt"), given, WHO)

        for pages in range(0, 120, 3):
            gate = Gate(Filler(filling, pages))
            with_space, *group = in_one_group(store, gate, deposit(1), [deposit(size) for size in SIZES])
            expected.add(str(with_space.result().rep))
            for done in group:
                match done.exception():
                    case None:
                        seen.add("kept")
                        expected.add(str(done.result().rep))
                    case ChangeUnfinished() as error:
                        seen.add("unfinished")
                        expected.add(str(error.parameters["label"]))
                    case DiskRefused():
                        seen.add("refused")
                    case error:
                        pytest.fail(repr(error))
            filling.give_all()
            if seen >= {"kept", "refused"} and all(done.exception() is None for done in group):
                break
        assert seen >= {"kept", "refused"}
        gate = Gate()
        gate.open()
        expected.add(str(deposit(1)().rep))
        check(store)
        assert {str(item.rep) for item in dump(store.catalog)} == expected
    with open_store(small_disk / "data") as store:
        assert store.swept.looked_at == 0
        check(store)
