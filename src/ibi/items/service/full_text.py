"""Reads the text of files in the background while a server runs.

A job follows the feed of changes. Another process reads the text of each file. The position in the feed is stored, so
that nothing is read twice, not even after a restart. Deposits never wait for any of it.

Files that some readers may not read are not read at all: nobody can find their words, not even readers who may. The
same holds for unlisted files, other than the main file of the item.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Final

import structlog

from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.model.search import SearchQuery
from ibi.items.ports.archive_store import Content
from ibi.items.ports.catalog import Catalog, ChangeFeed
from ibi.items.ports.full_text import TextIndex, TextReader
from ibi.items.ports.previews import PreviewStore
from ibi.items.rules.file_access import access_by_address
from ibi.items.rules.highlighting import MarkedText, ScanBudget, line_of_text
from ibi.items.rules.search import FIELDS, Entry, day_word, entry_of, meets
from ibi.items.rules.search_terms import Terms, are_fields_met, read_terms
from ibi.items.service.stored_item import DOC
from ibi.jobs.limits import hold_alone
from ibi.jobs.runner import Job, JobStopped
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.storage_errors import StorageError
from ibi.standard.vocabulary import State

_IDLE: Final = 2.0
"""Seconds between two looks at the feed."""
_TOGETHER: Final = 50
"""Entries of the feed that are read at a time."""
_MOST_FILES: Final = 200
"""Files of an item that are read."""
MOST_SHOWN: Final = 10
"""Items that a page shows as found in the text."""
_MOST_LOOKED_AT: Final = 300


class _Outdated(Exception):
    """The item was changed: the feed tells of it next."""


class FullTextWorker:
    """Reads texts in the background. Of several processes, the one for which `hold` is true does so."""

    def __init__(
        self,
        catalog: Catalog,
        feed: ChangeFeed,
        content: Content,
        index: TextIndex,
        reader: TextReader,
        *,
        now: Callable[[], float] = time.time,
        hold: Callable[[], bool] = hold_alone,
        previews: PreviewStore | None = None,
    ) -> None:
        """Drops the `previews` of files that an item no longer has."""
        self._catalog, self._feed, self._content, self._previews = catalog, feed, content, previews
        self._index, self._reader, self._now = index, reader, now
        self._log = structlog.get_logger("ibi.texts")
        self._stopping = Event()
        self._hold = hold

    def jobs(self) -> tuple[Job, ...]:
        def step() -> float | None:
            return 0.0 if self.step() else None

        # The first look waits, too: a server that starts has other work.
        return (
            Job("texts", step, _IDLE, hold=self._hold, first=_IDLE, halt=self._reader.stop, stopping=self._stopping),
        )

    def step(self) -> bool:
        """Look at the next few items, and return whether there were any. Blocks."""
        epoch, after = self._index.position()
        page = self._feed.current(after, _TOGETHER)
        if page.epoch != epoch or after > page.end:  # the catalogue was rebuilt; the texts read before are known
            page = self._feed.current(0, _TOGETHER)
        for change in page.changes:
            self._look_at(change.rep)
            self._index.note_position(page.epoch, change.number)
        for name in (due := self._index.due(int(self._now()))):
            self._look_at(name)
        if not page.changes and (page.epoch, page.end) != (epoch, after):
            self._index.note_position(page.epoch, page.end)
        return bool(page.changes or due)

    def _look_at(self, name: RepositoryName) -> None:
        item, now = self._catalog.find(name), Instant(int(self._now()))
        self._drop_previews(name, item)
        if item is None or item.state is State.DELETED or not access_by_address(item, (), now):
            self._index.remove(name)
            if item is not None and item.visibility.embargo is not None and item.visibility.is_embargoed(now):
                self._index.postpone(name, item.visibility.embargo.seconds + 1)
            return
        try:
            texts = dict(self._texts(item))
        except _Outdated:
            texts = {}
        entry = entry_of(item)
        if texts and entry is not None:
            self._index.put(name, _description(entry), texts)
        else:
            self._index.remove(name)

    def _drop_previews(self, name: RepositoryName, item: Item | None) -> None:
        if self._previews is None:
            return
        try:
            self._previews.keep_only(name, frozenset(file.sha512 for file in item.files) if item else ())
        except StorageError as error:  # the texts are read all the same
            self._log.warning("previews cannot be dropped at the moment", item=str(name), reason=str(error))

    def _texts(self, item: Item) -> Iterator[tuple[str, str]]:
        for file in _searched_files(item):
            if not self._reader.can_read(file.media_type, file.size):
                continue
            known = self._index.find_text(file.sha512)
            yield file.sha512, self._read(item, file) if known is None else known

    def _read(self, item: Item, file: File) -> str:
        if self._stopping.is_set():
            raise JobStopped
        try:
            with self._content.open(str(item.rep), f"{DOC}{file.path}") as opened:
                if opened.digest != file.sha512:  # a newer version, which may be for fewer readers
                    raise _Outdated
                found = self._reader.read(opened, file.media_type)
        except StorageError:
            raise
        except IbiError as error:  # the file contradicts its record: verification reports it
            self._log.warning(
                "a file cannot be read for its text", item=str(item.rep), file=file.path, reason=str(error)
            )
            return ""
        if self._stopping.is_set():
            raise JobStopped
        if found.ends_because is not None:
            self._log.info(
                "the text of a file is not whole", item=str(item.rep), file=file.path, reason=found.ends_because
            )
        return found.text


def _searched_files(item: Item) -> Sequence[File]:
    """Return the first files of the item. Return only the main file if they are not listed: other files are for readers
    who know their names."""
    if item.visibility.listing:
        return item.files[:_MOST_FILES]
    main = None if item.target is None else item.file(item.target)
    return () if main is None else (main,)


def _description(entry: Entry) -> str:
    return " ".join(getattr(entry, field) for field in FIELDS)


@dataclass(frozen=True, slots=True)
class TextMatch:
    """An item with the search words in its files, and one line of them."""

    item: Item
    line: tuple[MarkedText, ...]

    @property
    def text(self) -> str:
        """The line without its marks."""
        return "".join(piece.text for piece in self.line)


class FullTextSearch:
    """Finds items by the text of their files, beside those that are found by their description."""

    def __init__(self, catalog: Catalog, index: TextIndex, now: Callable[[], Instant]) -> None:
        self._catalog, self._index, self._now = catalog, index, now

    async def find(self, query: SearchQuery) -> tuple[TextMatch, ...]:
        """Return a few of the newest matches, for the first page of a search only. Return none if the index does not
        answer."""
        return await asyncio.to_thread(self.find_now, query)

    def find_now(self, query: SearchQuery) -> tuple[TextMatch, ...]:
        """Do the same as `find`, and block."""
        terms = read_terms(query.text)
        if query.page > 1 or query.after is not None or not terms.has_words or terms.labels:
            return ()
        found: list[TextMatch] = []
        budget = ScanBudget()
        try:
            for name in self._index.find(query.text, _MOST_LOOKED_AT):
                item = self._catalog.find(name)
                if item is not None and self._is_wanted(item, terms, query):
                    line = line_of_text(self._index.texts(name), terms, budget)
                    found.append(TextMatch(item.without_files(), line))
                if len(found) == MOST_SHOWN:
                    break
        except StorageError as error:
            structlog.get_logger("ibi.texts").warning("the text of files cannot be searched", reason=str(error))
        return tuple(found)

    def _is_wanted(self, item: Item, terms: Terms, query: SearchQuery) -> bool:
        """Return whether the item matches now. Its present state counts, not the state when it was read: it may have
        been closed since."""
        entry, now = entry_of(item), self._now()
        return (
            entry is not None
            and bool(access_by_address(item, (), now))
            and meets(entry, query.filters, day_word(now.seconds))
            and are_fields_met(entry, terms)
            and (item.visibility.listing or self._is_found_by_main_file(item))
        )

    def _is_found_by_main_file(self, item: Item) -> bool:
        """Return whether the index has no text of files that are no longer listed."""
        return set(self._index.digests(item.rep)) <= {file.sha512 for file in _searched_files(item)}
