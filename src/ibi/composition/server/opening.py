"""Opens the server of a data directory: its stores, what its capabilities share, and then these."""

from __future__ import annotations

from contextlib import ExitStack
from socket import socket

from ibi.composition.server.capabilities import OpenServer, open_capabilities
from ibi.composition.server.context import ServerContext
from ibi.composition.server.minting import open_minting
from ibi.composition.server.resolver import open_registry
from ibi.composition.server.stores import open_stores
from ibi.config import Settings
from ibi.services.jobs import JobRunner
from ibi.storage.failing_jobs import FailingJobsFile
from ibi.storage.machine import MachineClocks
from ibi.storage.worker_state import WorkerShare
from ibi.web.fast.server import url_of
from ibi.web.starting import StartingServer


def open_server(
    settings: Settings, listener: socket, share: WorkerShare, opened: ExitStack, *, demo: bool = False
) -> OpenServer:
    """Open the server of a data directory, which is closed with `opened`. `demo` adds sample items.

    Until it is open, another server answers on the `listener` that this one is starting.
    """
    clocks, public_url = MachineClocks(), (settings.public_url or url_of(listener)).rstrip("/")
    stores = open_stores(settings, clocks, share, opened)
    # Every check that can refuse a start comes before the Archive's own item is updated to its address.
    registry = open_registry(settings, public_url, opened)
    minting = None if stores.ticks is None else open_minting(settings, stores.ticks, clocks)
    server = ServerContext(
        settings=settings,
        public_url=public_url,
        listening_url=url_of(listener),
        listening=(str(listener.getsockname()[0]), int(listener.getsockname()[1])),
        clocks=clocks,
        share=share,
        is_sandbox=minting is not None and minting.minter.identity.sandbox,
        jobs=JobRunner(FailingJobsFile(settings.data)),
        people=stores.people,
        audit=stores.audit,
        opened=opened,
    )
    starting = StartingServer(listener)
    opened.callback(starting.stop)
    found = open_capabilities(server, stores, registry, minting, starting, demo=demo)
    starting.stop()
    return found
