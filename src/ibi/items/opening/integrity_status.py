"""Tells the state of a store for the status of its Archive."""

from __future__ import annotations

from collections.abc import Iterator

from ibi.items.service.archive_store import ArchiveStore
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StorageError


def integrity_status(store: ArchiveStore) -> Iterator[tuple[str, object]]:
    """Yield the damaged items and the times of verification, for the status."""
    integrity = store.integrity
    if integrity is None:
        return
    try:
        summary = integrity.summary().among(store.catalog.holdings().values())
    except StorageError as error:  # the rest of the status is still shown
        yield "damaged", [str(error)]
        return
    yield "damaged", sorted(integrity.ledger.damaged_items())
    yield "verified", summary.verified
    yield "never_verified", summary.never_verified
    yield "last_verification", None if summary.newest is None else str(Instant(summary.newest))
    yield "oldest_verification", None if summary.oldest is None else str(Instant(summary.oldest))
