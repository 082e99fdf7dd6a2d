"""Searching: the home page, the search pages with their exports, and the full text of files."""

from __future__ import annotations

from ibi.services.items.full_text import FullTextSearch, FullTextWorker
from ibi.services.items.searching import Searching
from ibi.services.sites import ArchiveSite
from ibi.web.archive.search_export import SearchExports
from ibi.web.opened import Opened
from ibi.web.pages.reader import message
from ibi.web.pages.rendering import MenuLink
from ibi.web.pages.search_page import search_routes


def serve_search(site: ArchiveSite, searching: Searching, texts: FullTextSearch | None) -> Opened:
    """Return the search. `texts` finds words in the text of files."""
    return Opened(
        routes=[*SearchExports(site, searching).routes(), *search_routes(site, searching, texts)],
        menu=[MenuLink("/search", message("Browse"))],
    )


def serve_texts(worker: FullTextWorker) -> Opened:
    return Opened(jobs=worker.jobs())
