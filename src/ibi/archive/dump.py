"""The lines of a dump: every record of an Archive that everyone may see, as NDJSON.

The first line says where the dump stands: the epoch of the feed of changes, and the number after which its reader goes
on with the feed. A record that changed while the dump was written is in it as it was or as it became, or not at all:
its change has a later number, and comes with the feed.

Short: records are written as the store writes them; only which of them, and the first line, are decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ibi.instant import Instant
from ibi.model.change import FeedPosition, ItemChange
from ibi.model.item import Item
from ibi.model.item_json import file_document, item_document, local_document

FORMAT: Final = "ibi-dump-1"
_ADMINISTRATIVE: Final = frozenset({"schema", "source", "owner", "declined"})
_DIGESTS: Final = frozenset({"sha512", "crc32"})


def dump_head(position: FeedPosition) -> dict[str, Any]:
    """The first line."""
    return {
        "format": FORMAT,
        "epoch": position.epoch,
        "after": position.end,
        "date": str(Instant(position.second)),
    }


def dump_record(change: ItemChange, item: Item, now: Instant) -> dict[str, Any]:
    """The line of an item: its public record, and the last entry that it has in the feed."""
    entry = {
        "number": change.number,
        "at": change.at,
        "version": change.head,
        "listed": str(Instant(change.listed)),
    }
    return {**public_record(item, now), "change": entry}


def public_record(item: Item, now: Instant) -> Mapping[str, Any]:
    """What the API tells everyone of an item, without the links: it lacks the files if they may not be listed, the
    digests of restricted files, which let the content of short ones be guessed, and the URL of a restricted service."""
    shared = {name: value for name, value in item_document(item.without_files()).items() if name != "schema"}
    local = {name: value for name, value in local_document(item).items() if name not in _ADMINISTRATIVE}
    visibility = item.visibility
    if visibility.listing:
        hidden = frozenset[str]() if visibility.is_open_to((), now) else _DIGESTS
        shared["files"] = [
            {name: value for name, value in file_document(file).items() if name not in hidden} for file in item.files
        ]
        shared |= {} if item.target is None else {"target": item.target}
    if visibility.networks or visibility.is_embargoed(now):
        shared.pop("target_url", None)
    return {**shared, **local}
