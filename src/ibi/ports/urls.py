"""Where a reader finds what an Archive keeps."""

from __future__ import annotations

from typing import Protocol

from ibi.model.item import Item


class UrlBuilder(Protocol):
    """The URLs of one Archive, absolute and encoded. None of them is looked up: each follows from the item alone."""

    def file(self, item: Item, path: str) -> str:
        """The bytes of the file of that path."""

    def metadata(self, item: Item, own: Item | None, metadata_format: str | None) -> str:
        """The metadata of `item`, which is the item `own` if it has an IBI; in any form if no format is named."""

    def file_list(self, item: Item) -> str:
        """The page that lists the files, or says that this is not permitted (R §9.2, note 2)."""
