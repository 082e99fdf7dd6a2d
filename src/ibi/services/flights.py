"""Requests under way, whose answers are taken in the order in which they arrive."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from functools import partial
from typing import Any

import structlog

from ibi.resolver.question import Asking
from ibi.resolver.trace import Failure, Reply

__all__ = ["Flights"]

_LOG = structlog.get_logger("ibi.resolver")


class Flights:
    """Belongs to one resolution. A wait costs the same however many are under way."""

    __slots__ = ("_arrived", "_tasks", "_waiter")

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[Reply], None] = {}
        self._arrived: deque[tuple[Asking, Reply]] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def start(self, asking: Asking, request: Coroutine[Any, Any, Reply]) -> None:
        task = asyncio.get_running_loop().create_task(request)
        self._tasks[task] = None
        task.add_done_callback(partial(self._landed, asking))

    def _landed(self, asking: Asking, task: asyncio.Task[Reply]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        self._arrived.append((asking, _reply(asking, task)))
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def arrivals(self, within: float) -> deque[tuple[Asking, Reply]]:
        """What has come since the last time; if nothing has, it is waited for, so many seconds at most."""
        if not self._arrived:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            alarm = loop.call_later(max(0.0, within), self._wake)
            try:
                await self._waiter
            finally:
                alarm.cancel()
                self._waiter = None
        arrived, self._arrived = self._arrived, deque()
        return arrived

    def cancel(self) -> None:
        """Nobody wants to know any more."""
        for task in self._tasks:
            task.cancel()


def _reply(asking: Asking, task: asyncio.Task[Reply]) -> Reply:
    """What the gateway fails at is no reason to leave the reader without the answers of others."""
    error = task.exception()
    if error is None:
        return task.result()
    _LOG.error("an Archive could not be asked", archive=asking.archive.address, exc_info=error)
    return Failure.UNREACHABLE
