"""Items: their endpoints, and the verification of their bytes."""

from __future__ import annotations

from ibi.copies.api import CopyPages
from ibi.copies.service.giving import ObjectGiving
from ibi.copies.service.jobs import CopyWork
from ibi.items.service.verification import VerificationSchedule
from ibi.minting.service.queue import MintQueue
from ibi.reading.api.item_search import ItemSearch
from ibi.reading.api.record_routes import record_routes
from ibi.transfers.api import TransferPages
from ibi.transfers.service.worker import TransferWorker
from ibi.web.authentication import Callers
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
