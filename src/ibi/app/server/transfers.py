"""Opens the transfers of a server's Archive."""

from __future__ import annotations

from ibi.app.server.beginning import StoredArchive
from ibi.app.server.context import ServerContext
from ibi.copies.client.item_source import HttpItemSources
from ibi.copies.opening import copying_here
from ibi.transfers.opening.transfers import open_transfers, sandbox_check
from ibi.transfers.service.worker import TransferWorker


def open_server_transfers(server: ServerContext, stored: StoredArchive) -> TransferWorker:
    """Return the transfers of Originals from and to other Archives."""
    settings, store, record, own = server.settings, stored.store, stored.record, server.own_addresses
    is_sandbox = server.is_sandbox
    return open_transfers(
        settings,
        store,
        record.service,
        server.public_url,
        server.clocks,
        copying_here(settings, store, record, server.clocks, own=own),
        server.opened,
        check_source=sandbox_check(is_sandbox=is_sandbox),
        sources=HttpItemSources(own, settings.copies.networks or (), is_sandbox=is_sandbox),
        resolves=settings.resolve.enabled is not False,
        lost=store.is_rebuilt,
        is_new=stored.is_new,
        share=server.share,
    )
