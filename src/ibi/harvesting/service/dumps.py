"""Dumps of all records of an Archive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any, Final

import msgspec
import structlog

from ibi.harvesting.ports import DumpFiles
from ibi.harvesting.rules.dumps import dump_head, dump_record
from ibi.items.model.change import ChangeKind, FeedPosition, ItemChange
from ibi.items.ports.catalog import Catalog, ChangeFeed
from ibi.jobs.limits import hold_alone
from ibi.jobs.runner import Job, JobStopped
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.vocabulary import State

_PAGE: Final = 200
_DAY: Final = 86_400
_REST: Final = 0.01
"""Seconds of rest between two pages, so that readers of the server hardly notice."""
_LOOK: Final = 30.0
"""Seconds between two looks at the time."""
_RETRY: Final = 3_600.0
"""Seconds between a failure and the retry."""


class DumpInterrupted(IbiError):
    """The catalogue was rebuilt while the dump was written, which is therefore not whole. Begin it again."""

    code = "dump-interrupted"
    kind = ErrorKind.UNAVAILABLE


class Dump:
    """One dump: its position in the feed, and its lines, which are read once. Memory does not grow with it."""

    def __init__(self, feed: ChangeFeed, catalog: Catalog, now: Instant) -> None:
        """Blocks until every change under way is made."""
        self._feed, self._catalog, self._now = feed, catalog, now
        self.position: FeedPosition = feed.position()
        self.records = 0
        """The number of records that were read so far."""
        self.unreadable: list[tuple[str, IbiError]] = []

    def lines(self, rest: Callable[[], None] = lambda: None) -> Iterator[bytes]:
        """Yield the lines, with `rest` called between every few hundred. `DumpInterrupted` if the catalogue is
        rebuilt."""
        encode = msgspec.json.encode
        yield encode(dump_head(self.position)) + b"\n"
        after, end = 0, self.position.end
        while after < end:
            page = self._feed.current(after, _PAGE)
            if page.epoch != self.position.epoch:
                raise DumpInterrupted()
            for change in page.changes:
                if change.number > end:
                    return
                if change.kind is ChangeKind.PUT and (line := self._line(change)) is not None:
                    self.records += 1
                    yield encode(line) + b"\n"
            if len(page.changes) < _PAGE:
                return
            after = page.changes[-1].number
            rest()

    def _line(self, change: ItemChange) -> dict[str, Any] | None:
        try:
            item = self._catalog.find(change.rep)
        except IbiError as error:  # the others are given all the same
            self.unreadable.append((change.label, error))
            return None
        if item is None or item.state is State.DELETED:  # deleted a moment ago: the feed reports it
            return None
        return dump_record(change, item, self._now)


class DumpSchedule:
    """Writes a dump each day at one time of day (UTC), and at the start if one was missed."""

    def __init__(
        self,
        feed: ChangeFeed,
        catalog: Catalog,
        files: DumpFiles,
        second_of_day: int,
        *,
        now: Callable[[], float] = time.time,
        hold: Callable[[], bool] = hold_alone,
    ) -> None:
        """Of several processes, the one for which `hold` is true writes."""
        self._feed, self._catalog, self._files, self._at, self._now = feed, catalog, files, second_of_day, now
        self._hold, self._log = hold, structlog.get_logger("ibi.dump")
        self._stopping = Event()

    def jobs(self) -> tuple[Job, ...]:
        def step() -> None:
            self.step()

        return (
            Job("dump", step, _LOOK, hold=self._hold, stopping=self._stopping, first_rest=_RETRY, longest_rest=_RETRY),
        )

    def step(self) -> bool:
        """Write a dump if one is due. Return whether one was written. Blocks."""
        now = self._now()
        due = (now - self._at) // _DAY * _DAY + self._at
        written = self._files.written()
        if written is not None and written >= due:
            return False
        dump = Dump(self._feed, self._catalog, Instant(int(now)))
        size = self._files.write(f"{dump.position.epoch}-{dump.position.end}", dump.lines(self._rest))
        self._log.info("a dump was written", records=dump.records, bytes=size, after=dump.position.end)
        for label, error in dump.unreadable:
            self._log.error("a record cannot be read, and is not in the dump", item=label, reason=str(error))
        return True

    def _rest(self) -> None:
        if self._stopping.wait(_REST):
            raise JobStopped
