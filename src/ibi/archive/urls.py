"""Our own URLs: bytes at `/col/<rep>/doc/<path>`, the item's page at `/col/<rep>/metadata`.

They have the repository name as it is stored, and stay what they are for ever: a page may link to its neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibi.model.item import Item
from ibi.pairs import percent_encoded

__all__ = ["ArchiveUrls", "encoded_path"]

# RFC 3986 §3.3: pchar, without & + = which mean something in the protocol's own queries (R Table 6.1)
_NOT_IN_PATH = re.compile(r"[^A-Za-z0-9\-._~/!$'()*,;:@]+")


def encoded_path(path: str) -> str:
    """A decoded path as it stands in a URL: UTF-8, percent-encoded once (E33)."""
    return _NOT_IN_PATH.sub(lambda strange: percent_encoded(strange[0]), path)


@dataclass(frozen=True, slots=True)
class ArchiveUrls:
    """The URLs of items below two bases without a slash at the end; both may be the same."""

    public_url: str
    content_url: str

    def file(self, item: Item, path: str) -> str:
        return f"{self.content_url}/col/{item.rep.spelling}/doc/{encoded_path(path)}"

    def metadata(self, item: Item, own: Item | None, metadata_format: str | None) -> str:
        if metadata_format is not None:
            return f"{self.public_url}/col/{item.rep.spelling}/metadata?format={metadata_format}"
        if own is not None and own.target is not None:
            return self.file(own, own.target)
        return (own and own.target_url) or f"{self.public_url}/col/{item.rep.spelling}/metadata"

    def file_list(self, item: Item) -> str:
        return f"{self.public_url}/col/{item.rep.spelling}/doc/?list"
