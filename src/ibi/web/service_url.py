"""Where a Web service is: of one that is not for everybody, told only to those whom it is for.

Files are kept from others where they are fetched. A service is elsewhere, and whoever knows its URL is there: so the
URL itself is kept from them.
"""

from __future__ import annotations

from ibi.model.item import Item
from ibi.web.archive_site import ArchiveSite


def told_url(site: ArchiveSite, item: Item) -> str | None:
    """The URL of the service, if it is nobody's secret; None for an item that is none, too."""
    is_restricted = bool(item.visibility.networks) or item.visibility.is_embargoed(site.now)
    return None if is_restricted else item.target_url


def target_place(site: ArchiveSite, item: Item) -> str:
    """The address from which a reader is sent on to what they may see."""
    return f"{site.content_url}/col/{item.rep.spelling}/doc/"
