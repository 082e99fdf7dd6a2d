"""Dumps of an Archive: all its public records as lines of JSON, made by a command or every night by a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any, Final

import msgspec
import structlog

from ibi.archive.dump import dump_head, dump_record
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.model.change import ChangeKind, FeedPosition, ItemChange
from ibi.ports.archive_state import DumpFiles
from ibi.ports.catalog import Catalog
from ibi.ports.changes import ChangeFeed
from ibi.vocabulary import State

_PAGE: Final = 200
_DAY: Final = 86_400
_REST: Final = 0.01
"""Seconds of rest between two pages, so that readers of the server hardly notice."""
_LOOK: Final = 30.0
"""Seconds between two looks at the time."""
_STOP: Final = 10.0
_RETRY: Final = 3_600
"""Seconds after a failure until it is tried again."""


class DumpInterrupted(IbiError):
    """The catalogue was rebuilt while the dump was written, which is therefore not whole. Begin it again."""

    code = "dump-interrupted"


class Dump:
    """One dump: where it stands in the feed, and its lines, which are read once. Memory does not grow with it."""

    def __init__(self, feed: ChangeFeed, catalog: Catalog, now: Instant) -> None:
        """Blocks until every change that is under way is made."""
        self._feed, self._catalog, self._now = feed, catalog, now
        self.position: FeedPosition = feed.position()
        self.records = 0
        """How many lines of records were read so far."""
        self.unreadable: list[tuple[str, IbiError]] = []

    def lines(self, rest: Callable[[], None] = lambda: None) -> Iterator[bytes]:
        """The lines, with `rest` called between every few hundred. `DumpInterrupted` if the catalogue is rebuilt."""
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
        if item is None or item.state is State.DELETED:  # since a moment ago: the feed tells
            return None
        return dump_record(change, item, self._now)


class DumpSchedule:
    """Writes a dump each day at one time of day (UTC), in a thread of its own; at the start, if one was missed."""

    def __init__(
        self,
        feed: ChangeFeed,
        catalog: Catalog,
        files: DumpFiles,
        second_of_day: int,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._feed, self._catalog, self._files, self._at, self._now = feed, catalog, files, second_of_day, now
        self._log = structlog.get_logger("ibi.dump")
        self._stopping = Event()
        self._not_before = 0.0
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = Thread(target=self._run, name="dump", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _STOP)

    def step(self) -> bool:
        """Write a dump if one is due; whether one was written. Blocks."""
        now = self._now()
        due = (now - self._at) // _DAY * _DAY + self._at
        written = self._files.written()
        if now < self._not_before or (written is not None and written >= due):
            return False
        self._not_before = now + _RETRY
        dump = Dump(self._feed, self._catalog, Instant(int(now)))
        size = self._files.write(f"{dump.position.epoch}-{dump.position.end}", dump.lines(self._rest))
        self._not_before = 0.0
        self._log.info("a dump was written", records=dump.records, bytes=size, after=dump.position.end)
        for label, error in dump.unreadable:
            self._log.error("a record cannot be read, and is not in the dump", item=label, reason=str(error))
        return True

    def _rest(self) -> None:
        if self._stopping.wait(_REST):
            raise _DumpStopped

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.step()
            except _DumpStopped:
                return
            except IbiError as error:
                self._log.warning("no dump could be written", reason=str(error))
            except Exception:  # noqa: BLE001 - the server goes on, and tries again in an hour
                self._log.error("a dump failed", exc_info=True)
            self._stopping.wait(_LOOK)


class _DumpStopped(Exception):
    """The server is stopping."""
