"""Invalidate caches of this process when labels of its Archive change.

A new version of the catalogue makes the watch read the feed, so it sees the changes of other processes too. Only cache
entries made from the changed labels are dropped. Caches that depend on more than labels learn whether a changed item
has relations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple, Protocol

from ibi.items.model.description_values import Alternate
from ibi.items.model.item import Item
from ibi.items.ports.catalog import Catalog, ChangeFeed, Link
from ibi.standard.label import Label
from ibi.standard.storage_errors import StorageError

MOST_TOLD: Final = 500
"""Changes that are reported one by one; each costs a look-up. After more than these, the caches are worth nothing."""
_END: Final = 1 << 62


class Touched(NamedTuple):
    """The changes since the last report."""

    labels: frozenset[Label | Alternate] = frozenset()
    """The labels of the items, their other names, and the labels that they name."""
    related: bool = True
    """True if one of the items has, or had, relations."""
    everything: bool = False
    """True if any label may have changed."""


EVERYTHING: Final = Touched(everything=True)


class ChangeListener(Protocol):
    def __call__(self, touched: Touched, /) -> None: ...


class ChangeWatch:
    """Watches the catalogue of one Archive. For one thread, that of the event loop."""

    def __init__(self, catalog: Catalog, version: Callable[[], Hashable], feed: ChangeFeed | None = None) -> None:
        """`version` has another value after each change by any process, and never waits. Without a prompt `feed`, each
        change may be of any label."""
        self._catalog, self._version = catalog, version
        self._feed = feed if feed is not None and feed.prompt and catalog.prompt else None
        self._listeners: list[ChangeListener] = []
        self._seen: Hashable = None
        self._epoch, self._number = "", 0

    def tell(self, listener: ChangeListener) -> None:
        """Report changes to the listener, each time before `check` returns."""
        self._listeners.append(listener)

    def check(self) -> Hashable:
        """Look for changes and report them. Return the version up to which they are reported."""
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
        # An item that is gone has no names left in the catalogue. Caches know it by its repository name.
        changed = {change.rep for change in page.changes}
        try:
            labels = self._catalog.names_of(changed) | changed
        except StorageError:  # an unreadable row concerns only the readers of that item
            return EVERYTHING
        return Touched(labels, related=any(change.related for change in page.changes))


class RecordingCatalog:
    """The part of a catalogue that answers are made of. It notes every label on which its results depend."""

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
