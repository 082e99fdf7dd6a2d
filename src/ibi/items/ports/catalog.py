"""Interfaces of the catalogue of an Archive: its items, and the search.

The search is a separate port: resolution and deposits need none, and a catalogue need not have one. An adapter of it
belongs to a catalogue, and finds the catalogue's present items.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Protocol

from ibi.items.model.change import ChangePage, FeedPosition, ItemChange, Revision
from ibi.items.model.content import HeldTotal
from ibi.items.model.description_values import Alternate
from ibi.items.model.item import Item
from ibi.items.model.metadata import ResourceType
from ibi.items.model.search import FacetCounts, SearchPage, SearchQuery
from ibi.items.model.transfer_record import Transfer
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.vocabulary import State


class ChangeFeed(Protocol):
    """The changes of one catalogue in order, one entry for each.

    An entry is written in the transaction of its change. It exists exactly if the change does, and never changes.
    Numbers have no gaps. Putting an item that is listed in the same version already is no change. A rebuild of the
    catalogue begins another epoch, in which each item has one entry.
    """

    prompt: bool
    """True if `since` for a few entries takes tens of microseconds, so that an event loop may call it."""

    def since(self, number: int, most: int) -> ChangePage:
        """Return the entries after that number, at most `most`."""

    def current(self, number: int, most: int, prefix: str | None = None) -> ChangePage:
        """Return the same, without entries of items that have a later entry.

        With a `prefix`, spelled as in labels, return only entries of its labels; a slow adapter may then scan every
        entry.
        """

    def prefixes(self, after: str, most: int) -> tuple[str, ...]:
        """Return the prefixes of all labels in the feed, in text order, from the first one after `after`."""

    def types(self, changes: Sequence[ItemChange]) -> list[ResourceType | None]:
        """Return the present type of the item of each entry; None if it has none or does not exist.

        This is much faster than finding the items.
        """

    def last_of(self, label: Label) -> ItemChange | None:
        """Return the last entry of the item with that repository name."""

    def before(self, second: int) -> int:
        """Return the number of the last entry that was listed before that second; 0 if there is none."""

    def position(self) -> FeedPosition:
        """Return the position of the feed after every change in progress. May block: not for an event loop."""


class Search(Protocol):
    """Finds items by the words of `ibi.items.rules.search`, in queries as `ibi.items.rules.search_terms` parses them.

    A deleted item is found only by its labels; drafts are not in a catalogue. Any query is answered; only the store
    itself may fail. Takes milliseconds: not for an event loop.
    """

    def search(self, query: SearchQuery) -> SearchPage:
        """Return one page of results, in the requested order.

        If the text contains a label that is known here, labels decide: the items that have them are found, whatever
        else the text says. The last word may be the beginning of a word, unless as a whole word it finds more than
        enough already. Relevance and titles order the newest `most` of the matches; the other matches follow, newest
        first. A list of everything is ordered by title as a whole. Page after page, each starting where the previous
        one says, every match is found once.
        """

    def facets(self, query: SearchQuery) -> FacetCounts:
        """Return the values of the items found, most frequent first; equal counts in the order of the values."""

    def suggest(self, query: SearchQuery) -> str | None:
        """Return a similar text that finds something; None if there is none.

        Words that no item has are replaced by very similar words.
        """


class Link(Enum):
    """The relation by which an item names another: the value is the field of `Item`."""

    EDITION_OF = "edition_of"
    NEXT_EDITION = "next_edition"
    TRANSLATION_OF = "translation_of"
    METADATA_ITEM = "metadata_item"
    DESCRIBES = "describes"


class Catalog(Protocol):
    """The published items of one Archive, including tombstones; drafts are elsewhere. Calls do not wait for others.

    A label belongs to one item: R §5.2 allows an Archive no two items with one IBI. Labels are compared without regard
    to case; results are spelled as they were put.
    """

    prompt: bool
    """True if an event loop may call `find`, `names_of`, `transfer`, `find_linked` and `find_alternate`.

    They take tens of microseconds an item. Changes, `version` and `check` may wait for the disk, and iteration over all
    items takes long, on any adapter.
    """

    def find(self, label: Label) -> Item | None:
        """Return the item with this label, in either form; None if there is none, or it was dropped. Fast.

        Labels of before 2008 are other names (`find_alternate`): no item has one as its label.
        """

    def names_of(self, reps: Iterable[RepositoryName]) -> frozenset[Label | Alternate]:
        """Return the labels and other names of these items, and the labels in their relations.

        Unknown items add nothing. This is much faster than `find`.
        """

    def put(self, item: Item, revision: Revision | None = None) -> None:
        """Store `item` durably in place of the one with its repository name.

        `revision` is the revision of its object, for the feed of changes (`ibi.items.ports.catalog`). Without one, it
        is taken from the item's last publication.

        Raise `ibi.items.rules.errors.LabelTaken` if another item has one of its labels: then nothing changes.
        """

    def put_each(self, items: Sequence[Item], revisions: Sequence[Revision] | None = None) -> list[IbiError | None]:
        """Store several items, faster than one after the other. Return for each None, or `LabelTaken` if refused."""

    def put_all(self, items: Iterable[Item], revisions: Iterable[Revision] | None = None) -> int:
        """Store many items, some hundred per commit, whatever the catalogue has for them already. Return their number.

        Raise `LabelTaken` if one of them is refused: items before it may stay.
        """

    def remove(self, label: Label, at: Instant | None = None) -> bool:
        """Delete an item durably. Only the date in the feed of changes stays, which is now unless given.

        Return whether the item existed. Not for Originals: those leave a tombstone, unless they were transferred.
        """

    def depart(self, transfer: Transfer, head: int = 0) -> None:
        """Delete the item durably, except for the record of its transfer. `head` is the version of its object."""

    def transfer(self, label: Label) -> Transfer | None:
        """Return the transfer of the departed item with this label; None if it did not depart.

        Call it for labels that `find` does not find. Fast, and faster if nothing ever departed.
        """

    def items(self, after: RepositoryName | None = None) -> Iterator[Item]:
        """Yield every item in the order of repository names, from the first one after `after`."""

    def holdings(self) -> Mapping[State, HeldTotal]:
        """Return the totals of each state; a state without items may be missing. Fast for any number of items."""

    def holdings_by_type(self) -> Mapping[ResourceType | None, HeldTotal]:
        """Return the totals of each type of item, without type under None. Fast for any number of items."""

    def largest(self, most: int) -> tuple[tuple[RepositoryName, HeldTotal], ...]:
        """Return the items with the largest files in total, the largest first, without items that have no files.

        Not for an event loop: it may read a number for every item.
        """

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        """Return the items here that name `label` by that relation, in the order of their repository names."""

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        """Return the items here that have that other name, in any spelling, in the order of their repository names.

        Deleted items are included. Other names need not be unique: readers choose.
        """

    def owned_by(self, owner: str, before: RepositoryName | None = None, most: int = 100) -> tuple[Item, ...]:
        """Return at most `most` items that belong to that account, the newest labels first, older than `before`.

        Deleted items are included. The time does not depend on the number of items of other accounts.
        """

    def claimants(self, after: RepositoryName | None = None) -> Iterator[Item]:
        """Yield the items that are `edition_of`, `translation_of` or `describes` another, in the order of `items`."""

    def version(self) -> Hashable:
        """Return a value that differs after a change by any process, and stays the same otherwise.

        Data derived from the catalogue may be cached until then. Only one thread may compare the values.
        """

    def recent_version(self) -> Hashable:
        """Return `version`, but possibly some milliseconds late for changes by another process.

        Changes through this object appear at once. It never waits, whatever `prompt` says: the event loop calls it for
        every cached answer.
        """

    def check(self) -> None:
        """Raise `StorageError` if it is no longer the intact catalogue that was opened."""

    def close(self) -> None:
        """Release its storage. Closing again does nothing."""
