"""Minting: labels over HTTP, and the identity of the minter."""

from __future__ import annotations

from starlette.routing import Route

from ibi.services.minting.mint_queue import MintQueue
from ibi.web.api.labels import Labels
from ibi.web.api.status import IdentityPage
from ibi.web.opened import Opened, WebContext


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
