"""What is kept of subscriptions: what is followed elsewhere, how far each has come, which items have something left to
be done; and webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from ibi.errors import IbiError
from ibi.label import RepositoryName
from ibi.model.subscription import FeedEntry, Follow, FollowCounts, FollowedState, SourceAddress, WantedItem, Webhook
from ibi.vocabulary import State


class SourceAway(IbiError):
    """{source} does not answer: {reason}."""

    code = "source-away"


class SourceUnusable(IbiError):
    """{source} does not answer as an Archive with a feed of changes does: {reason}."""

    code = "source-unusable"


class FeedBegunAgain(IbiError):
    """The feed of {source} was begun again, or put back from a backup."""

    code = "feed-begun-again"


class SourceRecord(NamedTuple):
    """What a source says of an item: its name, and what it is there."""

    name: RepositoryName
    state: State


class Advance(NamedTuple):
    """What a page of a feed means for one follow: the position to go on from, and the entries that concern it."""

    follow: str
    epoch: str
    position: int
    end: int
    entries: Sequence[FeedEntry]
    archive: str = ""
    """The label of the source's own item; empty if it does not say."""


class FollowStore(Protocol):
    """The follows of one data directory. Calls block, from any thread and process; a `StorageError` says that nothing
    was done. What a call has written is there after a crash, whole or not at all.
    """

    def add(self, follow: Follow) -> bool:
        """Keep a new follow; False if the same target of the same source is followed already, which then has the
        token of this one, and what its librarian dropped is brought again."""

    def remove(self, identity: str) -> Follow | None:
        """Forget a follow and all that is known of its items; what was forgotten. Copies stay."""

    def all(self) -> tuple[Follow, ...]:
        """In the order in which they were added."""

    def counts(self) -> Mapping[str, FollowCounts]:
        """By follow."""

    def holds(self, follow: str, label: str) -> bool:
        """Whether the item is known to be one of the follow."""

    def begin(self, identity: str, epoch: str, position: int, until: int, seeds: Sequence[FeedEntry]) -> None:
        """Begin another round, from that position of a feed of that epoch. `seeds` are items that are followed whatever
        the feed tells."""

    def advance(self, advances: Sequence[Advance], now: int) -> None:
        """Take in a page, in one step: the entries wait, and the position moves. An entry of which the same version
        was brought before does not wait."""

    def end_round(self, identity: str) -> int:
        """The round has seen all that the source has: items that it has not seen wait to be looked at. How many."""

    def due(self, follows: Sequence[str], now: int, most: int) -> tuple[WantedItem, ...]:
        """Items whose turn it is, those first that wait longest."""

    def next_due(self, follows: Sequence[str]) -> int | None:
        """When the next of those items has its turn; None if none waits."""

    def finish(self, item: WantedItem, state: FollowedState, version: int, at: str) -> None:
        """Nothing is left to be done, unless another change was told meanwhile. `version` and `at` are those of the
        source's object of which the Copy is, if known."""

    def forget(self, item: WantedItem) -> None:
        """The item is none of the follow, unless another change was told meanwhile."""

    def move(self, item: WantedItem, follow: Follow) -> None:
        """The item is one of `follow` from now on, which is added if there is none of the same target and source; what
        it was in its own follow is `MOVED`."""

    def relocate(self, identity: str, source: SourceAddress, *, keeps_token: bool) -> None:
        """The source of a follow is at another address by now; all that is known of the follow stays, and its token if
        it may be sent there. Of two with the same target there, the one that was there before stays."""

    def put_off(self, item: WantedItem, due: int, reason: str) -> None:
        """Try again then."""

    def note_failure(self, follows: Sequence[str], reason: str, now: int) -> None:
        """The source does not answer, or not as an Archive does."""

    def hold(self) -> bool:
        """Be the one process that works on the follows, if no other is. To be it already is fine. Ends with `release`
        or with the process."""

    def release(self) -> None:
        """Let another be it. Without effect for who is not."""


# --- webhooks ---------------------------------------------------------------------------------------------------------

# What is kept of webhooks.


class WebhookStore(Protocol):
    """The webhooks of one data directory. Calls block, from any thread and process. What a call has written is there
    after a crash."""

    def add(self, webhook: Webhook) -> None: ...

    def remove(self, identity: str) -> Webhook | None:
        """Forget a webhook; what was forgotten."""

    def enable(self, identity: str, epoch: str, position: int) -> Webhook | None:
        """Have it told again of what comes after that position; None if there is no such webhook."""

    def all(self) -> tuple[Webhook, ...]:
        """In the order in which they were added."""

    def advance(self, identity: str, epoch: str, position: int, delivered: int | None) -> None:
        """All up to that position is delivered, or was not wanted; `delivered` is when, if anything was."""

    def put_off(self, identity: str, due: int, reason: str, now: int) -> None:
        """A delivery was in vain: the next one is tried then."""

    def disable(self, identity: str, reason: str, now: int) -> None: ...

    def hold(self) -> bool:
        """Be the one process that delivers, if no other is. Ends with `release` or with the process."""

    def release(self) -> None: ...


GONE: Final = "the receiver says that it is gone (HTTP status 410)"
"""Why a delivery was in vain to which the receiver says that it wants nothing more."""
