"""Transfers of Originals between Archives, and the releases that an Archive or a resolver knows."""

from __future__ import annotations

from ibi.transfers.api import ReleasePages, TransferPages
from ibi.transfers.pages import TransfersPage
from ibi.transfers.service.release_register import ReleaseRegister
from ibi.transfers.service.worker import TransferWorker
from ibi.web.authentication import Callers
from ibi.web.opened import Opened, WebContext


def serve_transfers(context: WebContext, callers: Callers, transfers: TransferWorker) -> Opened:
    routes = TransferPages(callers, transfers).routes()
    if context.sessions is not None:
        routes += TransfersPage(transfers, context.sessions).routes()
    return Opened(routes=routes, jobs=transfers.jobs())


def serve_releases(context: WebContext, transfers: TransferWorker | None, register: ReleaseRegister | None) -> Opened:
    """Return the chains of releases that the Archive or the resolver of this server knows."""
    return Opened(routes=ReleasePages(transfers, register, context.share.secret).routes())
