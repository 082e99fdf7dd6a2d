"""Items in words: types, states, titles and short texts, for pages, lists and feeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ibi.model.item import Item
from ibi.model.metadata import ResourceType
from ibi.safe_text import shorten
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.pages.language import message

ELEMENTS: Final[Mapping[str, str]] = {
    "contributor": message("Contributors"),
    "publisher": message("Publisher"),
    "date": message("Date"),
    "subject": message("Subjects"),
    "coverage": message("Coverage"),
    "language": message("Language of the text"),
    "type": message("Type"),
    "format": message("Format"),
    "source": message("Source"),
    "relation": message("Related to"),
    "rights": message("Rights"),
    "identifier": message("Other identifiers"),
}
"""Elements in the order of a page. Titles, creators and descriptions have places of their own there."""

KINDS: Final[Mapping[ResourceType, str]] = {
    ResourceType.COLLECTION: message("Collection"),
    ResourceType.DATASET: message("Dataset"),
    ResourceType.EVENT: message("Event"),
    ResourceType.IMAGE: message("Image"),
    ResourceType.INTERACTIVE_RESOURCE: message("Interactive resource"),
    ResourceType.MOVING_IMAGE: message("Moving image"),
    ResourceType.PHYSICAL_OBJECT: message("Physical object"),
    ResourceType.SERVICE: message("Service"),
    ResourceType.SOFTWARE: message("Software"),
    ResourceType.SOUND: message("Sound"),
    ResourceType.STILL_IMAGE: message("Still image"),
    ResourceType.TEXT: message("Text"),
}

STATES: Final[Mapping[State, str]] = {
    State.ORIGINAL: message("Original"),
    State.COPY: message("Copy"),
    State.DELETED: message("Deleted"),
}

STATE_MEANINGS: Final[Mapping[State, str]] = {
    State.ORIGINAL: message("This Archive keeps the Original and answers for it."),
    State.COPY: message("The Original is kept by another Archive; this is a copy of it."),
    State.DELETED: message("The Original was kept here and has been deleted."),
}


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


class ItemListing:
    """Used for one page. Words are English, to be translated where they are shown."""

    kinds = KINDS
    title = staticmethod(shown_title)

    def __init__(self, site: ArchiveSite) -> None:
        self.urls, self._now = site.urls, site.now

    def access(self, item: Item) -> str | None:
        """Why access to its content is restricted; None if it is open to all readers."""
        if item.visibility.is_embargoed(self._now):
            return message("Embargo")
        return message("Restricted access") if item.visibility.networks else None
