"""The item that a person names on the command line: by a label, or by a link to it.

Short: every command that takes an item reads it here, so that all of them understand the same.
"""

from __future__ import annotations

from ibi.errors import InvalidLabel, InvalidPersistentUrl
from ibi.label import Label, parse

_ELSEWHERE = "it leads from the item to another, or to a part of it; if the item itself is meant, give {label}"


def read_label(text: str) -> Label:
    """The label in `text`, which is one or is a persistent URL with one. `InvalidLabel` or `InvalidPersistentUrl` if
    it is neither, or leads from the item to another or to a part of it: what is changed or shown is the item that is
    named, and none other."""
    try:
        return parse(text)
    except InvalidLabel as reason:
        from ibi.persistent_url import PersistentUrl

        try:
            link = PersistentUrl.parse(text)
        except InvalidPersistentUrl:
            if "://" in text:
                raise
            raise reason from None
        if link.relation.steps or link.file_path is not None or link.file_list:
            raise InvalidPersistentUrl(text, 0, _ELSEWHERE, label=str(link.label)) from None
        return link.label
