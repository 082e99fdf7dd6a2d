"""The beginning of an Archive: its own service becomes an item, and a record says which."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ibi.model.item import Draft, Item
from ibi.model.metadata import DescriptiveMetadata, ResourceType, Text
from ibi.services.deposits import Deposits
from ibi.storage.archive_record import ArchiveRecord, read_archive_record, write_archive_record

__all__ = ["begin_archive", "service_draft"]

_KEY: Final = "the service of this Archive"


def begin_archive(deposits: Deposits, data: Path, public_url: str, title: str, who: str) -> ArchiveRecord:
    """The record of the Archive in `data`, begun if there is none.

    The label is reserved with a key: if this is interrupted, or done twice at once, there is one item all the same.
    """
    record = read_archive_record(data)
    if record is not None:
        return record
    item: Item = deposits.deposit(
        service_draft(public_url, title), {}, who, "The Archive began", key=_KEY, transferable=False
    )
    write_archive_record(data, ArchiveRecord.new(item.labels))
    written = read_archive_record(data)
    assert written is not None  # by us, or by whoever was quicker
    return written


def service_draft(public_url: str, title: str) -> Draft:
    """A Web service, found where the Archive is."""
    metadata = DescriptiveMetadata(title=(Text(title),), resource_type=ResourceType.SERVICE)
    return Draft(metadata=metadata, target_url=f"{public_url}/")
