"""Initialises an Archive: its own service becomes an item, and a record names that item.

The URL of that item is the Archive's address, and follows it when the Archive moves.
"""

from __future__ import annotations

from secrets import token_bytes
from typing import Final

from ibi.archive.related_items import find_forms
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Draft, Item
from ibi.model.item_json import decode_item
from ibi.model.membership import SECRET_BYTES, ArchiveRecord
from ibi.model.metadata import DescriptiveMetadata, ResourceType, Text
from ibi.ports.archive_state import ArchiveRecords
from ibi.services.items.deposits import Deposits
from ibi.services.items.item_object import ITEM, LOCAL
from ibi.services.items.item_repository import ItemRepository, name_of

_KEY: Final = "the service of this Archive"
_BEGAN, _MOVED = "The Archive began", "The Archive moved"


def begin_archive(deposits: Deposits, records: ArchiveRecords, public_url: str, title: str, who: str) -> ArchiveRecord:
    """The record of the Archive, which is made if there is none.

    The label is reserved with a key: after an interruption, or in two processes at once, it is still one item.
    """
    record = records.read()
    if record is not None:
        return record
    item: Item = deposits.deposit(service_draft(public_url, title), {}, who, _BEGAN, key=_KEY, transferable=False)
    records.write(ArchiveRecord(item.labels, token_bytes(SECRET_BYTES)))
    written = records.read()
    assert written is not None  # by this process, or by a quicker one
    return written


def follow_address(deposits: Deposits, kept: ItemRepository, service: LabelForms, public_url: str, who: str) -> bool:
    """Give the Archive's own item the present URL; return whether it had another.

    A URL that an administrator set by an update stays.
    """
    item, url = find_forms(kept.catalog, service), f"{public_url}/"
    if item is None or item.target_url in {None, url} or not _leads_where_we_said(kept, item):
        return False
    draft = Draft(
        labels=item.labels,
        metadata=item.metadata,
        language=item.language,
        target_url=url,
        visibility=item.visibility,
        alternates=item.alternates,
    )
    deposits.update(item.rep, draft, {}, who, _MOVED)
    return True


def _leads_where_we_said(kept: ItemRepository, item: Item) -> bool:
    """Whether the version that set the item's present URL was made by this module."""
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
    """The draft of a Web service at the Archive's address."""
    metadata = DescriptiveMetadata(title=(Text(title),), resource_type=ResourceType.SERVICE)
    return Draft(metadata=metadata, target_url=f"{public_url}/")
