"""The entries of an Archive's feed of changes, in order."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ibi.items.model.item import Item
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State


class ChangeKind(StrEnum):
    """The kind of a change to an item."""

    PUT = "put"
    """The item is here, new or with another record: relations and visibility are part of that."""
    DELETED = "deleted"
    """The item was deleted and has a tombstone."""
    REMOVED = "removed"
    """Nothing is left here: a Copy was dropped."""
    MOVED = "moved"
    """Its Original was given to another Archive, and nothing else is left here."""


class Revision(NamedTuple):
    """The present version of an item's object: its number and its time."""

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
    """The time of the change, by the record of the item: ISO 8601."""
    head: int
    """The version of the item's object; 0 if there is none any more."""
    listed: int
    """The second since 1970 at which the change became visible; never less than that of the entry before."""
    related: bool = True
    """True if the item has, or had before, relations to others: answers about those may have changed."""

    @property
    def rep(self) -> RepositoryName:
        return RepositoryName.parse(self.label)


class FeedPosition(NamedTuple):
    """The position of a feed: its epoch, the number of its last entry, and a second since 1970.

    Later entries are listed in that second or after it; earlier seconds are complete.
    """

    epoch: str
    end: int
    second: int


class ChangePage(NamedTuple):
    """Entries of a feed in order, and the end of the feed at the time of reading."""

    epoch: str
    """Changes with each rebuild of the catalogue: numbers begin again, and a reader starts again."""
    changes: tuple[ItemChange, ...]
    end: int


class FollowedChange(NamedTuple):
    """An entry of another Archive's feed, reduced to the needs of a resolver.

    It has the repository name of the item, whether it has relations to others, and whether it was deleted. A deleted
    item may also have its IBIp.
    """

    label: str
    related: bool
    deleted: bool = False
    ibip: str | None = None

    def labels(self) -> tuple[Label, ...]:
        """Return the labels of the item. Raise `InvalidInput` if they are invalid, or cannot be of one item."""
        ibip = None if self.ibip is None else Ibip.parse(self.ibip)
        return LabelForms(RepositoryName.parse(self.label), ibip).labels


class AnnouncedCopies(NamedTuple):
    """An Archive's signed statement about holders of its Copies: the path on its server, and the time."""

    at: int
    """Milliseconds since 1970."""
    path: str


class FollowedPage(NamedTuple):
    """A page of such a feed: the entries after a number, the number for the next page, and the last number."""

    epoch: str
    after: int
    end: int
    changes: tuple[FollowedChange, ...]
    copies: AnnouncedCopies | None = None


def kind_of(item: Item) -> ChangeKind:
    """Return the kind of a change that lists the item in its present state."""
    return ChangeKind.DELETED if item.state is State.DELETED else ChangeKind.PUT
