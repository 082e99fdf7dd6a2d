"""An event loop whose clock jumps to the next timer as soon as nobody has anything to do: nothing is slept through."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits, and for nothing"
            self.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def in_virtual_time(run: Coroutine[Any, Any, T]) -> T:
    """The result of `run`; `now()` inside it is the time of its loop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(run)


def now() -> float:
    return asyncio.get_running_loop().time()
