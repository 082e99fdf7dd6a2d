"""Names looked up beside the event loop: one flight for one name, and its answer kept for a moment."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import Final

from ibi.transport.names import addresses_of
from ibi.transport.single_flight import SingleFlight

__all__ = ["NameLookup"]

_KEPT_FOR: Final = 30.0
_MOST_KEPT: Final = 4096
_MOST_AT_ONCE: Final = 16


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
        self._waiting: deque[str] = deque()
        self._under_way: dict[str, Callable[[Sequence[str]], None]] = {}
        self._threads = 0

    async def addresses(self, host: str) -> Sequence[str]:
        """Every address of `host`; none if it does not resolve."""
        kept = self._kept.get(host)
        if kept is not None and self._monotonic() < kept[0]:
            return kept[1]
        return await self._flights.board(host, lambda land: self._ask(host, land))

    def _ask(self, host: str, land: Callable[[Sequence[str]], None]) -> None:
        self._under_way[host] = land
        self._waiting.append(host)
        self._start_threads()

    def _start_threads(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._threads < _MOST_AT_ONCE:
            self._threads += 1
            host = self._waiting.popleft()
            thread = Thread(target=self._in_thread, args=(host, loop), name="ibi-name-lookup", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the machine has no more of them
                loop.call_soon(self._answered, host, ())

    def _in_thread(self, host: str, loop: asyncio.AbstractEventLoop) -> None:
        found: Sequence[str] = ()
        try:
            found = self._addresses_of(host)
        finally:
            with suppress(RuntimeError):  # the loop has ended in the meantime, and everybody who waited with it
                loop.call_soon_threadsafe(self._answered, host, found)

    def _answered(self, host: str, found: Sequence[str]) -> None:
        self._threads -= 1
        self._start_threads()
        if found:  # that a name is unknown is asked again: it may be new
            self._kept[host] = self._monotonic() + self._kept_for, found
            self._kept.move_to_end(host)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        self._under_way.pop(host)(found)
