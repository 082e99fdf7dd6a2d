"""Calls that wait for a disk or a network, in threads for which the end of the process does not wait.

Short: the end of an executor would wait for its threads, and an item that is being brought may take an hour. What runs
here is safe at any point, as it is against SIGKILL.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

_MOMENT: Final = 0.01

T = TypeVar("T")


class DaemonThreads:
    """Makes each call in a thread of its own. For one event loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._threads: set[threading.Thread] = set()

    async def __call__(self, call: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                value = call()
            except BaseException as error:  # noqa: BLE001 - handed to whom it belongs
                failure = error
                _tell(loop, future, lambda: future.set_exception(failure))
            else:
                _tell(loop, future, lambda: future.set_result(value))

        thread = threading.Thread(target=run, name=self._name, daemon=True)
        self._threads = {each for each in self._threads if each.is_alive()} | {thread}
        thread.start()
        return await future

    async def join(self, within: float) -> None:
        """Wait until all calls have ended, at most so many seconds."""
        until = time.monotonic() + within
        while any(each.is_alive() for each in self._threads) and time.monotonic() < until:  # noqa: ASYNC110 - threads
            await asyncio.sleep(_MOMENT)


def _tell(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], call: Callable[[], None]) -> None:
    def tell() -> None:
        if not future.done():
            call()

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:  # the loop has ended, and the caller with it
        return
