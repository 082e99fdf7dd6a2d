"""Ports of follows: what is known of a source, and which items wait."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ibi.following.model.subscription import FeedEntry, Follow, FollowCounts, FollowedState, SourceAddress, WantedItem
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import RepositoryName
from ibi.standard.vocabulary import State


class SourceAway(IbiError):
    """{source} does not answer: {reason}."""

    code = "source-away"
    kind = ErrorKind.UPSTREAM_FAILED
    request_field = "source"


class SourceUnusable(IbiError):
    """{source} does not answer as an Archive with a feed of changes does: {reason}."""

    code = "source-unusable"
    kind = ErrorKind.UPSTREAM_FAILED
    request_field = "source"


class FeedBegunAgain(IbiError):
    """The feed of {source} was begun again, or put back from a backup."""

    code = "feed-begun-again"
    kind = ErrorKind.UPSTREAM_FAILED
    request_field = "source"


class SourceRecord(NamedTuple):
    """The record of an item at a source: its name, and its state there."""

    name: RepositoryName
    state: State


class Advance(NamedTuple):
    """The effect of a page of a feed on one follow: the next position, and the entries that concern it."""

    follow: str
    epoch: str
    position: int
    end: int
    entries: Sequence[FeedEntry]
    archive: str = ""
    """The label of the source's own item; empty if it does not say."""


class FollowStore(Protocol):
    """The follows of one data directory. Calls block, from any thread and process.

    A `StorageError` says that nothing was done. The changes of a call survive a crash, all or none.
    """

    def add(self, follow: Follow) -> bool:
        """Add a new follow. Return False if the same target of the same source is followed already.

        Then that follow gets the token of this one, and items that its librarian dropped are copied again.
        """

    def remove(self, identity: str) -> Follow | None:
        """Delete a follow and all records of its items, and return it. Copies stay."""

    def all(self) -> tuple[Follow, ...]:
        """Return all follows in the order in which they were added."""

    def counts(self) -> Mapping[str, FollowCounts]:
        """Return the counts by follow."""

    def held_among(self, follow: str, labels: Collection[str]) -> frozenset[str]:
        """Return those of the items that are known to be of the follow."""

    def is_brought(self, item: WantedItem) -> bool:
        """Return whether another follow of the same source has copied that version of the item."""

    def expect(self, follows: Sequence[str], end: int) -> None:
        """Record the end of a feed that is not processed: until `begin`, the follows are that far behind."""

    def note_end(self, source: str, epoch: str, end: int) -> None:
        """Record that the feed of a source, in that epoch, ends there or later."""

    def begin(self, identity: str, epoch: str, position: int, until: int, seeds: Sequence[FeedEntry]) -> None:
        """Begin another round from that position of a feed of that epoch.

        `seeds` are items that are followed whatever the feed says.
        """

    def advance(self, advances: Sequence[Advance], now: int) -> None:
        """Process a page in one transaction: the entries are queued, and the position moves.

        An entry is not queued if its version was copied before.
        """

    def end_round(self, identity: str) -> int:
        """End the round: it has seen all items of the source. Items that it has not seen are queued for a check.

        Return their number.
        """

    def due(self, follows: Sequence[str], now: int, most: int) -> tuple[WantedItem, ...]:
        """Return due items, the longest waiting first."""

    def next_due(self, follows: Sequence[str]) -> int | None:
        """Return when the next of those items is due; None if none waits."""

    def finish(self, item: WantedItem, state: FollowedState, version: int, at: str) -> None:
        """Mark the item as done, unless another change was reported meanwhile.

        `version` and `at` are those of the source's object from which the Copy was made, if known.
        """

    def forget(self, item: WantedItem) -> None:
        """Remove the item from the follow, unless another change was reported meanwhile."""

    def move(self, item: WantedItem, follow: Follow) -> None:
        """Move the item to `follow`, which is added if there is none with the same target and source.

        In its previous follow, the item is `MOVED`.
        """

    def relocate(self, identity: str, source: SourceAddress, *, keeps_token: bool) -> None:
        """Change the address of the source of a follow; all records of the follow stay.

        The token stays if it may be sent there. If two follows then have the same target, the one that was there before
        stays.
        """

    def put_off(self, item: WantedItem, due: int, reason: str) -> None:
        """Retry the item at that time."""

    def note_failure(self, follows: Sequence[str], reason: str, now: int) -> None:
        """Record that the source does not answer, or not as an Archive does."""

    def hold(self) -> bool:
        """Try to become the one process that works on the follows. Return whether this process is it now.

        Repeated calls are allowed. The lock ends with `release` or with the process.
        """

    def release(self) -> None:
        """Release the lock. Does nothing if this process does not hold it."""
