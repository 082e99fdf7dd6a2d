"""Minting: labels over HTTP, and the identity of the minter."""

from __future__ import annotations

from starlette.routing import Route

from ibi.minting.api import Labels
from ibi.minting.service.queue import MintQueue
from ibi.web.opened import Opened, WebContext
from ibi.web.status import IdentityPage


def serve_minting(context: WebContext, queue: MintQueue) -> Opened:
    queue.watch(context.metrics.count_group)
    labels = Labels(queue, context.authentication, context.metrics)
    return Opened(
        routes=[
            Route("/api/labels", labels, methods=["POST"]),
            Route("/api/identity", IdentityPage(queue, context.readiness).get),
        ],
        jobs=queue.jobs(),
        api_part="minting",
    )
