"""What services ask of the catalogue of an Archive: its items, what changed, and collections of them.

Where an Archive looks up what it keeps, where it searches, and what it tells of its changes.

The search is a port of its own: resolution and deposits need none, and a catalogue need not have one. An adapter of it
belongs to a catalogue, and finds what that has at the moment.

Where the collections of an Archive are kept: named sets of its items.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Protocol

from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.model.change import ChangePage, FeedPosition, ItemChange, Revision
from ibi.model.content import HeldTotal
from ibi.model.description_values import Alternate
from ibi.model.item import Item
from ibi.model.metadata import ResourceType
from ibi.model.search import FacetCounts, ItemCollection, SearchPage, SearchQuery
from ibi.model.transfer import Transfer
from ibi.vocabulary import State

# --- the feed of changes ----------------------------------------------------------------------------------------------

# The feed of changes of an Archive: what caches, harvesters, followers and other processes read.


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


# --- the catalogue ----------------------------------------------------------------------------------------------------


class Search(Protocol):
    """Finds items by the words of `ibi.archive.search`, asked for as `ibi.archive.search_terms` reads them. What was
    deleted is found by its labels alone; drafts are not in a catalogue. Any query is answered; only the store itself
    may fail. Takes milliseconds: not for an event loop.
    """

    def search(self, query: SearchQuery) -> SearchPage:
        """One page of what is found, in the order asked for.

        Labels in the text of which one is known here decide: the items that bear them are found, whatever else the text
        says. The last word may be the beginning of one, unless as a whole word it finds more than enough already.
        Relevance and titles order the newest `most` of the matches; the other matches come after them, newest first.
        A list of everything is ordered by title as a whole. Page after page, each beginning where the one before it
        says, every match is found once.
        """

    def facets(self, query: SearchQuery) -> FacetCounts:
        """What the items found have, most frequent first, and of equals in the order of the values."""

    def suggest(self, query: SearchQuery) -> str | None:
        """A text that finds something: that of the query, in which words that no item has are replaced by such that are
        nearly the same. None if there is none."""


class Link(Enum):
    """By which of its relations an item names another: the value is the field of `Item`."""

    EDITION_OF = "edition_of"
    NEXT_EDITION = "next_edition"
    TRANSLATION_OF = "translation_of"
    METADATA_ITEM = "metadata_item"
    DESCRIBES = "describes"


class Catalog(Protocol):
    """The published items of one Archive, tombstones among them; drafts are elsewhere. Calls do not wait for others.

    A label belongs to one item: R §5.2 allows an Archive no two of one IBI. Labels are compared as labels are, without
    regard to case; what is given back is spelled as it was put.
    """

    prompt: bool
    """Whether `find`, `names_of`, `transfer`, `find_linked` and `find_alternate` take tens of microseconds an item, so
    that an event loop may make them. Changes, `version` and `check` may wait for the disk, and walks through all items
    take long, on any adapter."""

    def find(self, label: Label) -> Item | None:
        """The item that bears this label, in either form; None if there is none, or it was dropped. Quick. Labels of
        before 2008 are other names (`find_alternate`): no item bears one."""

    def names_of(self, reps: Iterable[RepositoryName]) -> frozenset[Label | Alternate]:
        """The labels of the items with these repository names, their other names, and the labels that they name by
        their relations; none of items that are not here. Takes a small part of the time in which `find` reads them."""

    def put(self, item: Item, revision: Revision | None = None) -> None:
        """Keep `item` in the place of the one with its repository name, durably.

        `revision` is that of its object, for the feed of changes (`ibi.ports.catalog`); without one, it is taken from
        the item's last publication.

        `ibi.archive.errors.LabelTaken` if one of its labels is another item's: then nothing has changed.
        """

    def put_each(self, items: Sequence[Item], revisions: Sequence[Revision] | None = None) -> list[IbiError | None]:
        """Put several, in less time than one after the other; for each, `LabelTaken` if it was refused."""

    def put_all(self, items: Iterable[Item], revisions: Iterable[Revision] | None = None) -> int:
        """Put many, some hundred in a commit, whatever the catalogue says of them already; how many. `LabelTaken` if
        one of them is refused: what was put before it may stay."""

    def remove(self, label: Label, at: Instant | None = None) -> bool:
        """Forget an item, durably, but for the date in the feed of changes, which is now unless it is given; whether
        it was there. Not for Originals: those leave a tombstone, unless they were transferred."""

    def depart(self, transfer: Transfer, head: int = 0) -> None:
        """Forget the item, durably, but for where its Original was given to. `head` is the version of its object."""

    def transfer(self, label: Label) -> Transfer | None:
        """Where the item of this label went that departed from here; None if it did not. To be asked of labels under
        which `find` finds nothing. Quick, and quicker where nothing ever departed."""

    def items(self, after: RepositoryName | None = None) -> Iterator[Item]:
        """Every item in the order of repository names, from the first that comes after `after`."""

    def holdings(self) -> Mapping[State, HeldTotal]:
        """What there is of each state; a state without items may be missing. Quick, however many items there are."""

    def holdings_by_type(self) -> Mapping[ResourceType | None, HeldTotal]:
        """What there is of each type of item, those without one under None. Quick, however many items there are."""

    def largest(self, most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
        """The items whose files take most, the largest first; those without files are not among them. Not for an event
        loop: it may look at a number for every item."""

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        """The items here that name `label` by that relation, in the order of their repository names."""

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        """The items here that have that other name, in whichever spelling of it, in the order of their repository
        names; deleted ones among them. Other names need not be unique: readers choose."""

    def owned_by(self, owner: str, before: RepositoryName | None = None, most: int = 100) -> tuple[Item, ...]:
        """At most so many of the items that belong to that account, the newest labels first, from the first that is
        older than `before`; deleted ones among them. Takes no longer the more items others have."""

    def claimants(self, after: RepositoryName | None = None) -> Iterator[Item]:
        """The items that say `edition_of`, `translation_of` or `describes` of another, in the order of `items`."""

    def version(self) -> Hashable:
        """Another value after a change by any process, and the same while nothing changes: what was made of the
        catalogue may be kept until then. For one thread to compare."""

    def recent_version(self) -> Hashable:
        """`version`, but a change by another process may be seen some milliseconds late; one through this object is
        seen at once. Never waits, whatever `prompt` says: asked on the event loop for every answer that is kept."""

    def check(self) -> None:
        """A `StorageError` if it is not the sound catalogue any more that was opened."""

    def close(self) -> None:
        """Let go of what it is kept in. To close again does nothing."""


# --- collections ------------------------------------------------------------------------------------------------------


class CollectionStore(Protocol):
    """The collections of one Archive. Calls block, from any thread and process; what one process has changed, every
    other sees with its next call.

    Items are named by their repository names, also those that are no longer here: that is for readers to notice.
    """

    def list(self) -> tuple[ItemCollection, ...]:
        """All of them, in the order of their titles."""

    def find(self, name: str) -> ItemCollection | None: ...

    def add(self, collection: ItemCollection) -> None:
        """Keep a new one, durably. `ibi.model.search.CollectionExists` if its name is taken,
        `CollectionFull` if there are `MOST_COLLECTIONS`."""

    def change(self, name: str, into: Callable[[ItemCollection], ItemCollection]) -> ItemCollection | None:
        """Keep another one in its place, durably, under the same name: the one that is kept then, None if there was
        none."""

    def remove(self, name: str) -> bool:
        """Forget it and which items are in it, durably; whether it was there."""

    def count(self, name: str) -> int:
        """How many items were chosen by hand."""

    def members(self, name: str, offset: int, most: int) -> tuple[RepositoryName, ...]:
        """The items chosen by hand, the latest first."""

    def put_members(self, name: str, items: Sequence[RepositoryName], most: int) -> int:
        """Add items, durably: how many were not in it before. `CollectionFull`, and none is added, if there would
        be more than `most`; none is added either to a collection that is gone."""

    def drop_members(self, name: str, items: Sequence[RepositoryName]) -> int:
        """Take items out, durably: how many were in it."""

    def holding(self, item: RepositoryName) -> tuple[ItemCollection, ...]:
        """The collections that the item was put into by hand, in the order of their titles."""

    def close(self) -> None: ...
