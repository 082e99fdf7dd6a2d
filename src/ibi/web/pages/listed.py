"""Facts that a list of items shows of each."""

from __future__ import annotations

from ibi.model.item import Item
from ibi.services.archive_site import ArchiveSite
from ibi.web.http.text import shown_title
from ibi.web.pages.item_words import KINDS
from ibi.web.pages.translation import message


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
