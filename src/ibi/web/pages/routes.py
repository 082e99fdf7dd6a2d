"""Which pages there are, the home page, and what all of them need to know of the server."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.model.search import Order, SearchQuery
from ibi.services.items.searching import Searching
from ibi.services.sites import ArchiveSite
from ibi.web.pages.explain_page import ExplainPage, LinkResolver
from ibi.web.pages.item_words import ItemListing
from ibi.web.pages.language import choose_language
from ibi.web.pages.rendering import SESSIONS, SITE, SiteFacts, render, static_file
from ibi.web.pages.search_page import FeedPage, SearchPages
from ibi.web.pages.sessions import Sessions

RECENT: Final = 8
"""Newest items that are shown."""


class HomePage:
    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    async def get(self, request: Request) -> Response:
        newest = await self._searching.search(SearchQuery(order=Order.NEWEST, size=RECENT))
        return render(request.scope, "home.html", recent=newest.items, listed=ItemListing(self._site))


class KnownSite:
    """Pure ASGI around all pages. Who is signed in is looked up only when a page is made, unless the store is slow."""

    def __init__(self, app: ASGIApp, facts: SiteFacts, sessions: Sessions | None = None) -> None:
        self._app, self._facts, self._sessions = app, facts, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault(SITE, self._facts)
        scope[SESSIONS] = self._sessions
        if self._sessions is not None:
            await self._sessions.look_up(scope)
        await self._app(scope, receive, send)


def common_routes() -> list[Route]:
    """Routes that every page needs, whichever services there are."""
    return [
        Route("/static/{name}", static_file),
        Route("/language/{tag}", choose_language),
    ]


def page_routes(archive: ArchiveSite | None, resolver: LinkResolver | None = None, public_url: str = "") -> list[Route]:
    """Routes of the pages: search needs an Archive, traces need a resolver.

    `public_url` is that of the resolver; without one, links begin as those of the Archive do.
    """
    base = public_url or ("" if archive is None else archive.public_url)
    routes = [*common_routes(), Route("/explain", ExplainPage(base, archive, resolver).get)]
    if archive is not None and archive.search is not None:
        routes += [
            Route("/", HomePage(archive, archive.search).get),
            Route("/search", SearchPages(archive, archive.search).get),
            Route("/search.atom", FeedPage(archive, archive.search).get),
        ]
    return routes
