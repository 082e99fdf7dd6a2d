"""A deposit that comes again with the key of an earlier one: the same item, if it is the same content.

What a key stands for is the first version of the item's object. No later change touches it, and it is on the disk for
as long as the item: nothing else has to be written with a key, and nothing can be lost of it.

Short: one question, which every deposit with a key asks that was known before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ibi.archive.errors import KeyReused
from ibi.model.errors import InvalidDocument
from ibi.model.item import Item, name_one_item
from ibi.model.item_json import decode_item, item_document
from ibi.ports.content import ContentDamaged, ContentMissing, FileMissing
from ibi.services.items.item_object import ITEM, LOCAL
from ibi.services.items.item_repository import ItemRepository, name_of

_SAID: Final = ("metadata", "language", "target_url", "visibility", "alternates")
_NAMED: Final = ("edition_of", "translation_of", "describes")


def require_same(kept: ItemRepository, known: Item, wanted: Item, digests: Mapping[str, str | None]) -> None:
    """`KeyReused` if `known` was deposited as anything else than `wanted` is, whose files have these digests."""
    first = first_version(kept, name_of(known))
    if first is None or first.tombstone is not None:
        return  # it was purged since, or is damaged: what it was cannot be told, and it is the item of the key
    found = ", ".join(_differences(first, wanted, digests))
    if found:
        raise KeyReused(label=str(known.rep), differences=found)


def first_version(kept: ItemRepository, name: str) -> Item | None:
    """The item as it was deposited; None if that is not known any more."""
    try:
        with kept.open_record(name, ITEM, 1) as item, kept.open_record(name, LOCAL, 1) as local:
            return decode_item(item.read_all(), local.read_all())
    except (ContentMissing, ContentDamaged, FileMissing, InvalidDocument):
        return None


def _differences(first: Item, wanted: Item, digests: Mapping[str, str | None]) -> Iterator[str]:
    before, now = (item_document(item.without_files()) for item in (first, wanted))
    yield from (name for name in _SAID if before.get(name) != now.get(name))
    if first.target != wanted.target:
        yield "target"
    for name in _NAMED:
        one, other = getattr(first, name), getattr(wanted, name)
        if (one is None) is not (other is None) or (one is not None and not name_one_item(one, other)):
            yield name
    there = {file.path: file for file in first.files}
    coming = {file.path: file for file in wanted.files}
    if there.keys() != coming.keys() or any(
        file.media_type != there[path].media_type or digests.get(path) not in {None, there[path].sha512}
        for path, file in coming.items()
    ):
        yield "files"
