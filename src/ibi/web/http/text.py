"""Shortened texts of depositors for lists, feeds and pages: a description may have a million letters."""

from __future__ import annotations

from typing import Final

from ibi.model.item import Item
from ibi.safe_text import shorten

LONGEST: Final = 300
"""Characters of a title, a name or a subject in a list."""
_MOST_TITLES: Final = 100


def short(text: object, longest: int = LONGEST) -> str:
    """The text, or its beginning."""
    return shorten(str(text), longest)


def shown_title(item: Item, longest: int = LONGEST) -> str:
    """The first title in the item's own language, or else the first, or else its name."""
    titles = item.metadata.title[:_MOST_TITLES]
    own = (text for text in titles if item.language is not None and text.language == item.language)
    return short(next(own, titles[0] if titles else item.rep), longest)
