"""`/`: the home page, with the newest items."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.model.search import Order, SearchQuery
from ibi.services.archive_site import ArchiveSite
from ibi.services.items.searching import Searching
from ibi.web.pages.listed import ItemListing
from ibi.web.pages.rendering import render

RECENT: Final = 8
"""Newest items that are shown."""


class HomePage:
    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        newest = await self._searching.search(SearchQuery(order=Order.NEWEST, size=RECENT))
        return render(request.scope, "home.html", recent=newest.items, listed=ItemListing(self._site))
