"""Opens the server of a data directory: its stores, what its capabilities share, and then these."""

from __future__ import annotations

from contextlib import ExitStack
from socket import socket

from ibi.app.server.capabilities import OpenServer, open_capabilities
from ibi.app.server.context import ServerContext
from ibi.app.server.minting import open_minting
from ibi.app.server.resolver import open_registry
from ibi.app.server.stores import open_stores
from ibi.app.starting import StartingServer
from ibi.jobs.failing_jobs_file import FailingJobsFile
from ibi.jobs.runner import JobRunner
from ibi.server.server import url_of
from ibi.server.worker_state import WorkerShare
from ibi.settings import Settings
from ibi.storage.machine import MachineClocks


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
