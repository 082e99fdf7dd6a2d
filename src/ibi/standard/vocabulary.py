"""Values of the standard for items, URLs and Archives, in messages and in the store."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """The state of an item in an Archive (R §5.2)."""

    ORIGINAL = "Original"
    COPY = "Copy"
    DELETED = "Deleted"


class ContentType(StrEnum):
    """The type of a URL's content (R Table 9.3)."""

    DATA = "Data"
    METADATA = "Metadata"


class ArchiveProtocol(StrEnum):
    """The protocol of an Archive (R Table 7.2); HTTPS is an extension (E22)."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"

    @property
    def scheme(self) -> str:
        return self.value.lower()
