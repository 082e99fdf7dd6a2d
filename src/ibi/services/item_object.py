"""The object that keeps an item: its files, and beside them the two records that tell what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha512
from io import BytesIO
from typing import Final

from ibi.model.content import Bytes, KeptObject, Source, Stream
from ibi.model.item import Item
from ibi.model.item_json import encode_item, encode_local

__all__ = ["DOC", "ITEM", "LOCAL", "TRANSFERRED", "is_recorded", "is_transferred", "object_of"]

ITEM: Final = "item.json"
LOCAL: Final = "local.json"
TRANSFERRED: Final = "transferred.json"
"""All that a version has in which the item is not here any more, since its Original was given to another Archive."""
DOC: Final = "doc/"


def object_of(item: Item | Callable[[], Item], files: Mapping[str, Source]) -> dict[str, Source]:
    """The logical files of a version. The records come last: what they tell of the files may be known only then."""
    docs = {DOC + path: source for path, source in files.items()}
    if isinstance(item, Item):
        return {**docs, ITEM: Bytes(encode_item(item)), LOCAL: Bytes(encode_local(item))}
    return {**docs, ITEM: _late(lambda: encode_item(item())), LOCAL: _late(lambda: encode_local(item()))}


def is_recorded(item: Item, kept: KeptObject) -> bool:
    """Whether the object's records are those of `item`, told by their digests: nothing is read."""
    files = kept.head.files
    return files.get(LOCAL) == _digest(encode_local(item)) and files.get(ITEM) == _digest(encode_item(item))


def is_transferred(kept: KeptObject) -> bool:
    """Whether the object tells no more than where the item went."""
    return TRANSFERRED in kept.head.files


def _digest(record: bytes) -> str:
    return sha512(record).hexdigest()


def _late(record: Callable[[], bytes]) -> Stream:
    """Bytes that are asked for when their turn has come."""
    reader: list[BytesIO] = []

    def read(length: int) -> bytes:
        if not reader:
            reader.append(BytesIO(record()))
        return reader[0].read(length)

    return Stream(read)
