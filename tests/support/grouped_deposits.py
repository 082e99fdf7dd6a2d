"""Deposits that are sure to share one group: they come while another one is under way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import MethodType
from typing import Any, TypeVar, cast

from ibi.items.service.item_repository import ItemRepository
from ibi.storage.batching import Batcher

T = TypeVar("T")
LONG = 60.0


class Gate:
    """Watches the steps of a store, and holds up the first change that is noted until it is opened."""

    def __init__(self, then: Callable[[str], None] | None = None) -> None:
        self._then = then or (lambda _: None)
        self.reached, self._opened = threading.Event(), threading.Event()

    def __call__(self, step: str) -> None:
        if step == "change noted" and not self.reached.is_set():
            self.reached.set()
            assert self._opened.wait(LONG)
        self._then(step)

    def open(self) -> None:
        self._opened.set()


def in_one_group(
    kept: ItemRepository, gate: Gate, first: Callable[[], T], jobs: Sequence[Callable[[], T]]
) -> list[Future[T]]:
    """What becomes of `first`, which is alone, and of `jobs`, which are done together afterwards."""
    batcher = cast("Batcher[Any, Any]", cast("MethodType", kept._add_together).__self__)
    with ThreadPoolExecutor(len(jobs) + 1) as pool:
        futures = [pool.submit(first)]
        assert gate.reached.wait(LONG)
        for number, job in enumerate(jobs, 1):
            futures.append(pool.submit(job))
            while len(batcher._waiting) < number and not futures[-1].done():
                pass
        gate.open()
    return futures
