"""Searching: the home page, the search pages with their exports, and the full text of files."""

from __future__ import annotations

from ibi.items.pages.search_page import search_routes
from ibi.items.service.full_text import FullTextSearch, FullTextWorker
from ibi.items.service.searching import Searching
from ibi.reading.delivery.search_export import SearchExports
from ibi.web.opened import Opened
from ibi.web.reader import message
from ibi.web.rendering import MenuLink
from ibi.web.sites import ArchiveSite


def serve_search(site: ArchiveSite, searching: Searching, texts: FullTextSearch | None) -> Opened:
    """Return the search. `texts` finds words in the text of files."""
    return Opened(
        routes=[*SearchExports(site, searching).routes(), *search_routes(site, searching, texts)],
        menu=[MenuLink("/search", message("Browse"))],
    )


def serve_texts(worker: FullTextWorker) -> Opened:
    return Opened(jobs=worker.jobs())
