"""Builds what reads the text of files, and what searches it, from the settings. Short: the Archive itself is built in
`ibi.composition.archive_site`, and is one idea already."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import structlog

from ibi.config import Settings
from ibi.ports.clocks import Clocks
from ibi.ports.errors import StorageError
from ibi.services.items.archive_store import ArchiveStore
from ibi.services.items.full_text import FullTextSearch, FullTextWorker
from ibi.services.sites import ArchiveSite
from ibi.storage.locks import WorkerLock
from ibi.storage.sqlite.texts import SqliteTexts
from ibi.storage.text_process import TextProcess

_LOCK = "texts.lock"
"""Held by the process of a data directory that reads."""


def full_text_worker(settings: Settings, site: ArchiveSite, opened: ExitStack) -> FullTextWorker | None:
    """What reads the text of files, if the settings want it."""
    if site.texts is None or site.feed is None:
        return None
    index = SqliteTexts(settings.data)
    opened.callback(index.close)
    hold = WorkerLock(settings.data / _LOCK).hold
    return FullTextWorker(site.catalog, site.feed, site.content, index, TextProcess(), hold=hold)


def open_texts(settings: Settings, store: ArchiveStore, clocks: Clocks, opened: ExitStack) -> FullTextSearch | None:
    """The search in the text of files. It never prevents a start: a damaged file is set aside, and read anew."""
    log = structlog.get_logger("ibi.texts")
    if not settings.archive.full_text:
        return None

    def set_aside(error: StorageError, aside: Path | None) -> None:
        log.warning("texts are read anew", reason=str(error.parameters.get("reason", error)), name=aside and aside.name)

    try:
        index = SqliteTexts(settings.data, set_aside)
    except StorageError as error:
        log.error("the text of files is not searched", reason=str(error))
        return None
    opened.callback(index.close)
    return FullTextSearch(store.catalog, index, lambda: clocks.read().wall)
