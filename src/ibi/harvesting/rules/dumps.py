"""The lines of a dump: the public record of every item, for readers that go on with the feed of changes."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from ibi.items.model.change import FeedPosition, ItemChange
from ibi.items.model.item import Item
from ibi.items.model.item_json import file_document, item_document, local_document
from ibi.standard.instant import Instant

FORMAT: Final = "ibi-dump-1"
_ADMINISTRATIVE: Final = frozenset({"schema", "source", "owner", "declined"})
_DIGESTS: Final = frozenset({"sha512", "crc32"})


def dump_head(position: FeedPosition) -> dict[str, Any]:
    """Return the first line of a dump. It names the epoch of the feed of changes, and the number after which the reader
    goes on with the feed.

    A record that changes while the dump is written appears in its old form, in its new form, or not at all. Its change
    has a later number and comes with the feed.
    """
    return {
        "format": FORMAT,
        "epoch": position.epoch,
        "after": position.end,
        "date": str(Instant(position.second)),
    }


def dump_record(change: ItemChange, item: Item, now: Instant) -> dict[str, Any]:
    """Return the line of an item: its public record, and its last entry in the feed."""
    entry = {
        "number": change.number,
        "at": change.at,
        "version": change.head,
        "listed": str(Instant(change.listed)),
    }
    return {**public_record(item, now), "change": entry}


def public_record(item: Item, now: Instant) -> Mapping[str, Any]:
    """Return the record that the API gives to everyone, without the links.

    It omits the files if they may not be listed, and the URL of a restricted service. It also omits the digests of
    restricted files: they would let readers guess the content of short files.
    """
    shared = _without({"schema"}, item_document(item.without_files()))
    local = _without(_ADMINISTRATIVE, local_document(item))
    is_open = item.visibility.is_open_to((), now)
    if item.visibility.listing:
        hidden = frozenset[str]() if is_open else _DIGESTS
        shared["files"] = [_without(hidden, file_document(file)) for file in item.files]
        shared |= {} if item.target is None else {"target": item.target}
    if not is_open:
        shared.pop("target_url", None)
    return {**shared, **local}


def _without(names: AbstractSet[str], document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}
