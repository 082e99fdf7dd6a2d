"""What a capability registers with its server, and what all capabilities of a server share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from starlette.routing import Route
from structlog.typing import FilteringBoundLogger

from ibi.jobs.runner import Job, JobRunner
from ibi.minting.resources import ReadyNotice
from ibi.people.ports import AuditLog
from ibi.server.fast_path import Service
from ibi.server.worker_state import WorkerShare
from ibi.standard.clock_reading import Clocks
from ibi.standard.networks import IpNetwork
from ibi.web.authentication import Authentication
from ibi.web.metrics import PolledFigures
from ibi.web.reader import Sessions
from ibi.web.readiness import Readiness
from ibi.web.rendering import MenuLink, SiteFacts
from ibi.web.request_middleware import Metrics

FindNotice: TypeAlias = Callable[[], Awaitable[ReadyNotice | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """The parts of a server that all its capabilities share."""

    clocks: Clocks
    log: FilteringBoundLogger
    metrics: Metrics
    jobs: JobRunner
    """Runs the jobs of all capabilities while the application runs."""
    readiness: Readiness
    authentication: Authentication
    """Recognises the tokens of programs."""
    sessions: Sessions | None
    """Recognises signed-in people; None if nobody can sign in."""
    audit: AuditLog | None
    proxies: tuple[IpNetwork, ...]
    """The networks that are trusted to name their client."""
    facts: SiteFacts
    """Facts for every page."""
    share: WorkerShare
    """The state shared with other processes of the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The parts that one capability registers with its server."""

    routes: Sequence[Route] = ()
    """Matched in this order, after those of all capabilities before it."""
    jobs: Sequence[Job] = ()
    figures: Sequence[PolledFigures] = ()
    """Metrics that are read from a store when `/metrics` is requested."""
    readiness: Sequence[Callable[[], None]] = ()
    """Checks that raise an error while the server cannot serve."""
    notices: Sequence[FindNotice] = ()
    """Return facts that an administrator should know about a server that is ready."""
    menu: Sequence[MenuLink] = ()
    services: Sequence[Service] = ()
    """Endpoints that take requests by their pairs, at any path."""
    ending: Sequence[Callable[[], object]] = ()
    """Called when the server begins to stop: they answer the requests that only wait."""
    handing_over: Sequence[Callable[[], object]] = ()
    """Called when another process is about to take the place of this one."""
    stop: Sequence[Callable[[], Awaitable[None]]] = ()
    """Called when the jobs have ended. The capabilities stop in reverse order."""
    api_part: str | None = None
    """The part of the description of the API that this capability serves."""
