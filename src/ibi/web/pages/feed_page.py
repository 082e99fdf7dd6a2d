"""`/search.atom`: the results of a search as a feed, for programs that look for new items."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from ibi.model.search import Order
from ibi.services.archive_site import ArchiveSite
from ibi.services.items.searching import Searching
from ibi.web.pages.atom import MEDIA_TYPE, Feed, atom
from ibi.web.pages.rendering import SITE, SiteFacts
from ibi.web.pages.search_address import feed_address, query_of, search_address


class FeedPage:
    """The feed of a search, newest first unless the address says otherwise."""

    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        asked = query_of(request.query_params)
        query = asked if "sort" in request.query_params else replace(asked, order=Order.NEWEST)
        found = await self._searching.search(query)
        site, facts = self._site, request.scope.get(SITE, SiteFacts())

        def page(number: int) -> str:
            return f"{site.public_url}{feed_address(replace(asked, page=number))}"

        feed = Feed(
            title=f"{facts.name}: {query.text}" if query.text else facts.name,
            own_url=page(query.page),
            page_url=f"{site.public_url}{search_address(asked)}",
            author=facts.name,
            previous_url=page(query.page - 1) if query.page > 1 else None,
            next_url=page(query.page + 1) if query.page * query.size < found.total else None,
        )
        body = atom(
            feed,
            found.items,
            site.now,
            lambda item: site.persistent_url(item.labels),
            lambda item: site.urls.metadata(item, None, None),
        )
        return Response(body, 200, {"cache-control": "public, max-age=300"}, MEDIA_TYPE)
