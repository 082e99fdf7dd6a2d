"""Collections: named sets of items, over the API and on pages."""

from __future__ import annotations

from ibi.collections.api import CollectionEndpoints
from ibi.collections.pages import CollectionPages
from ibi.collections.service import Collections
from ibi.web.authentication import Callers
from ibi.web.opened import Opened
from ibi.web.reader import message
from ibi.web.rendering import MenuLink


def serve_collections(callers: Callers, collections: Collections) -> Opened:
    return Opened(
        routes=[
            *CollectionEndpoints(callers, collections).routes(),
            *CollectionPages(callers.site, collections).routes(),
        ],
        menu=[MenuLink("/collections", message("Collections"))],
    )
