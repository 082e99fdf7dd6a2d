"""The resolver that a server runs, or that a command uses, put together from the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from typing import Final

import structlog

from ibi.archive.profile import ArchiveProfile
from ibi.archive.url_key import UrlKeys
from ibi.archive.urls import ArchiveUrls
from ibi.cli.register import configured_mailer
from ibi.config import Settings
from ibi.messages.field import ArchiveProtocol
from ibi.ports.clocks import Clocks
from ibi.ports.registry import Registry
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.policy import Policy
from ibi.services.acknowledgments import Acknowledgments
from ibi.services.archive_directory import ArchiveDirectory
from ibi.services.archive_store import STORE, ArchiveStore
from ibi.services.registration_desk import RegistrationDesk
from ibi.services.resolving import ForeignUrls, Resolving
from ibi.storage.archive_record import read_archive_record
from ibi.storage.machine import MachineClocks
from ibi.storage.sqlite.registry import SqliteRegistry
from ibi.transport.address_guard import AddressGuard
from ibi.transport.archive_http import ArchiveHttp
from ibi.transport.archive_line import Budgets
from ibi.transport.gateways import Gateways
from ibi.transport.local_archive import LocalArchive
from ibi.web.archive_service import ArchiveService
from ibi.web.archive_site import ArchiveSite
from ibi.web.resolver_site import ResolverSite

__all__ = ["archive_budgets", "opened_registry", "opened_resolver_site", "opened_resolving", "resolves_here"]

_PORTS: Final = {"http": 80, "https": 443}


def resolves_here(settings: Settings, public_url: str) -> bool:
    """Whether persistent URLs are resolved by this server itself."""
    if settings.resolve.enabled is not None:
        return settings.resolve.enabled
    return settings.resolver is None or settings.resolver.lower() == public_url.lower()


def opened_registry(settings: Settings, public_url: str, opened: ExitStack) -> SqliteRegistry | None:
    """The register of a server that resolves, closed with `opened`; None if another resolves."""
    if not resolves_here(settings, public_url):
        return None
    registry = SqliteRegistry(settings.data)
    opened.callback(registry.close)
    return registry


def opened_resolver_site(
    settings: Settings,
    public_url: str,
    listening: tuple[str, int],
    archive: ArchiveSite | None,
    clocks: Clocks,
    registry: SqliteRegistry | None,
) -> ResolverSite | None:
    """The resolver of a server on its register; None without one."""
    if registry is None:
        return None
    gateway = _gateway(settings, archive, frozenset({listening, _host_and_port(public_url)}))
    return ResolverSite(
        resolving=_resolving(settings, registry, gateway, archive),
        acknowledgments=Acknowledgments(gateway, at_once=gateway.acknowledge_at_once),
        public_url=public_url,
        desk=RegistrationDesk(
            registry, gateway.confirm, clocks, resolver_url=public_url, mailer=configured_mailer(settings)
        ),
        proxies=settings.trusted_proxies or (),
        close=gateway.close,
    )


@asynccontextmanager
async def opened_resolving(settings: Settings) -> AsyncIterator[Resolving]:
    """For a command: asks the same Archives as a server on that data directory would, and thanks nobody."""
    async with AsyncExitStack() as opened:
        registry = SqliteRegistry(settings.data)
        opened.callback(registry.close)
        archive = _kept_archive(settings, opened)
        gateway = _gateway(settings, archive, frozenset())
        opened.push_async_callback(gateway.close)
        yield _resolving(settings, registry, gateway, archive)


def _resolving(settings: Settings, registry: Registry, gateway: Gateways, archive: ArchiveSite | None) -> Resolving:
    own = None if archive is None else _own_ref(archive)
    wanted, directory = settings.resolve, ArchiveDirectory(registry, own)
    return Resolving(
        directory,
        gateway,
        policy=Policy(hedge_delay=float(wanted.hedge_delay), budget=float(wanted.budget)),
        foreign_urls=ForeignUrls(wanted.foreign_urls),
        own=own,
        changes=None if archive is None else archive.changes,
        away=directory.away,
    )


def _gateway(settings: Settings, archive: ArchiveSite | None, own: frozenset[tuple[str, int]]) -> Gateways:
    local = []
    if archive is not None:
        service = ArchiveService(archive, structlog.get_logger("ibi.archive"))
        local.append(LocalArchive(archive.profile.service, service))
    return Gateways(local, ArchiveHttp(AddressGuard(own), budgets=archive_budgets(settings)))


def archive_budgets(settings: Settings) -> Budgets:
    """Whoever gives a resolution more time gives it to the Archives: a slow one is then still waited for."""
    usual = Budgets()
    wanted = settings.resolve
    total = max(usual.total, float(wanted.budget))
    return replace(usual, total=total, connections=wanted.connections_per_archive)


def _own_ref(archive: ArchiveSite) -> ArchiveRef:
    profile, scheme = archive.profile, archive.public_url.partition("://")[0]
    return ArchiveRef(profile.service, profile.address, ArchiveProtocol(scheme.upper()))


def _kept_archive(settings: Settings, opened: AsyncExitStack) -> ArchiveSite | None:
    """The Archive of the data directory as a server would serve it; None if nothing was deposited yet."""
    record = read_archive_record(settings.data)
    if record is None or not (settings.data / STORE).is_dir():
        return None
    store, public_url = opened.enter_context(ArchiveStore(settings.data)), settings.own_url
    content_url = settings.content_url or public_url
    address = public_url.partition("://")[2].partition("/")[0]
    return ArchiveSite(
        profile=ArchiveProfile(address, record.service, ArchiveUrls(public_url, content_url)),
        catalog=store.catalog,
        content=store.content,
        keys=UrlKeys(record.url_key_secret),
        clocks=MachineClocks(),
        public_url=public_url,
        content_url=content_url,
    )


def _host_and_port(url: str) -> tuple[str, int]:
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    host, colon, port = authority.rpartition(":")
    if colon and port.isdigit():
        return host, int(port)
    return authority, _PORTS[scheme.lower()]
