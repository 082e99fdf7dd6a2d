"""The Archive: its answers to resolvers, its figures, its membership in a resolver, and the keys of this server."""

from __future__ import annotations

from functools import partial

from ibi.archive.api import ArchiveService
from ibi.jobs.promptness import beside
from ibi.membership.model.membership import Phase
from ibi.membership.service.membership import MembershipService
from ibi.membership.service.signers import OwnKeys
from ibi.minting.resources import ReadyNotice
from ibi.standard.messages.identification import LabelForms
from ibi.transfers.api import name_run
from ibi.web.authentication import Callers
from ibi.web.metrics import HoldingsMetrics, IntegrityMetrics, PolledFigures
from ibi.web.opened import Opened, WebContext
from ibi.web.sites import ItemServices, ResolverSite
from ibi.web.status import KeyPages, StandingPage


def serve_archive(
    context: WebContext, callers: Callers, services: ItemServices | None, membership: MembershipService | None
) -> Opened:
    """Return the Archive's answers to resolvers, its state, and the figures of what it holds."""
    site, drafts = callers.site, None if services is None else services.drafts
    registry = context.metrics.registry
    figures: list[PolledFigures] = [HoldingsMetrics(registry, site, membership, drafts)]
    if site.integrity is not None:
        figures.append(IntegrityMetrics(registry, site.integrity, holdings=site.catalog.holdings))
    return Opened(
        routes=StandingPage(callers, services).routes(),
        figures=figures,
        services=[ArchiveService(site, context.log)],
        api_part="archive",
    )


def serve_membership(membership: MembershipService) -> Opened:
    return Opened(
        jobs=membership.jobs(),
        notices=[partial(_find_membership_notice, membership)],
        ending=[membership.cease],
        handing_over=[membership.hand_over],
        stop=[membership.stop],
    )


async def _find_membership_notice(membership: MembershipService) -> ReadyNotice | None:
    found = await beside(membership.read)
    if found.phase not in {Phase.INCLUDING, Phase.EXCLUDING}:
        return None
    why = f": {found.reason}" if found.reason else ""
    detail = f"The resolver is not done {found.phase.value} this Archive{why}."
    return ReadyNotice("not-included", found.phase.value, detail)


def serve_keys(
    context: WebContext, archive: tuple[LabelForms, OwnKeys] | None, resolver: ResolverSite | None
) -> Opened:
    """Return the public keys of the Archive and of the resolver on this server."""
    return Opened(routes=KeyPages(archive, resolver, name_run(context.share.secret)).routes())
