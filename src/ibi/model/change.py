"""What changed in an Archive, in order: the entries of its feed of changes."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ibi.instant import Instant
from ibi.label import Ibip, Label, RepositoryName
from ibi.messages.identification import LabelForms
from ibi.model.item import Item
from ibi.vocabulary import State


class ChangeKind(StrEnum):
    """What became of an item."""

    PUT = "put"
    """It is here, new or with another record: relations and visibility are part of that."""
    DELETED = "deleted"
    """A tombstone is left."""
    REMOVED = "removed"
    """Nothing is left here: a Copy that was dropped."""
    MOVED = "moved"
    """Its Original was given to another Archive, and nothing else is left here."""


class Revision(NamedTuple):
    """The version of an item's object in which it is as it is now: its number, and when it was made."""

    head: int
    at: Instant


class ItemChange(NamedTuple):
    """One entry of the feed. Times are text and seconds, as they are stored and sent: a million are read at a time."""

    number: int
    """From 1 on, without a gap within an epoch."""
    label: str
    """The repository name of the item."""
    kind: ChangeKind
    at: str
    """When the change was made, by the record of the item: ISO 8601."""
    head: int
    """The version of the item's object; 0 if there is none any more."""
    listed: int
    """The second since 1970 in which the change could be seen first; never less than that of the entry before."""
    related: bool = True
    """Whether the item has, or had before, relations to others: what is said of those may be another thing now."""

    @property
    def rep(self) -> RepositoryName:
        return RepositoryName.parse(self.label)


class FeedPosition(NamedTuple):
    """Where a feed stands: its epoch, the number of its last entry, and a second since 1970.

    Entries that come later are listed in that second or after it; those before are all there.
    """

    epoch: str
    end: int
    second: int


class ChangePage(NamedTuple):
    """Entries of a feed in their order, and where the feed ended when they were read."""

    epoch: str
    """Another one after each rebuild of the catalogue: numbers begin again, and a reader with it."""
    changes: tuple[ItemChange, ...]
    end: int


class FollowedChange(NamedTuple):
    """An entry of another Archive's feed, as far as a resolver needs it: the repository name of the item, whether it
    has relations to others, and whether it was deleted; of a deleted one also its IBIp, if it is told."""

    label: str
    related: bool
    deleted: bool = False
    ibip: str | None = None

    def labels(self) -> tuple[Label, ...]:
        """Those of the item; `InvalidInput` if they are none, or cannot be of one item."""
        ibip = None if self.ibip is None else Ibip.parse(self.ibip)
        return LabelForms(RepositoryName.parse(self.label), ibip).labels


class AnnouncedCopies(NamedTuple):
    """Where on its server an Archive tells, signed, who holds its Copies, and since when it says the same."""

    at: int
    """Milliseconds since 1970."""
    path: str


class FollowedPage(NamedTuple):
    """What such a feed tells at a time: the entries after a number, the number to go on after, and that of the last
    entry that there is."""

    epoch: str
    after: int
    end: int
    changes: tuple[FollowedChange, ...]
    copies: AnnouncedCopies | None = None


def kind_of(item: Item) -> ChangeKind:
    """The kind of a change that lists the item as it is."""
    return ChangeKind.DELETED if item.state is State.DELETED else ChangeKind.PUT
