"""Explaining: the page that takes a label apart, and the parts that every page needs."""

from __future__ import annotations

from starlette.routing import Route

from ibi.items.pages.search_page import common_routes
from ibi.reading.pages.explain_page import ExplainPage
from ibi.web.opened import Opened
from ibi.web.reader import message
from ibi.web.rendering import MenuLink
from ibi.web.sites import ArchiveSite, ResolverSite


def serve_explanations(archive: ArchiveSite | None, resolver: ResolverSite | None) -> Opened:
    """Return the page that explains a label. It traces links with the `resolver`."""
    base = resolver.public_url if resolver is not None else "" if archive is None else archive.public_url
    page = ExplainPage(base, archive, None if resolver is None else resolver.resolving)
    return Opened(
        routes=[*common_routes(), Route("/explain", page.get)], menu=[MenuLink("/explain", message("Explain"))]
    )
