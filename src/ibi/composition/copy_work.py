"""Builds the jobs of a server that make Copies, and what finds the Archives to take them from."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

import structlog

from ibi.composition.copies import asking_resolver, copying_here
from ibi.config import Settings
from ibi.label import Label
from ibi.model.membership import ArchiveRecord
from ibi.persistent_url import PersistentUrl
from ibi.ports.clocks import Clocks
from ibi.ports.copies import NoSource
from ibi.ports.errors import StorageError
from ibi.resolver.outcome import Redirect
from ibi.services.copies.jobs import CopyWork
from ibi.services.items.item_repository import ItemRepository
from ibi.services.sites import ResolverSite
from ibi.storage.copy_parts import CopyParts
from ibi.storage.sqlite.copy_jobs import SqliteCopyJobs
from ibi.web.pages.language import translations
from ibi.web.resolver.alerts import alert_about

_PATIENCE: Final = 30.0
"""Seconds for one look-up by the resolver of the same server."""


class SourceFinder:
    """Finds holders of Originals for a server: by its own resolver, once that is there, or by the one of the settings.

    Called from threads; the resolver's work is done on the server's event loop.
    """

    def __init__(self, settings: Settings) -> None:
        self._elsewhere = None if settings.resolver is None else asking_resolver(settings.resolver)
        self._resolver: ResolverSite | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def use(self, resolver: ResolverSite | None) -> None:
        self._resolver = resolver

    def note_loop(self) -> None:
        """To be called on the event loop of the server."""
        self._loop = asyncio.get_running_loop()

    def __call__(self, label: Label) -> str:
        if self._resolver is not None and self._loop is not None:
            return self._ask_here(self._resolver, label, self._loop)
        if self._elsewhere is None:
            raise NoSource(label=str(label), reason="no resolver is known here")
        return self._elsewhere(label)

    @staticmethod
    def _ask_here(resolver: ResolverSite, label: Label, loop: asyncio.AbstractEventLoop) -> str:
        url = PersistentUrl(label, required_original=True)
        asked = resolver.resolving.resolve(url, (IPv4Address("127.0.0.1"),), base=resolver.base, fresh=True)
        try:
            resolved = asyncio.run_coroutine_threadsafe(asked, loop).result(_PATIENCE)
        except TimeoutError:
            raise NoSource(label=str(label), reason="the resolver took too long") from None
        if not isinstance(resolved.outcome, Redirect):
            alert = alert_about(resolved.outcome, url, translations("en"))
            raise NoSource(label=str(label), reason=alert.said.rstrip("."))
        archive = resolved.outcome.archive
        return f"{archive.protocol.scheme}://{archive.address}"


def open_copy_work(
    settings: Settings,
    store: ItemRepository,
    record: ArchiveRecord,
    clocks: Clocks,
    own: frozenset[tuple[str, int]],
    finder: SourceFinder,
    opened: ExitStack,
) -> CopyWork:
    """The jobs of a server, which is at the addresses `own`; what is opened is closed with `opened`."""
    log = structlog.get_logger("ibi.copies")

    def set_aside(error: StorageError, aside: Path | None) -> None:
        log.warning("the jobs of Copies are lost", reason=str(error), name=aside and aside.name)

    jobs = SqliteCopyJobs(settings.data, set_aside)
    opened.callback(jobs.close)
    copying = copying_here(settings, store, record, clocks, own=own, find_source=finder)
    return CopyWork(jobs, copying, CopyParts(settings.data), on_start=finder.note_loop)
