"""Copies: the jobs that make Copies of items elsewhere."""

from __future__ import annotations

from ibi.copies.api import CopyPages
from ibi.copies.pages import JobPages
from ibi.copies.service.jobs import CopyWork
from ibi.web.authentication import Callers
from ibi.web.opened import Opened, WebContext


def serve_copies(context: WebContext, callers: Callers, work: CopyWork | None) -> Opened:
    routes = CopyPages(callers, work).routes()
    if work is None:
        return Opened(routes=routes)
    if context.sessions is not None:
        routes += JobPages(work, context.sessions, callers.site).routes()
    return Opened(routes=routes, jobs=work.jobs())
