"""Calls of stores from an event loop: on the loop if the adapter is prompt, otherwise in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from threading import Semaphore
from typing import Any, Final, Protocol, TypeVar

from ibi.standard.errors import IbiError

T = TypeVar("T")

_THREADS: Final = 32
"""Calls of slow stores at a time. They wait, and use no processor meanwhile."""


class StorePort(Protocol):
    """Any storage port, with a flag for prompt answers."""

    @property
    def prompt(self) -> bool: ...


async def ask(store: StorePort, call: Callable[[], T]) -> T:
    """Return the result of `call`, which reads `store` and changes nothing that the event loop uses."""
    return call() if store.prompt else await beside(call)


async def beside(call: Callable[[], T]) -> T:
    """Return the result of `call`, made in a thread for calls that wait for a store.

    The event loop's own executor is not used: its threads are few, and slow stores would block work that needs no
    store.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads(), copy_context().run, call)


async def end_tasks(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel the tasks that were begun, and wait for their end. Errors that they raise then are ignored."""
    begun = [task for task in tasks if task is not None]
    for task in begun:
        task.cancel()
    await asyncio.gather(*begun, return_exceptions=True)


class OneThread:
    """Makes calls that wait for a store one after the other, for resources that several threads must not use at a
    time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: ThreadPoolExecutor | None = None

    async def __call__(self, call: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        return await asyncio.get_running_loop().run_in_executor(self._thread, copy_context().run, call)


class OwnThreads:
    """A few threads for calls that wait for another server. While it hangs, the threads of the event loop stay free for
    other work, such as files."""

    def __init__(self, name: str, threads: int, most: int, refusal: Callable[[], IbiError]) -> None:
        """At most `most` calls run or wait at a time. Another one raises the `refusal`."""
        self._name, self._number, self._refusal = name, threads, refusal
        self._room = Semaphore(most)
        self._pool: ThreadPoolExecutor | None = None

    async def __call__(self, call: Callable[[], T]) -> T:
        if not self._room.acquire(blocking=False):
            raise self._refusal()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._number, thread_name_prefix=self._name)
        made = self._pool.submit(copy_context().run, call)
        # By the call itself, not by its caller, who may go away before it ends.
        made.add_done_callback(lambda _: self._room.release())
        return await asyncio.wrap_future(made)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="ibi-storage")
