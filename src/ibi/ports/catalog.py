"""Where an Archive looks up what it keeps, and where it searches.

The search is a port of its own: resolution and deposits need none, and a catalogue need not have one. An adapter of it
belongs to a catalogue, and finds what that has at the moment.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Protocol

from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.model.alternate import Alternate
from ibi.model.change import Revision
from ibi.model.content import HeldTotal
from ibi.model.item import Item
from ibi.model.search import FacetCounts, SearchPage, SearchQuery
from ibi.model.transfer import Transfer
from ibi.vocabulary import State


class Search(Protocol):
    """Finds items by the words of `ibi.archive.search`. What was deleted is found by its labels alone; drafts are not
    in a catalogue. Any query is answered; only the store itself may fail. Takes milliseconds: not for an event loop.
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
    """Whether `find`, `transfer`, `find_linked` and `find_alternate` take tens of microseconds, so that an event loop
    may make them. Changes, `version` and `check` may wait for the disk, and walks through all items take long, on any
    adapter."""

    def find(self, label: Label) -> Item | None:
        """The item that bears this label, in either form; None if there is none, or it was dropped. Quick. Labels of
        before 2008 are other names (`find_alternate`): no item bears one."""

    def put(self, item: Item, revision: Revision | None = None) -> None:
        """Keep `item` in the place of the one with its repository name, durably.

        `revision` is that of its object, for the feed of changes (`ibi.ports.changes`); without one, it is taken from
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

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        """The items here that name `label` by that relation, in the order of their repository names."""

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        """The items here that have that other name, in whichever spelling of it, in the order of their repository
        names; deleted ones among them. Other names need not be unique: readers choose."""

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
