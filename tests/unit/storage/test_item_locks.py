"""Locks on items: several at once, among threads and processes, and never in a circle."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ibi.storage.locks import ItemLocks

NAMES = [f"sid.inpe.br/mtc-m18@80/2009/02.16.17.{minute:02}" for minute in range(60)]


@pytest.mark.parametrize("on_disk", [False, True])
def test_nobody_else_is_on_the_item_meanwhile(tmp_path: Path, *, on_disk: bool) -> None:
    locks = [ItemLocks(tmp_path / "locks" if on_disk else None)]
    if on_disk:
        locks.append(ItemLocks(tmp_path / "locks"))  # as another process has it
    held: set[str] = set()
    guard = threading.Lock()

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(50):
            names = chance.sample(NAMES, 3)
            with chance.choice(locks).held(*names):
                with guard:
                    assert held.isdisjoint(names)
                    held.update(names)
                with guard:
                    held.difference_update(names)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for each in locks:
        each.close()


def test_names_that_share_a_lock_are_held_together() -> None:
    locks = ItemLocks()
    with locks.held(*(f"{name}.{second:02}" for name in NAMES for second in range(60))):
        pass
    with locks.held(NAMES[0], NAMES[0]):
        pass
