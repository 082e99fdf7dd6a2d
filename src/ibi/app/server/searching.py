"""Opens the search of a server's Archive, its collections, the text of files and previews."""

from __future__ import annotations

from typing import NamedTuple

import structlog

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.collections.service import Collections
from ibi.collections.serving import serve_collections
from ibi.collections.store import SqliteCollections
from ibi.items.rules.markdown_preview import RENDERING
from ibi.items.service.full_text import FullTextSearch, FullTextWorker
from ibi.items.service.previews import MarkdownPreviews
from ibi.items.service.searching import Searching
from ibi.items.store.catalogue.previews import SqlitePreviews
from ibi.items.store.catalogue.texts import SqliteTexts
from ibi.items.store.text_process import TextProcess
from ibi.reading.serving.searching import serve_search, serve_texts
from ibi.settings import Settings
from ibi.standard.storage_errors import StorageError
from ibi.web.authentication import Callers
from ibi.web.opened import Opened

_LOCK = "texts.lock"
"""The lock of the one process of a data directory that extracts texts."""


class OpenSearch(NamedTuple):
    """The search of an Archive."""

    searching: Searching
    texts: FullTextSearch | None
    """Finds words in the text of files."""
    opened: tuple[Opened, ...]


def open_search(server: ServerContext, archive: OpenArchive) -> OpenSearch:
    searching = Searching(archive.store.search, archive.store.catalog.recent_version)
    server.opened.callback(searching.close)
    texts = _open_texts(server, archive)
    worker = None if texts is None else _open_worker(server, archive)
    opened = [serve_search(archive.site, searching, texts), *([] if worker is None else [serve_texts(worker)])]
    return OpenSearch(searching, texts, tuple(opened))


def open_collections(
    server: ServerContext, archive: OpenArchive, callers: Callers, searching: Searching
) -> tuple[Collections, Opened]:
    store = SqliteCollections(server.settings.data)
    server.opened.callback(store.close)
    catalog = archive.store.catalog
    collections = Collections(store, catalog, server.clocks, searching=searching, audit=server.audit)
    return collections, serve_collections(callers, collections)


def _open_texts(server: ServerContext, archive: OpenArchive) -> FullTextSearch | None:
    """Open the full-text search. It never prevents a start."""
    if not server.settings.archive.full_text:
        return None
    try:
        index = SqliteTexts(server.settings.data)
    except StorageError as error:
        structlog.get_logger("ibi.texts").error("the text of files is not searched", reason=str(error))
        return None
    server.opened.callback(index.close)
    return FullTextSearch(archive.store.catalog, index, lambda: server.clocks.read().wall)


def _open_worker(server: ServerContext, archive: OpenArchive) -> FullTextWorker | None:
    """Return the worker that extracts the text of files, if the kernel can confine it."""
    process = _text_process(server.settings)
    if not process.is_on:
        structlog.get_logger("ibi.texts").warning(
            "files are not read for their text: this kernel offers neither Landlock nor seccomp to confine the process"
        )
        return None
    index, store = SqliteTexts(server.settings.data), archive.store
    server.opened.callback(index.close)
    previews = _open_preview_store(server)
    return FullTextWorker(
        store.catalog, store.changes, store.content, index, process, hold=server.hold(_LOCK), previews=previews
    )


def open_previews(server: ServerContext) -> MarkdownPreviews | None:
    """Open the previews, which are rendered on demand. They never prevent a start."""
    store = _open_preview_store(server)
    if store is None:
        return None
    previews = MarkdownPreviews(store, _text_process(server.settings))
    server.opened.callback(previews.stop)
    return previews


def _open_preview_store(server: ServerContext) -> SqlitePreviews | None:
    try:
        store = SqlitePreviews(server.settings.data, RENDERING)
    except StorageError as error:
        structlog.get_logger("ibi.previews").error("no previews are rendered", reason=str(error))
        return None
    server.opened.callback(store.close)
    return store


def _text_process(settings: Settings) -> TextProcess:
    return TextProcess(unconfined=settings.archive.extract_unconfined is True)
