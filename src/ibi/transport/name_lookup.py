"""Names looked up beside the event loop: one flight for one name, and its answer kept for a moment."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Final

from ibi.transport.names import addresses_of
from ibi.transport.single_flight import SingleFlight

__all__ = ["NameLookup"]

_KEPT_FOR: Final = 30.0
_MOST_KEPT: Final = 4096
_MOST_AT_ONCE: Final = 16
"""Of names that were resolved when they were last asked for, and as many of the others: names whose servers say nothing
keep their threads for long, and nobody else from being found."""


@dataclass(slots=True, eq=False)
class _Queue:
    """Names that wait for a thread, and how many have one."""

    waiting: deque[str] = field(default_factory=deque)
    threads: int = 0


class NameLookup:
    """`addresses_of` is asked in threads of its own that nobody waits for at the end: a name server that says nothing
    keeps a thread for long, and must hold up neither the rest of the process nor its end.
    """

    def __init__(
        self,
        addresses_of: Callable[[str], Sequence[str]] = addresses_of,
        *,
        kept_for: float = _KEPT_FOR,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._addresses_of, self._kept_for, self._monotonic = addresses_of, kept_for, monotonic
        self._kept: OrderedDict[str, tuple[float, Sequence[str]]] = OrderedDict()
        self._flights: SingleFlight[str, Sequence[str]] = SingleFlight()
        self._under_way: dict[str, Callable[[Sequence[str]], None]] = {}
        self._known, self._others = _Queue(), _Queue()

    async def addresses(self, host: str) -> Sequence[str]:
        """Every address of `host`; none if it does not resolve."""
        kept = self._kept.get(host)
        if kept is not None and self._monotonic() < kept[0]:
            return kept[1]
        return await self._flights.board(host, lambda land: self._ask(host, land))

    def _ask(self, host: str, land: Callable[[Sequence[str]], None]) -> None:
        self._under_way[host] = land
        queue = self._known if host in self._kept else self._others
        queue.waiting.append(host)
        self._start_threads(queue)

    def _start_threads(self, queue: _Queue) -> None:
        loop = asyncio.get_running_loop()
        while queue.waiting and queue.threads < _MOST_AT_ONCE:
            queue.threads += 1
            host = queue.waiting.popleft()
            thread = Thread(target=self._in_thread, args=(host, queue, loop), name="ibi-name-lookup", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the machine has no more of them
                loop.call_soon(self._answered, host, queue, ())

    def _in_thread(self, host: str, queue: _Queue, loop: asyncio.AbstractEventLoop) -> None:
        found: Sequence[str] = ()
        try:
            found = self._addresses_of(host)
        finally:
            with suppress(RuntimeError):  # the loop has ended in the meantime, and everybody who waited with it
                loop.call_soon_threadsafe(self._answered, host, queue, found)

    def _answered(self, host: str, queue: _Queue, found: Sequence[str]) -> None:
        queue.threads -= 1
        self._start_threads(queue)
        self._kept.pop(host, None)
        if found:  # that a name is unknown is asked again: it may be new
            self._kept[host] = self._monotonic() + self._kept_for, found
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        self._under_way.pop(host)(found)
