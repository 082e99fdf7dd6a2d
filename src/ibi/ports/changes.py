"""The feed of changes of an Archive: what caches, harvesters, followers and other processes read.

Short, because it is a port of its own beside that of the catalogue, which has one transaction with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ibi.label import Label
from ibi.model.change import ChangePage, FeedPosition, ItemChange
from ibi.model.metadata import ResourceType


class ChangeFeed(Protocol):
    """The changes of one catalogue in their order, one entry for each.

    An entry is written in the transaction of its change: it is there exactly if the change is, and is never written
    again. Numbers have no gaps. To put an item that is listed in the same version already is no change. A rebuild of
    the catalogue begins another epoch, in which each item has one entry.
    """

    prompt: bool
    """Whether `since` of a few entries takes tens of microseconds, so that an event loop may ask."""

    def since(self, number: int, most: int) -> ChangePage:
        """The entries after that number, at most so many."""

    def current(self, number: int, most: int, prefix: str | None = None) -> ChangePage:
        """The same, of which those are left out whose item has a later entry; with a `prefix`, spelled as labels have
        it, only those of its labels, for which a slow adapter may look at every entry."""

    def prefixes(self, after: str, most: int) -> tuple[str, ...]:
        """The prefixes of all labels in the feed, in the order of their text, from the first one after `after`."""

    def types(self, changes: Sequence[ItemChange]) -> list[ResourceType | None]:
        """The type of the item of each of these entries as it is now; None if it has none or is not there. In much less
        time than to find the items."""

    def last_of(self, label: Label) -> ItemChange | None:
        """The last entry of the item of that repository name."""

    def before(self, second: int) -> int:
        """The number of the last entry that was listed before that second; 0 if there is none."""

    def position(self) -> FeedPosition:
        """Where the feed stands, after every change that is under way. May wait for the disk: not for an event loop."""
