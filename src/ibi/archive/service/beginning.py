"""Initialises an Archive: its own service becomes an item, and a record names that item.

The URL of that item is the Archive's address, and follows it when the Archive moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from secrets import token_bytes
from typing import Final

from ibi.items.model.item import Description, Draft, Item
from ibi.items.model.item_json import decode_item
from ibi.items.model.metadata import DescriptiveMetadata, ResourceType, Text
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.rules.related_items import find_forms
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import ITEM, LOCAL, name_of
from ibi.membership.model.membership import SECRET_BYTES, ArchiveRecord
from ibi.membership.ports.archive_state import ArchiveRecords
from ibi.minting.ports import KEY_LIFETIME
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms

_KEY: Final = "the service of this Archive"
_BEGAN, _MOVED = "The Archive began", "The Archive moved"


class ArchiveRecordMissing(IbiError):
    """There is no archive.json, but the item of an Archive that was begun here: {label}. To start would begin another
    Archive. Put the file back from a backup; without one, `ibi archive init --recover={label}` writes it anew from that
    item."""

    code = "archive-record-missing"
    kind = ErrorKind.OUT_OF_ORDER


class NoArchiveItem(IbiError):
    """No item of this store is that of an Archive that was begun here{named}: put archive.json back from a backup."""

    code = "no-archive-item"
    kind = ErrorKind.OUT_OF_ORDER


class SeveralArchiveItems(IbiError):
    """Several Archives were begun in this store: {labels}. Say which one this is, with `--recover=LABEL`: the one that
    others know, which is the oldest as a rule."""

    code = "several-archive-items"
    kind = ErrorKind.OUT_OF_ORDER


def begin_archive(
    deposits: Deposits,
    kept: ItemRepository,
    records: ArchiveRecords,
    now: Instant,
    *,
    public_url: str,
    title: str,
    who: str,
) -> ArchiveRecord:
    """Return the record of the Archive. Make it if there is none; `ArchiveRecordMissing` if there was one.

    The label is reserved with a key: two processes at once still make one item. After an interruption, the item that is
    there becomes that of the Archive.
    """
    record = records.read()
    if record is not None:
        return record
    item = _begun_item(kept, now)
    if item is None:
        draft = service_draft(public_url, title)
        item = deposits.deposit(draft, {}, who, _BEGAN, key=_KEY, transferable=False)
    return _write_record(records, item)


def _begun_item(kept: ItemRepository, now: Instant) -> Item | None:
    """Return the item of an Archive if its beginning was interrupted before the record was written. An older item had a
    record, so its loss is an error."""
    found = list(archive_items(kept))
    if any(now.seconds - item.created.seconds > KEY_LIFETIME for item in found):
        raise ArchiveRecordMissing(label=str(found[0].rep))
    return found[0] if found else None


def recover_record(kept: ItemRepository, records: ArchiveRecords, label: Label | None) -> ArchiveRecord:
    """Write the record of an Archive anew, from the item that began it. The label chooses one of several. All URL keys
    that were given out become void."""
    found = [item for item in archive_items(kept) if label is None or label in item.labels.labels]
    if not found:
        raise NoArchiveItem(named="" if label is None else f" ({label})")
    if len(found) > 1:
        raise SeveralArchiveItems(labels=", ".join(str(item.rep) for item in found))
    return _write_record(records, found[0])


def archive_items(kept: ItemRepository) -> Iterator[Item]:
    """Return the items that began Archives in this store, the oldest first. There is one, unless its record was lost
    and another Archive begun."""
    candidates = (item for item in kept.catalog.items() if not item.transferable and item.target_url is not None)
    return iter(sorted((item for item in candidates if _began_here(kept, item)), key=lambda item: item.created))


def _began_here(kept: ItemRepository, item: Item) -> bool:
    try:
        return kept.content.read(name_of(item)).versions[0].change.message == _BEGAN
    except ContentDamaged:
        return False


def _write_record(records: ArchiveRecords, item: Item) -> ArchiveRecord:
    records.write(ArchiveRecord(item.labels, token_bytes(SECRET_BYTES)))
    written = records.read()
    assert written is not None  # by this process, or by a quicker one
    return written


def follow_address(deposits: Deposits, kept: ItemRepository, service: LabelForms, public_url: str, who: str) -> bool:
    """Give the Archive's own item the present URL. Return whether it had another.

    A URL that an administrator set by an update stays.
    """
    item, url = find_forms(kept.catalog, service), f"{public_url}/"
    if item is None or item.target_url in {None, url} or not _leads_where_we_said(kept, item):
        return False
    description = replace(item.description.without_relations(), target=None, target_url=url)
    draft = Draft(labels=item.labels, description=description)
    deposits.update(item.rep, draft, {}, who, _MOVED)
    return True


def _leads_where_we_said(kept: ItemRepository, item: Item) -> bool:
    """Return whether this module made the version that set the item's present URL."""
    name, message = name_of(item), ""
    for version in reversed(kept.content.read(name).versions):
        if _url_in(kept, name, version.number) != item.target_url:
            break
        message = version.change.message
    return message in {_BEGAN, _MOVED}


def _url_in(kept: ItemRepository, name: str, version: int) -> str | None:
    with kept.open_record(name, ITEM, version) as shared, kept.open_record(name, LOCAL, version) as local:
        return decode_item(shared.read_all(), local.read_all()).target_url


def service_draft(public_url: str, title: str) -> Draft:
    """Return the draft of a Web service at the Archive's address."""
    metadata = DescriptiveMetadata(title=(Text(title),), resource_type=ResourceType.SERVICE)
    return Draft(description=Description(metadata=metadata, target_url=f"{public_url}/"))
