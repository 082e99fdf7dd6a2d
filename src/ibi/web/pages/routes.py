"""The routes of all pages."""

from __future__ import annotations

from starlette.routing import Route

from ibi.services.archive_site import ArchiveSite
from ibi.web.pages.explain_page import ExplainPage, LinkResolver
from ibi.web.pages.feed_page import FeedPage
from ibi.web.pages.home_page import HomePage
from ibi.web.pages.language_choice import choose_language
from ibi.web.pages.search_page import SearchPages
from ibi.web.pages.static import static_file


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
