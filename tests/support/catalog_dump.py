"""Everything that a catalogue says, as text: two catalogues say the same if their dumps are equal."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ibi.items.model.item import Item
from ibi.items.model.item_json import item_document, local_document
from ibi.items.ports.catalog import Catalog


def dump(catalog: Catalog) -> Iterator[bytes]:
    """A line of JSON for each item in the order of repository names, its fields in the order of theirs."""
    return map(_line, catalog.items())


def _line(item: Item) -> bytes:
    document = {"item": item_document(item), "local": local_document(item)}
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode() + b"\n"
