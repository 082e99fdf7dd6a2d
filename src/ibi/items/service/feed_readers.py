"""Readers that wait for changes of the feed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Final

from ibi.items.model.change import ChangePage
from ibi.items.ports.catalog import ChangeFeed
from ibi.jobs.promptness import beside

LONGEST_WAIT: Final = 30
"""Seconds for which a reader may wait for the next change."""
MOST_WAITING: Final = 256
"""Readers that wait at a time. Further ones get an answer at once."""
_INTERVAL: Final = 0.1
"""Seconds between two looks at the version of the catalogue; each look costs a microsecond."""


class FeedReaders:
    """The readers of one feed in this process. They wait for changes beside the event loop's other work."""

    def __init__(self, feed: ChangeFeed, version: Callable[[], Hashable]) -> None:
        """`version` has another value after each change by any process, and never waits."""
        self._feed, self._version = feed, version
        self._waiting = 0
        self._ended: asyncio.Event | None = None

    async def page(self, after: int, most: int, wait: float = 0) -> ChangePage:
        """Return the entries after a number. If there is none, wait for one, for at most `wait` seconds."""
        seen = self._version()
        page = await beside(lambda: self._feed.since(after, most))
        if page.changes or page.end < after or wait <= 0 or self._waiting >= MOST_WAITING:
            return page
        self._waiting += 1
        try:
            return await self._next_page(page, after, most, seen, wait)
        finally:
            self._waiting -= 1

    async def _next_page(self, page: ChangePage, after: int, most: int, seen: Hashable, wait: float) -> ChangePage:
        loop = asyncio.get_running_loop()
        until = loop.time() + min(wait, LONGEST_WAIT)
        while (left := until - loop.time()) > 0 and not await self._is_ended(min(left, _INTERVAL)):
            version = self._version()
            if version == seen:
                continue
            seen = version
            found = await beside(lambda: self._feed.since(after, most))
            if found.changes or found.epoch != page.epoch:
                return found
        return page

    def end(self) -> None:
        """Answer every waiting reader: the server is stopping."""
        if self._ended is not None:
            self._ended.set()

    async def _is_ended(self, seconds: float) -> bool:
        """Return whether the server stops within so many seconds."""
        if self._ended is None:  # belongs to the loop that waits for it
            self._ended = asyncio.Event()
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        return True
