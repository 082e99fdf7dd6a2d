"""The routes of a resolver, beside the links themselves: its register, what it believes, and disputes.

Short: each part says what it does in its own module.
"""

from __future__ import annotations

from starlette.routing import Route

from ibi.services.sites import ResolverSite
from ibi.web.api.archives import ArchivePages
from ibi.web.api.authentication import Authentication
from ibi.web.api.disputes import DisputeEndpoints
from ibi.web.resolver.dispute_pages import DisputePages
from ibi.web.resolver.register_page import RegisterPages
from ibi.web.resolver.register_statement import RegisterStatementPage
from ibi.web.resolver.resolver_pages import ClaimPages


def resolver_routes(site: ResolverSite, authentication: Authentication) -> list[Route]:
    """Of the parts that the resolver has."""
    found: list[Route] = []
    if site.registrations is not None:
        found += ArchivePages(site.registrations, authentication).routes()
    if site.beliefs is not None:
        found += ClaimPages(site.beliefs).routes()
    if site.registrations is not None and site.report is not None:
        found += RegisterPages(site.registrations, site.report, site.disputes).routes()
    if site.disputes is not None:
        found += DisputePages(site.disputes).routes()
        found += DisputeEndpoints(site.disputes, authentication, site.resolving).routes()
    if site.publication is not None:
        found += RegisterStatementPage(site.publication).routes()
    return found
