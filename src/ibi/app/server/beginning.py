"""Opens the store of a server's Archive, and begins an Archive that has no item of its own yet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import structlog

from ibi.app.demo.depositing import fill
from ibi.app.server.context import ServerContext
from ibi.archive.service.beginning import begin_archive, follow_address
from ibi.items.opening.archive_store import STORE, open_repaired
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.membership.model.membership import ArchiveRecord
from ibi.membership.store.archive_state import ArchiveRecordFile, ServedAddress
from ibi.minting.opening import LocalLabels, LocalMinter
from ibi.minting.rules.errors import AnotherInstance, ClockRefused, DoubtUnreadable
from ibi.people.ports import AuditLog
from ibi.settings import Settings
from ibi.standard.errors import IbiError
from ibi.standard.storage_errors import CatalogDamaged, StorageError, StoreIncomplete


class StoredArchive(NamedTuple):
    """The Archive in a data directory. It has its own item."""

    store: ArchiveStore
    record: ArchiveRecord
    minter: LocalMinter
    address: str
    """The address to which the Archive's own item leads."""
    is_new: bool


def open_archive_store(
    server: ServerContext, on_rebuild: Callable[[int | None], None], on_item: Callable[[], None]
) -> ArchiveStore:
    """Return the store of the data directory. A rebuild of the catalogue may take long: `on_rebuild` is called first
    with the number of items, if known, and `on_item` for each item."""
    log = structlog.get_logger("ibi.archive")
    store = server.opened.enter_context(_open_store(server.settings.data, on_rebuild, on_item, server.audit))
    for name, error in store.swept.unreadable:
        log.error("an item cannot be read", item=name, reason=str(error))
    if store.integrity is not None:
        store.integrity.ledger.damaged_items()  # opened before the event loop uses it
    return store


def begin_stored_archive(server: ServerContext, minter: LocalMinter, store: ArchiveStore) -> StoredArchive | None:
    """Return the Archive, which is begun if necessary.

    The Archive is None while no label can be minted and there is no Archive yet: its own item needs a label.
    """
    address = _claim_address(server.settings.data, server.public_url, server.opened)
    is_new = ArchiveRecordFile(server.settings.data).read() is None
    try:
        is_ours = address == server.public_url
        record = _record(server.settings, server.public_url, minter, store, is_ours=is_ours)
    except (ClockRefused, AnotherInstance, DoubtUnreadable) as refusal:
        structlog.get_logger("ibi.archive").error("no Archive is begun", reason=str(refusal))
        return None
    return StoredArchive(store, record, minter, address, is_new)


def _claim_address(data: Path, public_url: str, opened: ExitStack) -> str:
    """Return the address that the Archive's own item leads to: this one, unless another server of the directory runs.

    Otherwise two servers with different addresses would rewrite that item in turn, each at its start.
    """
    log = structlog.get_logger("ibi.archive")
    served = ServedAddress(data)
    try:
        address = served.claim(public_url)
    except StorageError as error:  # the server starts all the same
        log.error("it is not known whether another server has this Archive's address", reason=str(error))
        return public_url
    opened.callback(served.release)
    if address != public_url:
        log.warning(
            "another server runs on this data directory at another address; the item of this Archive stays there",
            url=address,
            here=public_url,
        )
    return address


def _open_store(
    data: Path, on_rebuild: Callable[[int | None], None], on_item: Callable[[], None], audit: AuditLog
) -> ArchiveStore:
    log = structlog.get_logger("ibi.archive")

    def begin_rebuild(expected: int | None) -> None:
        on_rebuild(expected)
        log.warning("the catalogue does not agree with the store, and is made anew from it", items=expected)

    def set_aside(error: CatalogDamaged, aside: Path | None) -> None:
        log.warning("the catalogue is set aside", reason=error.parameters["reason"], name=aside and aside.name)

    store = open_repaired(data, on_item=on_item, on_rebuild=begin_rebuild, on_aside=set_aside, audit=audit)
    if store.is_rebuilt:
        log.warning("the catalogue is made anew", items=store.swept.looked_at, unreadable=len(store.swept.unreadable))
    return store


def _record(
    settings: Settings, public_url: str, minter: LocalMinter, store: ArchiveStore, *, is_ours: bool
) -> ArchiveRecord:
    """Return the Archive's own record. Its item follows this server if the address of the Archive `is_ours`."""
    records = ArchiveRecordFile(settings.data)
    record = records.read()
    deposits = Deposits(store, LocalLabels(minter.mint, "archive"), minter.clocks)
    if record is None:
        now = minter.clocks.read().wall
        return begin_archive(
            deposits, store, records, now, public_url=public_url, title="Archive service", who="archive"
        )
    records.note()
    _check_service(settings.data, record, store)
    if not is_ours:
        return record
    log = structlog.get_logger("ibi.archive")
    try:
        if follow_address(deposits, store, record.service, public_url, "archive"):
            log.info("the item of this Archive follows it to its new address", url=public_url)
    except IbiError as error:  # the server starts all the same
        log.error("the item of this Archive does not follow it", url=public_url, reason=str(error))
    return record


def _check_service(data: Path, record: ArchiveRecord, store: ArchiveStore) -> None:
    """Raise `StoreIncomplete` if the Archive's own item is missing. It cannot be deleted, so the store is another one,
    or empty."""
    service = record.service.rep
    if service is not None and not store.holds(service):
        items = sum(1 for _ in store.content.iterate()) + 1
        raise StoreIncomplete(path=data / STORE, missing="at least 1", items=items, example=str(service))


def fill_with_demo(server: ServerContext, stored: StoredArchive) -> None:
    deposits = Deposits(stored.store, LocalLabels(stored.minter.mint, "demonstration"), server.clocks)
    fill(deposits, server.settings.data, server.public_url)
