"""Builds the resolver of a server or of a command, from the settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from time import monotonic, time
from typing import Final

import structlog

from ibi.archive.profile import ArchiveProfile, ArchiveUrls
from ibi.composition.archive_store import STORE, open_store
from ibi.composition.membership import own_keys
from ibi.composition.own_register import resolves_here
from ibi.composition.register import configured_mailer, silent_log
from ibi.composition.transfers import open_release_register
from ibi.config import Settings
from ibi.instant import Instant
from ibi.label import Ibip, Label, RepositoryName
from ibi.label.grammar import FIRST_DATE
from ibi.label.search import home_prefix
from ibi.messages.holders import read_copies_statement
from ibi.messages.identification import LabelForms, UrlKeys
from ibi.messages.values import IpAddress, ip_address
from ibi.origin import Origin
from ibi.ports.accounts import AuditLog
from ibi.ports.clocks import Clocks
from ibi.ports.errors import StorageError
from ibi.ports.federation import Beliefs
from ibi.resolver.archive_keys import SignaturePolicy
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.caching import NO_FEEDS, Cache
from ibi.resolver.memory import Memory
from ibi.resolver.policy import ClientAddress, Policy
from ibi.services.jobs import POLL, Job, JobRunner, write_later
from ibi.services.limits import link_limiter, trace_limiter
from ibi.services.membership.registration_admin import RegistrationAdmin
from ibi.services.membership.signers import ResolverSigner
from ibi.services.resolving.acknowledgments import Acknowledgments
from ibi.services.resolving.belief_report import BeliefReport, BeliefSource
from ibi.services.resolving.claim_watch import ClaimWatch
from ibi.services.resolving.disputes import ClaimProofs, DisputeMail, Disputes, DisputeSource, LocalDisputes
from ibi.services.resolving.feed_following import CopyStatements, FollowedFeeds
from ibi.services.resolving.misses import MissLimit
from ibi.services.resolving.register_publication import RegisterPublication
from ibi.services.resolving.resolution_runner import ArchiveDirectory, ForeignUrls
from ibi.services.resolving.resolver_service import Directory, ResolverService
from ibi.services.resolving.standby import KeptRegister, ResolverPresence
from ibi.services.robots import is_robot
from ibi.services.sites import ArchiveSite, ResolverSite, StandbySite
from ibi.storage.archive_state import ArchiveRecordFile
from ibi.storage.audit_log import FileAuditLog
from ibi.storage.key_files import RESOLVER, KeyFiles, PublishedRegisterFile, RegisterFiles, ResolverKeyFile
from ibi.storage.locks import WorkerLock
from ibi.storage.machine import MachineClocks
from ibi.storage.sqlite.beliefs import SqliteBeliefs
from ibi.storage.sqlite.registry import SqliteRegistry
from ibi.storage.worker_state import ALONE, WorkerShare
from ibi.transport.address_guard import AddressGuard
from ibi.transport.archive_connections import Budgets
from ibi.transport.archive_http import ArchiveHttp
from ibi.transport.feed_client import ArchiveFeeds
from ibi.transport.gateways import Gateways, LocalArchive
from ibi.transport.own_address import find_own_address
from ibi.transport.register_client import RegisterClient
from ibi.vocabulary import ArchiveProtocol
from ibi.web.http.errors import log_untold

_BELIEFS_PAUSE: Final = 1.0
"""Seconds for which beliefs from readers' links are collected before they are written."""


def open_registry(settings: Settings, public_url: str, opened: ExitStack) -> SqliteRegistry | None:
    """Return the register of a server that resolves, closed with `opened`. None if another server resolves."""
    if not resolves_here(settings, public_url):
        return None
    registry = SqliteRegistry(settings.data)
    opened.callback(registry.close)
    return registry


def open_resolver_site(
    settings: Settings,
    public_url: str,
    listening: tuple[str, int],
    archive: ArchiveSite | None,
    clocks: Clocks,
    registry: SqliteRegistry | None,
    opened: ExitStack,
    *,
    jobs: JobRunner,
    sandbox: bool = False,
    share: WorkerShare = ALONE,
    audit: AuditLog | None = None,
) -> ResolverSite | None:
    """Return the resolver of a server with its register; None without a register. It is closed with `opened`.

    In a `sandbox` it accepts any key. `jobs` runs the readers of Archives' feeds. `share` is shared with other
    processes of the server. Changes of the register go to the `audit` log.
    """
    if registry is None:
        return None
    beliefs = _open_beliefs(settings, jobs, opened)
    guard = AddressGuard(frozenset({listening, _host_and_port(public_url)}))
    gateway, cache = _gateway(settings, archive, guard, share), Cache()
    hold = WorkerLock(settings.data / "register.lock").hold
    reader = ArchiveFeeds(guard)
    statements = CopyStatements(reader, registry, beliefs, time)
    feeds = FollowedFeeds(reader, cache, monotonic, jobs, statements.note)
    misses, mailer = _miss_limit(settings, share), configured_mailer(settings)
    signing, published = own_keys(settings.data, RESOLVER), PublishedRegisterFile(settings.data)
    registrations = RegistrationAdmin(
        registry,
        gateway.confirm,
        clocks,
        resolver_url=public_url,
        mailer=mailer,
        compared=None if share.state is None else share.state.compared_keys,
        hold=hold,
        own=None if archive is None else archive.profile.service,
        sandbox=sandbox,
        ask=gateway.ask,
        prove=gateway.prove,
        signer=ResolverSigner(signing, public_url, SignaturePolicy(settings.resolve.signatures)),
        on_included=statements.learn,
        audit=audit,
        published=published,
    )
    own_copies = _OwnCopies(archive, beliefs)
    gateway.on_reply = registrations.contacts.note
    own = None if archive is None else _own_ref(archive, settings)
    keys, disputes = KeyFiles(settings.data, RESOLVER), Disputes(registry, beliefs, own, audit=audit)
    mail = (
        None if mailer is None else DisputeMail(disputes, mailer, public_url, settings.archive.admin_email, hold=hold)
    )
    directory = ArchiveDirectory(registry, own)
    resolving = _resolver_service(settings, directory, beliefs, gateway, archive, misses, cache, feeds, share)
    watch = ClaimWatch(directory, gateway, Memory(beliefs), resolving)
    resolving.on_found = watch.note
    releases = open_release_register(settings, registry, beliefs, _own_homes(archive, settings), opened)
    proofs = ClaimProofs(beliefs, releases, _ProvenanceReader(reader, archive), directory.archives, time)
    resolving.on_claimed = proofs.note
    return ResolverSite(
        resolving=resolving,
        acknowledgments=Acknowledgments(gateway, at_once=gateway.acknowledge_at_once),
        public_url=public_url,
        registrations=registrations,
        beliefs=beliefs,
        report=BeliefReport(registry, beliefs, own, time),
        disputes=disputes,
        dispute_mail=mail,
        claim_watch=watch,
        claim_proofs=proofs,
        own_copies=own_copies,
        publication=RegisterPublication(
            registry,
            beliefs,
            keys,
            resolver_url=public_url,
            own=own,
            own_keys=KeyFiles(settings.data),
            published=published,
        ),
        releases=releases,
        proxies=settings.trusted_proxies or (),
        is_robot=is_robot,
        close=partial(_close, statements, gateway),
        signing=signing,
    )


def _open_beliefs(settings: Settings, jobs: JobRunner, opened: ExitStack) -> SqliteBeliefs:
    """Return the beliefs of a server. A job writes them."""
    beliefs = SqliteBeliefs(settings.data)
    opened.callback(beliefs.close)
    jobs.add(write_later("beliefs", _BELIEFS_PAUSE, beliefs.watch, beliefs.write_group))
    return beliefs


class _ProvenanceReader:
    """The port `ProvenanceGateway`. It asks the Archive of the same server without the network."""

    def __init__(self, others: ArchiveFeeds, own: ArchiveSite | None) -> None:
        self._others, self._own = others, own

    async def read_provenance(self, archive: ArchiveRef, label: Label) -> tuple[str, ...] | None:
        own = self._own
        if own is None or archive.service != own.profile.service:
            return await self._others.read_provenance(archive, label)
        if own.transfers is None or own.transfers.tracking.is_silent:
            return None
        return (await asyncio.to_thread(own.transfers.chains.chain, label)).texts


def _miss_limit(settings: Settings, share: WorkerShare) -> MissLimit:
    wanted = settings.resolve.misses_per_network
    return MissLimit(wanted / share.workers)


def open_standby_site(
    settings: Settings,
    public_url: str,
    listening: tuple[str, int],
    archive: ArchiveSite | None,
    opened: ExitStack,
    jobs: JobRunner,
    share: WorkerShare = ALONE,
) -> StandbySite | None:
    """Return the resolver that an Archive uses for its own readers while its resolver is away. It is closed with
    `opened`.

    None if the Archive has no resolver, or resolves all links itself.
    """
    if archive is None or archive.resolver is None or resolves_here(settings, public_url):
        return None
    beliefs = _open_beliefs(settings, jobs, opened)
    own, client = _own_ref(archive, settings), RegisterClient(archive.resolver)
    register, files = (
        KeptRegister(client, RegisterFiles(settings.data), archive.resolver, own),
        ResolverKeyFile(settings.data),
    )
    register.presence = ResolverPresence(
        client, known_key=partial(files.find, archive.resolver.rstrip("/")), admit=register.admit
    )
    register.load()
    gateway = _gateway(settings, archive, AddressGuard(frozenset({listening, _host_and_port(public_url)})), share)
    misses = _miss_limit(settings, share)
    site = ResolverSite(
        resolving=_resolver_service(settings, register, beliefs, gateway, archive, misses, share=share),
        acknowledgments=Acknowledgments(gateway, at_once=gateway.acknowledge_at_once),
        public_url=public_url,
        proxies=settings.trusted_proxies or (),
        is_robot=is_robot,
        close=gateway.close,
    )
    return StandbySite(resolver=site, register=register)


def open_replica_site(
    settings: Settings,
    public_url: str,
    listening: tuple[str, int],
    opened: ExitStack,
    jobs: JobRunner,
    share: WorkerShare = ALONE,
) -> ResolverSite | None:
    """Return a resolver without an Archive that reads the register of another resolver. It is closed with `opened`.
    None if this server is not such a replica."""
    resolver = settings.resolver
    if settings.has_archive or resolver is None or resolves_here(settings, public_url):
        return None
    beliefs = _open_beliefs(settings, jobs, opened)
    register = KeptRegister(RegisterClient(resolver), RegisterFiles(settings.data), resolver)
    register.load()
    guard = AddressGuard(frozenset({listening, _host_and_port(public_url)}))
    gateway, cache = _gateway(settings, None, guard, share), Cache()
    feeds = FollowedFeeds(ArchiveFeeds(guard), cache, monotonic, jobs)
    resolving = _resolver_service(
        settings, register, beliefs, gateway, None, _miss_limit(settings, share), cache, feeds, share
    )

    return ResolverSite(
        resolving=resolving,
        acknowledgments=Acknowledgments(gateway, at_once=gateway.acknowledge_at_once),
        public_url=public_url,
        register=register,
        proxies=settings.trusted_proxies or (),
        is_robot=is_robot,
        close=gateway.close,
    )


def _own_homes(archive: ArchiveSite | None, settings: Settings) -> tuple[LabelForms, Iterable[str]] | None:
    """Return the Archive of this server, and the prefixes for which it is the home."""
    return None if archive is None else (archive.profile.service, _own_ref(archive, settings).home_prefixes)


class _OwnCopies:
    """Stores this server's own statement about holders of its Copies, like the statement of any other Archive. A job
    repeats this, since a command may have changed the holders."""

    def __init__(self, archive: ArchiveSite | None, beliefs: Beliefs) -> None:
        self._named, self._beliefs = None if archive is None else archive.copy_holders, beliefs
        self._kept = ""
        with suppress(StorageError):  # the job reports it
            self._keep()

    def jobs(self) -> tuple[Job, ...]:
        return () if self._named is None else (Job("own holders of Copies", self._keep, POLL),)

    def _keep(self) -> None:
        if self._named is None:
            return
        home, statement = self._named.service.labels[0], self._named.word().statement
        if statement != self._kept and (self._named.holders or self._beliefs.copies(home).holders):
            self._beliefs.record_signed_copies(home, read_copies_statement(statement), statement, int(time()))
        self._kept = statement


async def _close(statements: CopyStatements, gateway: Gateways) -> None:
    await statements.close()
    await gateway.close()


@asynccontextmanager
async def open_resolver_service(settings: Settings) -> AsyncIterator[ResolverService]:
    """Open the resolver of a command. It asks the same Archives as a server on that data directory, and sends no
    acknowledgments."""
    async with AsyncExitStack() as opened:
        registry = SqliteRegistry(settings.data)
        opened.callback(registry.close)
        beliefs = SqliteBeliefs(settings.data)
        opened.callback(beliefs.close)
        archive = _stored_archive(settings, opened)
        gateway = _gateway(settings, archive, AddressGuard())
        opened.push_async_callback(gateway.close)
        own = None if archive is None else _own_ref(archive, settings)
        yield _resolver_service(settings, ArchiveDirectory(registry, own), beliefs, gateway, archive)


@contextmanager
def open_disputes(settings: Settings, by: str) -> Iterator[DisputeSource]:
    """Open the disputes of the data directory's resolver, or of the server in the settings. `by` is the person who
    asks."""
    if settings.is_remote:
        from ibi.transport.resolver_clients import DisputesClient

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
    return registry, beliefs, None if record is None else _ref(record.service, settings.own_url, settings)


@contextmanager
def open_beliefs(settings: Settings) -> Iterator[BeliefSource]:
    """Open the beliefs of the data directory's resolver, or of the server in the settings."""
    if settings.is_remote:
        from ibi.transport.resolver_clients import BeliefsClient

        yield BeliefsClient(settings.server or "", None if settings.token is None else settings.token.reveal())
        return
    with ExitStack() as opened:
        yield BeliefReport(*_stored_beliefs(settings, opened), time)


def _resolver_service(
    settings: Settings,
    directory: Directory,
    beliefs: Beliefs,
    gateway: Gateways,
    archive: ArchiveSite | None,
    misses: MissLimit | None = None,
    cache: Cache | None = None,
    feeds: FollowedFeeds | None = None,
    share: WorkerShare = ALONE,
) -> ResolverService:
    """Return the resolver service. `misses` limits the misses of one network, and `feeds` tell `cache` of changes; a
    command needs neither."""
    own, wanted = None if archive is None else _own_ref(archive, settings), settings.resolve
    return ResolverService(
        directory,
        gateway,
        policy=Policy(
            hedge_delay=float(wanted.hedge_delay),
            budget=float(wanted.budget),
            follow_unproven=wanted.unproven == "follow",
            client_address=ClientAddress(wanted.client_address),
        ),
        foreign_urls=ForeignUrls(wanted.foreign_urls),
        own=own,
        memory=Memory(beliefs),
        changes=None if archive is None else archive.watch,
        misses=misses,
        cache=cache,
        feeds=NO_FEEDS if feeds is None else feeds,
        traces=trace_limiter(part=share.divide),
        links=link_limiter(part=share.divide),
    )


def _gateway(
    settings: Settings, archive: ArchiveSite | None, guard: AddressGuard, share: WorkerShare = ALONE
) -> Gateways:
    local = []
    if archive is not None:
        report = partial(log_untold, log=structlog.get_logger("ibi.archive"))
        local.append(LocalArchive(archive.profile.service, archive.answers, report))
    budgets, own = archive_budgets(settings, share), _own_address(settings)
    return Gateways(local, ArchiveHttp(guard, budgets=budgets, own_address=own))


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


def _own_ref(archive: ArchiveSite, settings: Settings) -> ArchiveRef:
    """Return the server's own Archive. It counts as registered before all others, because its operator vouches for
    it."""
    return _ref(archive.profile.service, archive.public_url, settings)


def _ref(service: LabelForms, public_url: str, settings: Settings) -> ArchiveRef:
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


def _stored_archive(settings: Settings, opened: AsyncExitStack) -> ArchiveSite | None:
    """Return the Archive of the data directory as a server would serve it. None if nothing was deposited yet."""
    record = ArchiveRecordFile(settings.data).read()
    if record is None or not (settings.data / STORE).is_dir():
        return None
    store, public_url = opened.enter_context(open_store(settings.data)), settings.own_url
    content_url = settings.content_url or public_url
    address = Origin.of_url(public_url).authority
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
    origin = Origin.of_url(url)
    return origin.host, origin.effective_port
