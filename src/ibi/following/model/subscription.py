"""Subscriptions of an Archive to items, prefixes, searches or whole Archives: it keeps Copies up to date.

A follow has a position in the feed of its source. Entries of the feed are stored together with the position, so that
nothing is lost between the two. Each item then waits until its Copy is durable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.items.model.change import ChangeKind
from ibi.standard.errors import InvalidInput
from ibi.standard.label import Label, RepositoryName, parse
from ibi.standard.label.search import home_prefix, parse_home_prefix

LONGEST_SEARCH: Final = 1_000
"""Most characters of a followed search."""


class FollowKind(StrEnum):
    ITEM = "item"
    PREFIX = "prefix"
    SEARCH = "search"
    ALL = "all"
    MOVED = "moved"
    """Items that were followed elsewhere, and moved to this source. They are added as they move."""


class InvalidFollow(InvalidInput):
    """{quoted} cannot be followed: {reason}."""

    code = "invalid-follow"
    request_field = "search"


@dataclass(frozen=True, slots=True)
class FollowTarget:
    """The items of a source that are followed."""

    kind: FollowKind
    text: str = ""
    """The label, the prefix or the words to search for."""

    @classmethod
    def of(cls, kind: FollowKind, text: str = "") -> FollowTarget:
        """Parse the input of a person; raise `InvalidInput` if it cannot be followed."""
        if kind in (FollowKind.ALL, FollowKind.MOVED):
            if text:
                raise InvalidFollow(text, 0, "a whole Archive is followed without further words")
            return cls(kind)
        if kind is FollowKind.ITEM:
            return cls(kind, str(parse(text)))
        if kind is FollowKind.PREFIX:
            return cls(kind, parse_home_prefix(text))
        words = " ".join(text.split())
        if not words or len(words) > LONGEST_SEARCH or not words.isprintable():
            raise InvalidFollow(text[:80], 0, "a search has between 1 and {most} characters", most=LONGEST_SEARCH)
        return cls(kind, words)

    @property
    def label(self) -> Label:
        """The label of a single item."""
        return parse(self.text)

    def takes(self, name: RepositoryName) -> bool | None:
        """Return whether an item of that name is followed; None if only the source knows."""
        if self.kind is FollowKind.ALL:
            return True
        if self.kind is FollowKind.PREFIX:
            return home_prefix(name) == self.text
        if self.kind is FollowKind.ITEM and isinstance(self.label, RepositoryName):
            return self.label == name
        return None

    def __str__(self) -> str:
        return f"{self.kind.value} {self.text}".strip()


class SourceAddress(NamedTuple):
    """The address of a source."""

    url: str
    """`http(s)://host[:port]`"""
    is_named_by_operator: bool = True
    """True if it was named on the machine itself, by a user who may write its files.

    Such a source may be in a private network, which tokens of the API do not reach.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """One follow, and its progress in the feed of its source. Times are seconds since 1970."""

    id: str
    target: FollowTarget
    source: SourceAddress
    token: str | None = field(default=None, repr=False)
    """A token with the scope copy, for restricted items; a secret, never shown."""
    created: int
    epoch: str = ""
    """The epoch of the feed; empty before the first answer."""
    position: int = 0
    """Number of the last entry that was processed."""
    end: int = 0
    """Number of the last entry that the source reported."""
    round: int = 0
    """How often the feed was read from its beginning."""
    until: int | None = None
    """While the present round compares the known items with the feed: the number at which it has seen everything."""
    heard: int | None = None
    """The time of the source's last answer."""
    current: int | None = None
    """The time at which the follow last had no pending work."""
    failing: int | None = None
    """The time since which the source does not answer, or not as an Archive does."""
    reason: str | None = None
    archive: str = ""
    """The label of the source's own item, by which it is found if it moves; empty until the source has sent it."""


class FollowedState(StrEnum):
    """The state of a followed item."""

    WAITING = "waiting"
    """There is no Copy here yet."""
    COPY = "copy"
    DELETED = "deleted"
    """Its Original was deleted. A Copy that is here keeps its bytes."""
    PURGED = "purged"
    """Deleted there with all its versions."""
    MOVED = "moved"
    """The source gave the Original away; the item is followed at its new place, if that is known."""
    GONE = "gone"
    """The source does not have it any more."""
    DROPPED = "dropped"
    """The librarian of this Archive has dropped the Copy: it is not copied again."""
    OWN = "own"
    """This Archive has the Original itself."""


class FeedEntry(NamedTuple):
    """A change that a source reports."""

    number: int
    label: str
    kind: ChangeKind
    at: str
    version: int


class SourcePage(NamedTuple):
    """Entries of a source's feed in order, the number for the next page, and the number of the last entry."""

    epoch: str
    after: int
    end: int
    entries: tuple[FeedEntry, ...]
    archive: str = ""
    """The label of the source's own item, of which a Copy is useless; empty if the source does not send it."""


class WantedItem(NamedTuple):
    """An item of a follow with pending work."""

    follow: str
    entry: FeedEntry
    """The last reported change."""
    attempts: int
    """Number of failed attempts."""
    state: FollowedState


class FollowCounts(NamedTuple):
    """The items of a follow by state, and the number of items with pending work."""

    states: dict[FollowedState, int]
    waiting: int = 0
    """Items with pending work."""
    refused: int = 0
    """Waiting items with failed attempts."""
    reason: str | None = None
    """The reason of the last failed attempt."""


def entries_behind(follow: Follow, counts: FollowCounts) -> int:
    """Return how far a follow is behind its source: unprocessed entries, and items that wait."""
    return max(0, follow.end - follow.position) + counts.waiting
