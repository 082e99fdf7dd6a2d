"""Storage that takes its time, as a network engine does: the adapters of any port, delayed, and not prompt.

A call on an event loop is noted, whatever it is: `on_loop` must stay empty.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Event
from typing import Any, Final, TypeVar, cast

Adapter = TypeVar("Adapter")

DELAY: Final = 0.2
LONG: Final = 60.0
NEVER_WAIT: Final = frozenset({"close", "count", "damaged_items", "recent_version"})
"""What ports promise to answer from memory, whatever the adapter."""


class SlowStorage:
    """Delays every call of the adapters made with `slow` by `delay` seconds, or holds them up until they are let go."""

    def __init__(self, delay: float = DELAY) -> None:
        self.delay = delay
        self.on_loop: list[str] = []
        """Calls that an event loop made itself."""
        self._free = Event()
        self._free.set()

    def slow(self, adapter: Adapter) -> Adapter:
        return cast("Adapter", _Slow(self, adapter))

    def hold(self) -> None:
        """Let no call return from now on."""
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()

    def wait(self, name: str) -> None:
        if _is_on_a_loop():
            self.on_loop.append(name)
            return  # not to make a test wait for what has failed already
        time.sleep(self.delay)
        assert self._free.wait(LONG)


class _Slow:
    prompt = False

    def __init__(self, storage: SlowStorage, adapter: object) -> None:
        self._storage, self._adapter = storage, adapter

    def __getattr__(self, name: str) -> Any:
        kind = type(self._adapter)
        if isinstance(getattr(kind, name, None), property):
            self._storage.wait(f"{kind.__name__}.{name}")
        found = getattr(self._adapter, name)
        if not callable(found) or name in NEVER_WAIT:
            return found
        return self._delayed(f"{kind.__name__}.{name}", found)

    def _delayed(self, name: str, call: Callable[..., object]) -> Callable[..., object]:
        def delayed(*arguments: object, **named: object) -> object:
            self._storage.wait(name)
            return call(*arguments, **named)

        return delayed


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
