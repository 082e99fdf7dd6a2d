"""The URLs that an Archive gives for its items, as a protocol."""

from __future__ import annotations

from typing import Protocol

from ibi.items.model.item import Item


class UrlBuilder(Protocol):
    """The URLs of one Archive, absolute and encoded. No look-up is needed: each follows from the item alone."""

    def file(self, item: Item, path: str) -> str:
        """Return the URL for the bytes of the file with that path."""

    def target(self, item: Item) -> str:
        """Return the URL that redirects readers to the page of the item, or to its main file."""

    def metadata(self, item: Item, own: Item | None, metadata_format: str | None) -> str:
        """Return the URL for the metadata of `item`, in any form if no format is named.

        `own` is the metadata's own item, if it has an IBI.
        """

    def file_list(self, item: Item) -> str:
        """Return the URL for the page that lists the files, or says that this is not permitted (R §9.2, note 2)."""
