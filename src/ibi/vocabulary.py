"""Words of the standard that are values everywhere: of items, of URLs and of Archives, on the wire and in the store.

Short, because it is below everything that speaks of items.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """What an item is in an Archive (R §5.2)."""

    ORIGINAL = "Original"
    COPY = "Copy"
    DELETED = "Deleted"


class ContentType(StrEnum):
    """What a URL yields (R Table 9.3)."""

    DATA = "Data"
    METADATA = "Metadata"


class ArchiveProtocol(StrEnum):
    """How an Archive is spoken to (R Table 7.2); HTTPS is an extension (E22)."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"

    @property
    def scheme(self) -> str:
        return self.value.lower()
