"""Collections: named sets of items, over the API and on pages."""

from __future__ import annotations

from ibi.services.items.collections import Collections
from ibi.web.api.authentication import Callers
from ibi.web.api.collections import CollectionEndpoints
from ibi.web.opened import Opened
from ibi.web.pages.collection_pages import CollectionPages
from ibi.web.pages.reader import message
from ibi.web.pages.rendering import MenuLink


def serve_collections(callers: Callers, collections: Collections) -> Opened:
    return Opened(
        routes=[
            *CollectionEndpoints(callers, collections).routes(),
            *CollectionPages(callers.site, collections).routes(),
        ],
        menu=[MenuLink("/collections", message("Collections"))],
    )
