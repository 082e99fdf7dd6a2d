"""The port `ItemLocks`, tried on every adapter: several at once, among threads and processes, and never in a circle."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.items.ports.archive_store import ItemLocks
from ibi.storage.locks import FileItemLocks
from tests.support.memory.item_changes import MemoryItemLocks

NAMES = [f"sid.inpe.br/mtc-m18@80/2009/02.16.17.{minute:02}" for minute in range(60)]

Opened = Callable[[], ItemLocks]
"""The locks of one store, as another process would open them where there are other processes."""


def _memory(_: Path) -> Opened:
    locks = MemoryItemLocks()
    return lambda: locks


ADAPTERS: dict[str, Callable[[Path], Opened]] = {
    "memory": _memory,
    "files": lambda folder: lambda: FileItemLocks(folder / "locks"),
}


@pytest.fixture(params=ADAPTERS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    with ExitStack() as closing:
        make = ADAPTERS[request.param](tmp_path)

        def opened() -> ItemLocks:
            locks = make()
            closing.callback(locks.close)
            return locks

        yield opened


def test_no_other_is_on_the_item_meanwhile(opened: Opened) -> None:
    locks = [opened(), opened()]
    held: set[str] = set()
    guard = threading.Lock()

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(50):
            names = chance.sample(NAMES, 3)
            with chance.choice(locks).hold(*names):
                with guard:
                    assert held.isdisjoint(names)
                    held.update(names)
                with guard:
                    held.difference_update(names)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_any_number_of_names_is_held_together(opened: Opened) -> None:
    locks = opened()
    with locks.hold(*(f"{name}.{second:02}" for name in NAMES for second in range(60))):
        pass
    with locks.hold(NAMES[0], NAMES[0]):
        pass


def test_a_lock_ends_when_the_change_fails(opened: Opened) -> None:
    one, other = opened(), opened()
    with pytest.raises(ZeroDivisionError), one.hold(NAMES[0]):
        raise ZeroDivisionError
    with other.hold(NAMES[0]):
        pass


def test_another_waits_until_the_item_is_free(opened: Opened) -> None:
    one, other = opened(), opened()
    order: list[str] = []

    def second() -> None:
        with other.hold(NAMES[0]):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with one.hold(*NAMES[:2]):
            waiting = pool.submit(second)
            with pytest.raises(TimeoutError):
                waiting.result(0.05)
            order.append("first")
        waiting.result(10)
    assert order == ["first", "second"]


def test_names_and_items_do_not_wait_for_each_other(opened: Opened) -> None:
    one, other = opened(), opened()
    with one.hold_names(*NAMES), one.hold(*NAMES):
        pass
    with one.hold(*NAMES), other.hold_names(*NAMES):
        pass


def test_no_other_is_on_the_name_meanwhile(opened: Opened) -> None:
    one, other = opened(), opened()

    def second() -> None:
        with other.hold_names(NAMES[0]):
            pass

    with ThreadPoolExecutor(1) as pool:
        with one.hold_names(NAMES[0]):
            waiting = pool.submit(second)
            with pytest.raises(TimeoutError):
                waiting.result(0.05)
        waiting.result(10)
