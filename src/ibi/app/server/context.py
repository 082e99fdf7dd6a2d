"""What every capability of a server is opened with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from ibi.jobs.runner import JobRunner
from ibi.net.address_guard import AddressGuard
from ibi.people.store.audit_log import FileAuditLog
from ibi.people.store.people import SqlitePeople
from ibi.server.worker_state import WorkerShare
from ibi.settings import Settings
from ibi.standard.origin import Origin
from ibi.storage.locks import WorkerLock
from ibi.storage.machine import MachineClocks


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContext:
    """The parts of a server that all its capabilities share."""

    settings: Settings
    public_url: str
    listening_url: str
    listening: tuple[str, int]
    clocks: MachineClocks
    share: WorkerShare
    """The state shared with other processes of the server."""
    is_sandbox: bool
    """True if labels from here are for trying out."""
    jobs: JobRunner
    people: SqlitePeople
    audit: FileAuditLog
    opened: ExitStack
    """Closes what the capabilities open."""

    @property
    def own_addresses(self) -> frozenset[tuple[str, int]]:
        """The addresses of this server. It never asks them for items."""
        return frozenset(map(host_and_port, (self.public_url, self.listening_url)))

    def guard(self) -> AddressGuard:
        """Return a guard against addresses that a server must not ask, among them its own."""
        return AddressGuard(frozenset({self.listening, host_and_port(self.public_url)}))

    def hold(self, lock: str) -> Callable[[], bool]:
        """Return a function that takes a lock of the data directory, for a job that one process of several does."""
        return WorkerLock(self.settings.data / lock).hold


def host_and_port(url: str) -> tuple[str, int]:
    origin = Origin.of_url(url)
    return origin.host, origin.effective_port
