"""Opens the jobs of a server that make Copies, and the finder of their sources."""

from __future__ import annotations

import asyncio
from typing import Final

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.copies.opening import asking_resolver, copying_here
from ibi.copies.ports import NoSource
from ibi.copies.service.jobs import CopyWork
from ibi.copies.serving import serve_copies
from ibi.copies.store.copy_jobs import SqliteCopyJobs
from ibi.copies.store.copy_parts import CopyParts
from ibi.resolver.api.alerts import alert_about
from ibi.resolver.rules.outcome import Redirect
from ibi.settings import Settings
from ibi.standard.label import Label
from ibi.standard.networks import NO_READER
from ibi.standard.persistent_url import PersistentUrl
from ibi.web.authentication import Callers
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import translations
from ibi.web.sites import ResolverSite

_PATIENCE: Final = 30.0
"""Seconds for one look-up by the resolver of the same server."""


class SourceFinder:
    """Finds holders of Originals for a server: by its own resolver, if there is one, else by the one of the settings.

    Call it from threads. The resolver runs on the server's event loop.
    """

    def __init__(self, settings: Settings, resolver: ResolverSite | None) -> None:
        self._elsewhere = None if settings.resolver is None else asking_resolver(settings.resolver)
        self._resolver = resolver
        self._loop: asyncio.AbstractEventLoop | None = None

    def note_loop(self) -> None:
        """Remember the event loop of the server; must be called on it."""
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
        asked = resolver.resolving.resolve(url, (NO_READER,), base=resolver.base, fresh=True)
        try:
            resolved = asyncio.run_coroutine_threadsafe(asked, loop).result(_PATIENCE)
        except TimeoutError:
            raise NoSource(label=str(label), reason="the resolver took too long") from None
        if not isinstance(resolved.outcome, Redirect):
            alert = alert_about(resolved.outcome, url, translations("en"))
            raise NoSource(label=str(label), reason=alert.said.rstrip("."))
        archive = resolved.outcome.archive
        return f"{archive.protocol.scheme}://{archive.address}"


def open_copies(
    server: ServerContext, web: WebContext, archive: OpenArchive, callers: Callers, finder: SourceFinder
) -> tuple[CopyWork, Opened]:
    """Return the copy jobs of a server. `finder` finds the Archives to take Copies from."""
    settings, own = server.settings, server.own_addresses
    jobs = SqliteCopyJobs(settings.data)
    server.opened.callback(jobs.close)
    copying = copying_here(settings, archive.store, archive.record, server.clocks, own=own, find_source=finder)
    work = CopyWork(jobs, copying, CopyParts(settings.data), on_start=finder.note_loop)
    return work, serve_copies(web, callers, work)
