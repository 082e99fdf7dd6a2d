"""The Archive that a server serves, put together from the settings."""

from __future__ import annotations

from contextlib import ExitStack

import structlog

from ibi.archive.profile import ArchiveProfile
from ibi.archive.url_key import UrlKeys
from ibi.archive.urls import ArchiveUrls
from ibi.cli.minter import LocalMinter
from ibi.config import Settings
from ibi.minting.errors import ClockRefused
from ibi.services.archive_beginning import begin_archive
from ibi.services.archive_store import ArchiveStore
from ibi.services.deposits import Deposits
from ibi.services.label_reservation import LocalLabels
from ibi.services.robots import is_robot
from ibi.storage.archive_record import ArchiveRecord, read_archive_record
from ibi.storage.sqlite.usage import SqliteUsageLog
from ibi.web.archive_site import ArchiveSite

__all__ = ["USAGE", "opened_archive_site"]

USAGE = "usage.sqlite"
"""The counts of a data directory."""


def opened_archive_site(
    settings: Settings, listening_url: str, minter: LocalMinter, opened: ExitStack
) -> ArchiveSite | None:
    """The Archive of the data directory, begun if it is not; what it opens is closed with `opened`.

    None while the clock is refused and no Archive was begun before: its own service could get no label.
    """
    public_url = (settings.public_url or listening_url).rstrip("/")
    store = opened.enter_context(ArchiveStore(settings.data))
    log = structlog.get_logger("ibi.archive")
    for name, error in store.swept.unreadable:
        log.error("an item cannot be read", item=name, reason=str(error))
    try:
        record = _record(settings, public_url, minter, store)
    except ClockRefused as refusal:
        log.error("no Archive is begun", reason=str(refusal))
        return None
    usage = SqliteUsageLog(settings.data / USAGE)
    opened.callback(usage.close)
    address = public_url.partition("://")[2].partition("/")[0]
    return ArchiveSite(
        profile=ArchiveProfile(address, record.service, ArchiveUrls(public_url, public_url)),
        catalog=store.catalog,
        content=store.content,
        keys=UrlKeys(record.url_key_secret),
        clocks=minter.clocks,
        public_url=public_url,
        resolver=settings.resolver,
        changes=store.catalogue_version,
        usage=usage,
        is_robot=is_robot,
    )


def _record(settings: Settings, public_url: str, minter: LocalMinter, store: ArchiveStore) -> ArchiveRecord:
    record = read_archive_record(settings.data)
    if record is not None:
        return record
    deposits = Deposits(store, LocalLabels(minter.mint, "archive"), minter.clocks)
    return begin_archive(deposits, settings.data, public_url, "Archive service", "archive")
