"""Opens the stores beside that of an Archive: usage counts, reviews, requests of readers, collections, full text and
previews."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import structlog

from ibi.archive.markdown_preview import RENDERING
from ibi.composition.minter import LocalMinter
from ibi.config import Settings
from ibi.ports.accounts import AuditLog
from ibi.ports.clocks import Clocks
from ibi.ports.errors import StorageError
from ibi.services.items.archive_store import ArchiveStore
from ibi.services.items.collections import Collections
from ibi.services.items.full_text import FullTextSearch, FullTextWorker
from ibi.services.items.previews import MarkdownPreviews
from ibi.services.items.searching import Searching
from ibi.services.sites import ArchiveSite
from ibi.storage.locks import WorkerLock
from ibi.storage.sqlite.collections import SqliteCollections
from ibi.storage.sqlite.previews import SqlitePreviews
from ibi.storage.sqlite.requests import SqliteRequests
from ibi.storage.sqlite.reviews import SqliteReviews
from ibi.storage.sqlite.texts import SqliteTexts
from ibi.storage.sqlite.usage import SqliteUsageLog
from ibi.storage.text_process import TextProcess


def open_usage(path: Path, opened: ExitStack) -> SqliteUsageLog | None:
    """Open the usage counts. They never prevent a start: a damaged file is set aside, and without a file nothing is
    counted."""
    log = structlog.get_logger("ibi.archive")

    def set_aside(error: StorageError, aside: Path | None) -> None:
        log.warning("use is counted anew", reason=str(error.parameters.get("reason", error)), name=aside and aside.name)

    try:
        usage = SqliteUsageLog(path, on_damage=set_aside)
    except StorageError as error:
        log.error("use is not counted", reason=str(error))
        return None
    opened.callback(usage.close)
    return usage


def open_reviews(settings: Settings, opened: ExitStack) -> SqliteReviews | None:
    """Open the reviews. None if reviews are switched off and no draft still waits."""
    reviews = SqliteReviews(settings.data)
    opened.callback(reviews.close)
    if settings.archive.review or reviews.has_any():
        return reviews
    return None


def open_requests(settings: Settings, opened: ExitStack) -> SqliteRequests:
    requests = SqliteRequests(settings.data)
    opened.callback(requests.close)
    return requests


def open_collections(
    data: Path, store: ArchiveStore, minter: LocalMinter, searching: Searching, audit: AuditLog, opened: ExitStack
) -> Collections:
    collections = SqliteCollections(data)
    opened.callback(collections.close)
    return Collections(collections, store.catalog, minter.clocks, searching=searching, audit=audit)


_LOCK = "texts.lock"
"""The lock of the one process of a data directory that extracts texts."""


def text_process(settings: Settings) -> TextProcess:
    return TextProcess(unconfined=settings.archive.extract_unconfined is True)


def full_text_worker(settings: Settings, site: ArchiveSite, opened: ExitStack) -> FullTextWorker | None:
    """Return the worker that extracts the text of files, if the settings want it."""
    if site.texts is None or site.feed is None:
        return None
    process = text_process(settings)
    if not process.is_on:
        structlog.get_logger("ibi.texts").warning(
            "files are not read for their text: this kernel offers neither Landlock nor seccomp to confine the process"
        )
        return None
    index = SqliteTexts(settings.data)
    opened.callback(index.close)
    hold = WorkerLock(settings.data / _LOCK).hold
    previews = _open_preview_store(settings, opened)
    return FullTextWorker(site.catalog, site.feed, site.content, index, process, hold=hold, previews=previews)


def open_texts(settings: Settings, store: ArchiveStore, clocks: Clocks, opened: ExitStack) -> FullTextSearch | None:
    """Open the full-text search. It never prevents a start."""
    if not settings.archive.full_text:
        return None
    try:
        index = SqliteTexts(settings.data)
    except StorageError as error:
        structlog.get_logger("ibi.texts").error("the text of files is not searched", reason=str(error))
        return None
    opened.callback(index.close)
    return FullTextSearch(store.catalog, index, lambda: clocks.read().wall)


def open_previews(settings: Settings, opened: ExitStack) -> MarkdownPreviews | None:
    """Open the previews, which are rendered on demand. They never prevent a start."""
    store = _open_preview_store(settings, opened)
    if store is None:
        return None
    previews = MarkdownPreviews(store, text_process(settings))
    opened.callback(previews.stop)
    return previews


def _open_preview_store(settings: Settings, opened: ExitStack) -> SqlitePreviews | None:
    try:
        store = SqlitePreviews(settings.data, RENDERING)
    except StorageError as error:
        structlog.get_logger("ibi.previews").error("no previews are rendered", reason=str(error))
        return None
    opened.callback(store.close)
    return store
