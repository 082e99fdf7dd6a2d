"""Tells the caches of a process which labels changed in the Archive of the same process, so that they forget what was
made of those and nothing else.

What changed is read from the feed when the catalogue has another version: changes by other processes too. Caches that
depend on more than labels are told whether any of the items has relations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple, Protocol

from ibi.label import Label
from ibi.model.change import ChangePage
from ibi.model.description_values import Alternate
from ibi.model.item import Item
from ibi.ports.catalog import Catalog, ChangeFeed, Link
from ibi.ports.errors import StorageError
from ibi.services.promptness import beside

MOST_TOLD: Final = 500
"""Changes that are told one by one; each costs a look-up. After more than these, nothing that was cached is of use."""
_END: Final = 1 << 62


class Touched(NamedTuple):
    """What changed since the caches were told last."""

    labels: frozenset[Label | Alternate] = frozenset()
    """The labels of the items, their other names, and the labels that they name."""
    related: bool = True
    """Whether one of them has, or had, relations."""
    everything: bool = False
    """Whether it may be any label."""


EVERYTHING: Final = Touched(everything=True)


class ChangeListener(Protocol):
    def __call__(self, touched: Touched, /) -> None: ...


class ChangeWatch:
    """Watches the catalogue of one Archive. For one thread, that of the event loop."""

    def __init__(self, catalog: Catalog, version: Callable[[], Hashable], feed: ChangeFeed | None = None) -> None:
        """`version` is another value after each change by any process, and never waits. Without a prompt `feed`, each
        change may be of any label."""
        self._catalog, self._version = catalog, version
        self._feed = feed if feed is not None and feed.prompt and catalog.prompt else None
        self._listeners: list[ChangeListener] = []
        self._seen: Hashable = None
        self._epoch, self._number = "", 0

    def tell(self, listener: ChangeListener) -> None:
        """Have the listener told of changes, each time before `check` returns."""
        self._listeners.append(listener)

    def check(self) -> Hashable:
        """Look for changes, and tell them. Return the version up to which they are told."""
        version = self._version()
        if version != self._seen:
            touched = EVERYTHING if self._feed is None else self._read_touched(self._feed)
            self._seen = version
            for listener in self._listeners:
                listener(touched)
        return version

    def _read_touched(self, feed: ChangeFeed) -> Touched:
        page = feed.since(self._number if self._epoch else _END, MOST_TOLD)
        is_known = page.epoch == self._epoch and page.end - self._number <= MOST_TOLD
        self._epoch, self._number = page.epoch, page.end if not page.changes else page.changes[-1].number
        if not is_known:
            self._number = page.end
            return EVERYTHING
        # Of what was there before and is not any more, what was made of it is known by the repository name.
        changed = {change.rep for change in page.changes}
        try:
            labels = self._catalog.names_of(changed) | changed
        except StorageError:  # a row that cannot be read concerns who asks for that item
            return EVERYTHING
        return Touched(labels, related=any(change.related for change in page.changes))


class RecordingCatalog:
    """The part of a catalogue that answers are made of; notes every label on which what it says depends."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.labels: set[Label | Alternate] = set()

    def find(self, label: Label) -> Item | None:
        self.labels.add(label)
        return self._note(self._catalog.find(label))

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        self.labels.add(label)
        return tuple(item for item in self._catalog.find_linked(link, label) if self._note(item))

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        self.labels.add(alternate)
        return tuple(item for item in self._catalog.find_alternate(alternate) if self._note(item))

    def _note(self, item: Item | None) -> Item | None:
        if item is not None:
            self.labels.add(item.rep)
        return item

    def __getattr__(self, name: str) -> object:
        return getattr(self._catalog, name)


# --- readers that wait for changes ------------------------------------------------------------------------------------

# Waits for changes of an Archive on behalf of readers that follow its feed, beside the event loop's other work.

LONGEST_WAIT: Final = 30
"""Seconds for which a reader may wait for the next change."""
MOST_WAITING: Final = 256
"""Readers that wait at a time; others are answered at once."""
_INTERVAL: Final = 0.1
"""Seconds between two looks at the version of the catalogue, which cost a microsecond each."""


class FeedReaders:
    """All readers of one feed in this process."""

    def __init__(self, feed: ChangeFeed, version: Callable[[], Hashable]) -> None:
        """`version` is another value after each change by any process, and never waits."""
        self._feed, self._version = feed, version
        self._waiting = 0
        self._ended: asyncio.Event | None = None

    async def page(self, after: int, most: int, wait: float = 0) -> ChangePage:
        """The entries after a number. While there is none, wait for one, for at most that many seconds."""
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
        """Answer all that wait: the server is stopping."""
        if self._ended is not None:
            self._ended.set()

    async def _is_ended(self, seconds: float) -> bool:
        """Whether the server stops within so many seconds."""
        if self._ended is None:  # belongs to the loop that waits for it
            self._ended = asyncio.Event()
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        return True
