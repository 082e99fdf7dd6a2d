"""The resolver: its register, its figures, and the resolver that stands in for another one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ibi.jobs.runner import Job
from ibi.membership.model.membership import STANDING_IN
from ibi.membership.service.signers import OwnKeys
from ibi.minting.resources import ReadyNotice
from ibi.resolver.api.archives import resolver_routes
from ibi.resolver.api.endpoint import ResolverEndpoint
from ibi.resolver.api.register_statement import KeptRegisterPage
from ibi.resolver.api.resolver_metrics import DisputeMetrics, ResolverMetrics, StandbyMetrics
from ibi.resolver.service.standby import KeptRegister
from ibi.web.metrics import PolledFigures
from ibi.web.opened import Opened, WebContext
from ibi.web.readiness import ReadinessCheck
from ibi.web.sites import ResolverSite, StandbySite


def serve_resolver(context: WebContext, resolver: ResolverSite, jobs: Sequence[Job] = ()) -> Opened:
    """Return the pages and endpoints of a resolver, with those of its register, if it maintains one. `jobs` are those
    of its services."""
    figures: list[PolledFigures] = []
    if resolver.disputes is not None:
        figures.append(DisputeMetrics(context.metrics.registry, resolver.disputes))
    _count_resolutions(context, resolver)
    admin, kept = resolver.registrations, resolver.register
    return Opened(
        routes=resolver_routes(resolver, context.authentication),
        jobs=[*resolver.jobs(), *jobs],
        figures=figures,
        readiness=() if kept is None else [ReadinessCheck("kept register", kept.check)],
        services=() if admin is None else [ResolverEndpoint(admin, context.log, proxies=resolver.proxies)],
        ending=[resolver.resolving.misses.end],
        stop=[resolver.stop],
        api_part=None if admin is None else "register",
    )


def serve_standby(context: WebContext, standby: StandbySite, jobs: Sequence[Job] = ()) -> Opened:
    """Return the parts with which an Archive resolves links while its resolver is away."""
    figures = [StandbyMetrics(context.metrics.registry, standby.register)]
    _count_resolutions(context, standby.resolver)
    return Opened(
        jobs=[*standby.jobs(), *jobs],
        figures=figures,
        notices=[partial(_find_standing_notice, standby)],
        ending=[standby.resolver.resolving.misses.end],
        stop=[standby.stop],
    )


def _count_resolutions(context: WebContext, resolver: ResolverSite) -> None:
    counted = ResolverMetrics(context.metrics.registry)
    resolver.resolving.watch(counted)
    resolver.resolving.misses.watch(counted.on_held_back)
    resolver.acknowledgments.watch(counted.on_acknowledged)


async def _find_standing_notice(standby: StandbySite) -> ReadyNotice | None:
    standing = await standby.find_standing()
    if standing is None:
        return None
    detail = f"This Archive resolves links in the place of its resolver: {STANDING_IN[standing]}."
    return ReadyNotice("standing-in", standing.value, detail)


def serve_kept_register(register: KeptRegister | None, signing: OwnKeys | None) -> Opened:
    """Return the register of another resolver that this server keeps. `signing` are the keys of the Archive."""
    return Opened(routes=KeptRegisterPage(register, signing).routes())
