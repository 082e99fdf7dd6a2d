"""Items as people name them to a command: by a label, or by a link that has one in it.

Short: every command that takes an item needs it, and most of them nothing else of each other.
"""

from __future__ import annotations

from ibi.errors import InvalidLabel, InvalidPersistentUrl
from ibi.label import Label, parse


def read_label(text: str) -> Label:
    """The label that `text` is, or that the persistent URL has which it is. What a link asks for beside the item, such
    as its last edition, is not followed: the command is about the item that is named."""
    try:
        return parse(text)
    except InvalidLabel as reason:
        from ibi.persistent_url import PersistentUrl

        try:
            label = PersistentUrl.parse(text).label
        except InvalidPersistentUrl:
            if "://" in text:
                raise
            raise reason from None
        if not label.is_dated:
            raise
        return label
