"""Links and labels that people type."""

from __future__ import annotations

from ibi.standard.errors import InvalidLabel, InvalidPersistentUrl
from ibi.standard.label import parse_any
from ibi.standard.persistent_url import PersistentUrl


def parse_link(text: str) -> PersistentUrl:
    """Parse a link, or a label as the link to its item. The errors of any other text are those of a label."""
    try:
        return PersistentUrl(parse_any(text))
    except InvalidLabel as reason:
        try:
            return PersistentUrl.parse(text)
        except InvalidPersistentUrl as error:
            if "://" in text or error.offset > reason.offset:
                raise
            raise reason from None
