"""Lists of records for harvesters (OAI-PMH 2.0), read from the feed of changes and the catalogue.

A record's datestamp is the second in which its current entry was listed, and lists are in the order of entries. Three
facts make sure that a harvester loses nothing, and that the next harvest begins where this one ended:

1. `ChangeFeed.position` is read first. Every entry listed before its second S is visible from then on. Each later entry
   is listed in S or after it, also when the clock is set back: seconds never decrease. S is the `responseDate` of the
   answer.
2. A page has all entries after its beginning that are current when it is read, including those listed in S. An item has
   one current entry at a time. At the last page, that entry may lie before the beginning of the page: then an earlier
   page gave it. Otherwise it is on the last page. So one harvest gives each record at least once, however many of them
   change meanwhile.
3. An entry that is replaced or added after the page was read is listed in S or later. So the next harvest `from` S, of
   the last page or of any before it, gives every change that this one missed, and only changes in S or since. An empty
   answer has the S of the empty page.

All calls block: `position` waits for the writers.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from heapq import merge
from itertools import islice, takewhile
from threading import Lock
from typing import Final, NamedTuple

import structlog

from ibi.harvesting.rules.harvesting import Resumption, Selection, no_records
from ibi.items.model.change import ChangeKind, ChangePage, ItemChange
from ibi.items.model.item import Item
from ibi.items.model.metadata import ResourceType
from ibi.items.ports.catalog import Catalog, ChangeFeed
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import Label
from ibi.standard.vocabulary import State

PAGE: Final = 100
"""Records in one answer."""
_GONE: Final = frozenset({ChangeKind.REMOVED, ChangeKind.MOVED})
_TRIES: Final = 3
"""Attempts at a page that a rebuild of the catalogue interrupts."""


class HarvestBusy(IbiError):
    """The records of this set are still being counted. Ask again in a few seconds."""

    code = "harvest-busy"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 2


class HarvestedRecord(NamedTuple):
    """A record as a harvester gets it. A deleted record has no `item`, or the item of its tombstone."""

    label: str
    second: int
    item: Item | None

    @property
    def is_deleted(self) -> bool:
        return self.item is None or self.item.state is State.DELETED


class RecordPage(NamedTuple):
    """A part of a list: its records, the second S up to which nothing is missing, and the resumption of the list."""

    records: tuple[HarvestedRecord, ...]
    second: int
    cursor: int
    following: Resumption | None


class Harvesting:
    """The lists of one Archive for harvesters."""

    def __init__(self, feed: ChangeFeed, catalog: Catalog) -> None:
        self._feed, self._catalog = feed, catalog
        self._types = TypeIndex(feed)
        self._log = structlog.get_logger("ibi.harvesting")

    def page(self, selection: Selection, resumed: Resumption | None = None) -> RecordPage:
        """Return the first records of a list, or its next ones; `noRecordsMatch` if there are none."""
        for _ in range(_TRIES):
            found = self._page(selection, resumed)
            if found is None:
                continue
            if found.records:
                return found
            if found.following is None:  # none of them can be read
                raise no_records(found.second)
            resumed = found.following
        raise HarvestBusy()

    def _page(self, selection: Selection, resumed: Resumption | None) -> RecordPage | None:
        """Return a page, or None if another epoch began meanwhile."""
        position = self._feed.position()
        after = self._beginning(selection, resumed, position.epoch)
        page = self._entries(selection, after, PAGE + 1)
        if page.epoch != position.epoch:
            return None
        until = selection.until
        entries = tuple(takewhile(lambda each: until is None or each.listed <= until, page.changes))
        if not entries:
            raise no_records(position.second)
        shown, cursor = entries[:PAGE], 0 if resumed is None else resumed.cursor
        following = None
        if len(entries) > PAGE:
            last = shown[-1]
            following = Resumption(selection, page.epoch, last.number, last.listed, cursor + len(shown))
        return RecordPage(tuple(self._readable(shown)), position.second, cursor, following)

    def _beginning(self, selection: Selection, resumed: Resumption | None, epoch: str) -> int:
        """Return the number after which the page begins."""
        if resumed is not None:
            return resumed.number if resumed.epoch == epoch else self._feed.before(resumed.second)
        return 0 if selection.since is None else self._feed.before(selection.since)

    def _entries(self, selection: Selection, after: int, most: int) -> ChangePage:
        chosen = selection.record_set
        if chosen is None or chosen.kind == "prefix":
            return self._feed.current(after, most, None if chosen is None else chosen.value)
        return self._types.entries(None if chosen.value is None else ResourceType(chosen.value), after, most)

    def _readable(self, entries: tuple[ItemChange, ...]) -> Iterator[HarvestedRecord]:
        for entry in entries:
            try:
                yield self._record(entry)
            except IbiError as error:  # the others are given all the same
                self._log.error("a record cannot be read", item=entry.label, reason=str(error))

    def _record(self, entry: ItemChange) -> HarvestedRecord:
        item = None if entry.kind in _GONE else self._catalog.find(entry.rep)
        return HarvestedRecord(entry.label, entry.listed, item)

    def record(self, label: Label) -> HarvestedRecord | None:
        """Return the record of that repository name; None if there never was one."""
        entry = self._feed.last_of(label)
        return None if entry is None else self._record(entry)

    def prefixes(self, after: str, most: int) -> tuple[str, ...]:
        """Return the prefixes of all records in their order, after the given one."""
        return self._feed.prefixes(after, most)

    def earliest(self) -> int:
        """Return a second before which no record has a datestamp."""
        first = self._feed.current(0, 1).changes
        return first[0].listed if first else self._feed.position().second


_PATIENCE: Final = 5.0
"""Seconds for which one request reads entries into the index; the next request continues."""
_LOCK_PATIENCE: Final = 5.0
"""Seconds for which a request waits for the reading of another one."""
_A_READING: Final = 500


class TypeIndex:
    """The numbers of entries by the type of their items, learned from the feed as it grows: eight bytes an entry.

    Only the record holds the type, and reading every record for each page of a small set would take minutes. The type
    of a removed or moved item is unknown. Its entry belongs to every set, so that no harvester of a set keeps an item
    that is gone.
    """

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed, self._lock = feed, Lock()
        self._begin("")

    def _begin(self, epoch: str) -> None:
        self._epoch, self._end = epoch, 0
        self._numbers: dict[ResourceType | None, array[int]] = {kind: array("q") for kind in (None, *ResourceType)}

    def entries(self, kind: ResourceType | None, after: int, most: int) -> ChangePage:
        """Return the current entries of items of that type, or of any type; `HarvestBusy` if there is more to read
        first."""
        until = time.monotonic() + _PATIENCE
        if not self._lock.acquire(timeout=_LOCK_PATIENCE):
            raise HarvestBusy()
        try:
            self._read(until)
            chosen = tuple(self._numbers.values()) if kind is None else (self._numbers[kind], self._numbers[None])
            found = tuple(islice(self._current(chosen, after), most))
            return ChangePage(self._epoch, found, self._end)
        finally:
            self._lock.release()

    def _read(self, until: float) -> None:
        """Read the new entries of the feed."""
        while (page := self._feed.current(self._end, _A_READING)).changes or page.epoch != self._epoch:
            if page.epoch != self._epoch:
                self._begin(page.epoch)
                continue
            for entry, kind in zip(page.changes, self._feed.types(page.changes), strict=True):
                if kind is not None or entry.kind in _GONE:
                    self._numbers[kind].append(entry.number)
            self._end = page.changes[-1].number
            if time.monotonic() > until:
                raise HarvestBusy()

    def _current(self, chosen: tuple[array[int], ...], after: int) -> Iterator[ItemChange]:
        """Yield the entries that are still current. The others are dropped, so that they are looked up only once."""
        beginnings = (islice(numbers, bisect_right(numbers, after), None) for numbers in chosen)
        overtaken = set()
        try:
            for number in merge(*beginnings):
                found = self._feed.current(number - 1, 1).changes
                if found and found[0].number == number:
                    yield found[0]
                else:
                    overtaken.add(number)
        finally:
            self._drop(overtaken)

    def _drop(self, overtaken: set[int]) -> None:
        if overtaken:
            for kind, numbers in self._numbers.items():
                self._numbers[kind] = array("q", (each for each in numbers if each not in overtaken))
