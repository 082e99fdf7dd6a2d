"""Items: their endpoints, and the verification of their bytes."""

from __future__ import annotations

from ibi.services.copies.giving import ObjectGiving
from ibi.services.copies.jobs import CopyWork
from ibi.services.items.verification import VerificationSchedule
from ibi.services.minting.mint_queue import MintQueue
from ibi.services.transfers.worker import TransferWorker
from ibi.web.api.authentication import Callers
from ibi.web.api.copies import CopyPages
from ibi.web.api.item_search import ItemSearch
from ibi.web.api.record_routes import record_routes
from ibi.web.api.transfers import TransferPages
from ibi.web.opened import Opened, WebContext


def serve_items(
    context: WebContext,
    callers: Callers,
    queue: MintQueue,
    *,
    search: ItemSearch | None,
    giving: ObjectGiving,
    transfers: TransferWorker | None,
    copies: CopyWork | None,
) -> Opened:
    """Return the endpoints of items and of their drafts.

    `giving` gives whole items to other Archives, `transfers` tells how an Original moved, and `copies` drops Copies.
    """
    routes = record_routes(
        callers,
        queue,
        search=search,
        giving=giving,
        transfers=None if transfers is None else TransferPages(callers, transfers),
        copies=CopyPages(callers, copies),
        upload_refused=context.metrics.count_upload_refused,
    )
    return Opened(routes=routes)


def serve_verification(schedule: VerificationSchedule) -> Opened:
    return Opened(jobs=schedule.jobs())
