"""What an Archive follows elsewhere: items, prefixes, searches or whole Archives, of which it keeps Copies up to date.

A follow has a position in the feed of its source. What the feed tells is written down together with the position, so
that nothing is lost between the two; each item then waits until its Copy is durable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.errors import InvalidInput
from ibi.label import Label, RepositoryName, parse
from ibi.label.search import home_prefix, parse_home_prefix
from ibi.model.change import ChangeKind

LONGEST_SEARCH: Final = 1_000
"""Characters of a search that is followed."""


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


@dataclass(frozen=True, slots=True)
class FollowTarget:
    """Which items of a source are followed."""

    kind: FollowKind
    text: str = ""
    """The label, the prefix or the words to search for."""

    @classmethod
    def of(cls, kind: FollowKind, text: str = "") -> FollowTarget:
        """Read what a person says; `InvalidInput` if it is nothing that can be followed."""
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
        """Of a single item."""
        return parse(self.text)

    def takes(self, name: RepositoryName) -> bool | None:
        """Whether an item of that name is followed; None if only the source knows."""
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
    """Where a source is."""

    url: str
    """`http(s)://host[:port]`"""
    is_named_by_operator: bool = True
    """Whether it was named on the machine itself, by who may write its files; such a source may be in a private
    network, which tokens of the API do not reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """One follow, and how far it has come in the feed of its source. Times are seconds since 1970."""

    id: str
    target: FollowTarget
    source: SourceAddress
    token: str | None = field(default=None, repr=False)
    """A token of the scope copy, for restricted items; a secret, never shown."""
    created: int
    epoch: str = ""
    """That of the feed; empty before the feed was heard first."""
    position: int = 0
    """Number of the last entry that was taken in."""
    end: int = 0
    """Number of the last entry that the source told of."""
    round: int = 0
    """How often the feed was read from its beginning."""
    until: int | None = None
    """While the present round compares what is known with the feed: the number at which it has seen everything."""
    heard: int | None = None
    """When the source last answered."""
    current: int | None = None
    """When the follow was last known to have nothing left to do."""
    failing: int | None = None
    """Since when the source does not answer, or not as an Archive does."""
    reason: str | None = None


class FollowedState(StrEnum):
    """What became of an item that is followed."""

    WAITING = "waiting"
    """No Copy is here yet."""
    COPY = "copy"
    DELETED = "deleted"
    """Deleted at its Original. A Copy that is here keeps its bytes."""
    PURGED = "purged"
    """Deleted there with all its versions."""
    MOVED = "moved"
    """The source gave the Original away; the item is followed where it is now, if that is known."""
    GONE = "gone"
    """The source does not have it any more."""
    DROPPED = "dropped"
    """The librarian of this Archive has dropped the Copy: it is not brought again."""
    OWN = "own"
    """This Archive has the Original itself."""


class FeedEntry(NamedTuple):
    """A change that a source tells of."""

    number: int
    label: str
    kind: ChangeKind
    at: str
    version: int


class SourcePage(NamedTuple):
    """Entries of a source's feed in their order, the number to go on after, and that of the last one there is."""

    epoch: str
    after: int
    end: int
    entries: tuple[FeedEntry, ...]
    archive: str = ""
    """The label of the source's own item, of which no Copy is of use; empty if it does not say."""


class WantedItem(NamedTuple):
    """An item of a follow that has something left to be done."""

    follow: str
    entry: FeedEntry
    """The last change that was told."""
    attempts: int
    """How often it was tried in vain."""
    state: FollowedState


class FollowCounts(NamedTuple):
    """How many items of a follow there are, by what became of them, and how many have something left to be done."""

    states: dict[FollowedState, int]
    waiting: int = 0
    """With something left to be done."""
    refused: int = 0
    """Of those, how many were tried in vain."""
    reason: str | None = None
    """Why the last of those was not brought."""


def entries_behind(follow: Follow, counts: FollowCounts) -> int:
    """How far a follow is behind its source: entries that are not taken in, and items that wait."""
    return max(0, follow.end - follow.position) + counts.waiting
