"""Builds what makes Copies of items of other Archives, for a server and for commands, from the settings."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path
from threading import Event
from typing import Final

import structlog

from ibi.archive.copies import CopyRules
from ibi.config import Settings
from ibi.errors import IbiError
from ibi.label import Label
from ibi.model.membership import ArchiveRecord
from ibi.persistent_url import PersistentUrl
from ibi.ports.clocks import Clocks
from ibi.ports.copies import FindSource, NoSource
from ibi.ports.errors import StorageError
from ibi.resolver.outcome import Redirect
from ibi.services.copies.copying import Copying
from ibi.services.copies.jobs import CopyWork
from ibi.services.items.item_repository import ItemRepository
from ibi.services.sites import ResolverSite
from ibi.storage.copy_parts import CopyParts
from ibi.storage.sqlite.copy_jobs import SqliteCopyJobs
from ibi.transport.item_source import HttpItemSources
from ibi.transport.resolver_clients import ResolverClient
from ibi.web.pages.language import translations
from ibi.web.resolver.alerts import alert_about

_PATIENCE: Final = 30.0
"""Seconds for one look-up by the resolver of the same server."""


def is_sandbox(settings: Settings, record: ArchiveRecord | None) -> bool:
    """Whether this Archive is for trying out. Where the settings have no identity, its own label tells."""
    identity = settings.identity()
    if identity is not None:
        return identity.sandbox
    return record is not None and not all(label.is_global for label in record.service.labels if label.is_dated)


def copy_rules(settings: Settings, record: ArchiveRecord | None) -> CopyRules:
    identity, archive = settings.identity(), settings.archive
    own = () if record is None else (label.prefix for label in record.service.labels if label.is_dated)
    return CopyRules(
        largest=archive.largest_deposit,
        quota=settings.copies.quota,
        reserve=archive.disk_reserve,
        is_sandbox=is_sandbox(settings, record),
        prefixes=frozenset({*own, *(() if identity is None else identity.prefixes)}),
    )


def copying_here(
    settings: Settings,
    store: ItemRepository,
    record: ArchiveRecord | None,
    clocks: Clocks,
    *,
    own: frozenset[tuple[str, int]] | None = None,
    find_source: FindSource | None = None,
    stopping: Event | None = None,
) -> Copying:
    """What makes Copies in this Archive. `own` is where the server listens that works for others; without it, every
    address is asked that is named: for commands. Without `find_source` the resolver of the settings is asked."""
    rules = copy_rules(settings, record)
    sources = HttpItemSources(own, settings.copies.networks or (), is_sandbox=rules.is_sandbox)
    if find_source is None and settings.resolver is not None:
        find_source = asking_resolver(settings.resolver)
    return Copying(store, sources, CopyParts(settings.data), clocks, rules, find_source=find_source, stopping=stopping)


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


def asking_resolver(resolver: str) -> FindSource:
    """Finds the holder of an Original by a resolver elsewhere."""
    client = ResolverClient(resolver)

    def find(label: Label) -> str:
        try:
            found = client.record(PersistentUrl(label, required_original=True))
        except IbiError as error:
            raise NoSource(label=str(label), reason=str(error).rstrip(".")) from error
        return source_in(found, label)

    return find


def source_in(found: object, label: Label) -> str:
    """The address of the Archive in the record of a resolution."""
    url = found.get("archive_url") if isinstance(found, dict) else None
    if not isinstance(url, str):
        raise NoSource(label=str(label), reason="the resolver does not say which Archive has it")
    return url


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
