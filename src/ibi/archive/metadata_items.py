"""Metadata that is an item of its own: it says what it `describes`, and the item described says which it is.

A translation of a metadata item is metadata too, of the same item, which goes on naming the source alone: whoever wants
another language is led on from there (R Table 9.5, `.metadata.translation`).
"""

from __future__ import annotations

from dataclasses import replace

from ibi.archive.editions import find_forms
from ibi.archive.errors import DescribedMetadata, MetadataOfItself, MetadataOfMetadata, SecondMetadataItem
from ibi.archive.life_cycle import Act, require
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item, name_one_item
from ibi.ports.catalog import Catalog

__all__ = ["check_described", "described_by", "record_metadata_item", "withdraw_metadata_item"]


def described_by(catalog: Catalog, item: Item) -> LabelForms | None:
    """What `item` is the metadata of: by what it says itself, or by what the source says that it translates."""
    if item.describes is not None or item.translation_of is None:
        return item.describes
    source = find_forms(catalog, item.translation_of)
    return None if source is None else source.describes


def check_described(catalog: Catalog, described: LabelForms) -> None:
    """Refuse to describe what is itself metadata."""
    held = find_forms(catalog, described)
    if held is not None:
        _check_not_metadata(catalog, held)


def record_metadata_item(catalog: Catalog, item: Item, metadata: LabelForms) -> Item:
    """`item` with `metadata` as the IBI of its metadata; saying the same twice changes nothing."""
    require(item, Act.RELATE)
    known = item.metadata_item
    if known is not None and name_one_item(known, metadata):
        return item
    if name_one_item(item.labels, metadata):
        raise MetadataOfItself(label=str(item.rep))
    if known is not None:
        raise SecondMetadataItem(label=str(item.rep), taken=str(known.labels[0]))
    _check_not_metadata(catalog, item)
    held = find_forms(catalog, metadata)
    if held is not None and held.metadata_item is not None:
        raise DescribedMetadata(label=str(held.rep), metadata=str(held.metadata_item.labels[0]))
    return replace(item, metadata_item=metadata)


def withdraw_metadata_item(item: Item) -> Item:
    """`item` with metadata that has no IBI."""
    require(item, Act.RELATE)
    return replace(item, metadata_item=None)


def _check_not_metadata(catalog: Catalog, item: Item) -> None:
    described = described_by(catalog, item)
    if described is not None:
        raise MetadataOfMetadata(label=str(item.rep), described=str(described.labels[0]))
