"""Metadata that is an item of its own: it says what it `describes`, and the item described says which it is."""

from __future__ import annotations

from dataclasses import replace

from ibi.archive.errors import SecondMetadataItem
from ibi.archive.life_cycle import Act, require
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item, name_one_item

__all__ = ["record_metadata_item", "withdraw_metadata_item"]


def record_metadata_item(item: Item, metadata: LabelForms) -> Item:
    """`item` with `metadata` as the IBI of its metadata; saying the same twice changes nothing."""
    require(item, Act.RELATE)
    known = item.metadata_item
    if known is not None and not name_one_item(known, metadata):
        raise SecondMetadataItem(label=str(item.rep), taken=str(known.labels[0]))
    return item if known is not None else replace(item, metadata_item=metadata)


def withdraw_metadata_item(item: Item) -> Item:
    """`item` with metadata that has no IBI."""
    require(item, Act.RELATE)
    return replace(item, metadata_item=None)
