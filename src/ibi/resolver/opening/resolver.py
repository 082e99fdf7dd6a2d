"""Builds the resolver of a command from the settings, and the parts that it shares with that of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from time import time

import structlog

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.archive.service.answers import ArchiveAnswers
from ibi.items.opening.archive_store import STORE, open_store
from ibi.membership.client.archive_connections import Budgets
from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.model.membership import ArchiveRecord
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.membership.store.registry import SqliteRegistry
from ibi.net.address_guard import AddressGuard
from ibi.net.own_address import find_own_address
from ibi.people.store.audit_log import FileAuditLog
from ibi.resolver.client.gateways import Gateways, LocalArchive
from ibi.resolver.opening.register import silent_log
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.policy import ClientAddress, Policy
from ibi.resolver.service.belief_report import BeliefReport, BeliefSource
from ibi.resolver.service.disputes import Disputes, DisputeSource, LocalDisputes
from ibi.resolver.service.resolution_runner import ArchiveDirectory, ForeignUrls
from ibi.resolver.service.resolver_service import ResolverService
from ibi.resolver.store.beliefs import SqliteBeliefs
from ibi.server.worker_state import ALONE, WorkerShare
from ibi.settings import Settings
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.label.grammar import FIRST_DATE
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.identification import LabelForms, UrlKeys
from ibi.standard.messages.values import IpAddress, ip_address
from ibi.standard.origin import Origin
from ibi.standard.vocabulary import ArchiveProtocol
from ibi.storage.machine import MachineClocks
from ibi.web.errors import log_untold


@asynccontextmanager
async def open_resolver_service(settings: Settings) -> AsyncIterator[ResolverService]:
    """Open the resolver of a command. It asks the same Archives as a server on that data directory, and sends no
    acknowledgments."""
    async with AsyncExitStack() as opened:
        registry = SqliteRegistry(settings.data)
        opened.callback(registry.close)
        beliefs = SqliteBeliefs(settings.data)
        opened.callback(beliefs.close)
        record = ArchiveRecordFile(settings.data).read()
        if record is None or not (settings.data / STORE).is_dir():  # nothing was deposited yet
            gateway, own = archive_gateway(settings, None, AddressGuard()), None
        else:
            answers = _stored_answers(settings, record, opened)
            gateway = archive_gateway(settings, (record.service, answers), AddressGuard())
            own = archive_ref(record.service, settings.own_url, settings)
        opened.push_async_callback(gateway.close)
        yield ResolverService(
            ArchiveDirectory(registry, own),
            gateway,
            policy=resolution_policy(settings),
            foreign_urls=ForeignUrls(settings.resolve.foreign_urls),
            own=own,
            memory=Memory(beliefs),
        )


def _stored_answers(settings: Settings, record: ArchiveRecord, opened: AsyncExitStack) -> ArchiveAnswers:
    """Return the answers of the Archive of the data directory, as a server would give them."""
    store, public_url = opened.enter_context(open_store(settings.data)), settings.own_url
    urls = ArchiveUrls(public_url, settings.content_url or public_url)
    profile = ArchiveProfile(Origin.of_url(public_url).authority, record.service, urls)
    return ArchiveAnswers(profile, store.catalog, UrlKeys(record.url_key_secret), MachineClocks())


@contextmanager
def open_disputes(settings: Settings, by: str) -> Iterator[DisputeSource]:
    """Open the disputes of the data directory's resolver, or of the server in the settings. `by` is the person who
    asks."""
    if settings.is_remote:
        from ibi.resolver.client.clients import DisputesClient

        yield DisputesClient(settings.server or "", None if settings.token is None else settings.token.reveal())
        return
    with ExitStack() as opened:
        registry, beliefs, own = _stored_beliefs(settings, opened)
        audit = FileAuditLog(settings.data)
        opened.callback(audit.close)
        yield LocalDisputes(Disputes(registry, beliefs, own, audit=audit, log=silent_log()), by)


def _stored_beliefs(settings: Settings, opened: ExitStack) -> tuple[SqliteRegistry, SqliteBeliefs, ArchiveRef | None]:
    registry = SqliteRegistry(settings.data)
    opened.callback(registry.close)
    beliefs = SqliteBeliefs(settings.data)
    opened.callback(beliefs.close)
    record = ArchiveRecordFile(settings.data).read()
    return registry, beliefs, None if record is None else archive_ref(record.service, settings.own_url, settings)


@contextmanager
def open_beliefs(settings: Settings) -> Iterator[BeliefSource]:
    """Open the beliefs of the data directory's resolver, or of the server in the settings."""
    if settings.is_remote:
        from ibi.resolver.client.clients import BeliefsClient

        yield BeliefsClient(settings.server or "", None if settings.token is None else settings.token.reveal())
        return
    with ExitStack() as opened:
        yield BeliefReport(*_stored_beliefs(settings, opened), time)


def resolution_policy(settings: Settings) -> Policy:
    wanted = settings.resolve
    return Policy(
        hedge_delay=float(wanted.hedge_delay),
        budget=float(wanted.budget),
        follow_unproven=wanted.unproven == "follow",
        client_address=ClientAddress(wanted.client_address),
    )


def archive_gateway(
    settings: Settings,
    own: tuple[LabelForms, ArchiveAnswers] | None,
    guard: AddressGuard,
    share: WorkerShare = ALONE,
) -> Gateways:
    """Return the gateway to Archives. The `own` one, by its service, is asked in this process."""
    local = []
    if own is not None:
        report = partial(log_untold, log=structlog.get_logger("ibi.archive"))
        local.append(LocalArchive(*own, report))
    budgets, address = archive_budgets(settings, share), _own_address(settings)
    return Gateways(local, ArchiveHttp(guard, budgets=budgets, own_address=address))


def _own_address(settings: Settings) -> IpAddress | None:
    """Return the address that Archives learn if there is no reader. None if they are to learn no address (E76)."""
    if settings.resolve.client_address == "none":
        return None
    known = settings.archive.ip or settings.mint.ip
    return find_own_address() if known is None else ip_address(known)


def archive_budgets(settings: Settings, share: WorkerShare = ALONE) -> Budgets:
    """Return the time budgets of Archives. They grow with the budget of a resolution, so that a longer one waits for a
    slow Archive."""
    usual = Budgets()
    wanted = settings.resolve
    total = max(usual.total, float(wanted.budget))
    return replace(usual, total=total, connections=share.divide(wanted.connections_per_archive))


def archive_ref(service: LabelForms, public_url: str, settings: Settings) -> ArchiveRef:
    """Return the server's own Archive. It counts as registered before all others, because its operator vouches for
    it."""
    origin = Origin.of_url(public_url)
    protocol, prefixes = ArchiveProtocol(origin.scheme.upper()), frozenset(_minted_prefixes(settings))
    return ArchiveRef(service, origin.authority, protocol, prefixes=prefixes, vouched=True)


def _minted_prefixes(settings: Settings) -> Iterator[str]:
    """Yield the prefixes of labels minted here. Their identity may differ from that of the Archive's own label."""
    minting, instant = settings.mint, Instant(FIRST_DATE)
    if minting.host is not None:
        yield home_prefix(RepositoryName.from_parts(minting.host, minting.host_port, instant))
    if minting.ip is not None:
        yield home_prefix(Ibip.from_parts(str(minting.ip), minting.ip_port, instant))
