"""Opens the small databases beside the store of an Archive: counts of use, reviews, requests of readers, collections.

One that is damaged, and holds nothing that cannot be lost, is set aside, so that it never prevents a start.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import structlog

from ibi.composition.minter import LocalMinter
from ibi.config import Settings
from ibi.ports.errors import StorageError
from ibi.services.items.archive_store import ArchiveStore
from ibi.services.items.collections import Collections
from ibi.services.items.searching import Searching
from ibi.storage.audit_log import FileAuditLog
from ibi.storage.sqlite.collections import SqliteCollections
from ibi.storage.sqlite.connection import REVIEWS
from ibi.storage.sqlite.requests import SqliteRequests
from ibi.storage.sqlite.reviews import SqliteReviews
from ibi.storage.sqlite.usage import SqliteUsageLog


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
    """What waits for review: also what waited when reviews were switched off."""
    if not settings.archive.review and not (settings.data / REVIEWS.file_name).exists():
        return None

    def set_aside(error: StorageError, aside: Path | None) -> None:
        reason = str(error.parameters.get("reason", error))
        structlog.get_logger("ibi.archive").error("reviews are begun anew", reason=reason, name=aside and aside.name)

    reviews = SqliteReviews(settings.data, on_damage=set_aside)
    opened.callback(reviews.close)
    return reviews


def open_requests(settings: Settings, opened: ExitStack) -> SqliteRequests:
    def set_aside(error: StorageError, aside: Path | None) -> None:
        reason = str(error.parameters.get("reason", error))
        structlog.get_logger("ibi.archive").error("requests are begun anew", reason=reason, name=aside and aside.name)

    requests = SqliteRequests(settings.data, on_damage=set_aside)
    opened.callback(requests.close)
    return requests


def open_collections(
    data: Path, store: ArchiveStore, minter: LocalMinter, searching: Searching, opened: ExitStack
) -> Collections:
    collections, audit = SqliteCollections(data), FileAuditLog(data)
    opened.callback(collections.close)
    opened.callback(audit.close)
    return Collections(collections, store.catalog, minter.clocks, searching=searching, audit=audit)
