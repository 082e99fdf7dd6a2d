"""Opens the resolver of a server that has a register of its own."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from functools import partial
from time import monotonic, time

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.app.server.resolution import OpenResolver, open_beliefs, open_gateway, own_ref, resolver_service
from ibi.following.client.feed_client import ArchiveFeeds
from ibi.jobs.runner import POLL, Job
from ibi.membership.opening.membership import own_keys
from ibi.membership.rules.archive_keys import SignaturePolicy
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.service.named_copy_holders import NamedCopyHolders
from ibi.membership.service.registration_admin import RegistrationAdmin
from ibi.membership.service.signers import ResolverSigner
from ibi.membership.store.key_files import RESOLVER, KeyFiles, PublishedRegisterFile
from ibi.membership.store.registry import SqliteRegistry
from ibi.resolver.client.gateways import Gateways
from ibi.resolver.opening.register import configured_mailer
from ibi.resolver.ports import Beliefs
from ibi.resolver.rules.caching import Cache
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.belief_report import BeliefReport
from ibi.resolver.service.claim_watch import ClaimWatch
from ibi.resolver.service.disputes import ClaimProofs, DisputeMail, Disputes
from ibi.resolver.service.feed_following import CopyStatements, FollowedFeeds
from ibi.resolver.service.register_publication import RegisterPublication
from ibi.resolver.service.resolution_runner import ArchiveDirectory
from ibi.settings import Settings
from ibi.standard.label import Label
from ibi.standard.messages.holders import read_copies_statement
from ibi.standard.storage_errors import StorageError
from ibi.transfers.opening.own_register import resolves_here
from ibi.transfers.opening.transfers import open_release_register
from ibi.usage.rules.robots import is_robot
from ibi.web.sites import ResolverSite


def open_registry(settings: Settings, public_url: str, opened: ExitStack) -> SqliteRegistry | None:
    """Return the register of a server that resolves, closed with `opened`. None if another server resolves."""
    if not resolves_here(settings, public_url):
        return None
    registry = SqliteRegistry(settings.data)
    opened.callback(registry.close)
    return registry


def open_resolver(
    server: ServerContext, registry: SqliteRegistry, archive: OpenArchive | None, named: NamedCopyHolders | None
) -> OpenResolver:
    """Return the resolver of a server with its register. `named` are the holders of the Archive's Copies."""
    settings, public_url, share, audit = server.settings, server.public_url, server.share, server.audit
    beliefs, writing = open_beliefs(server)
    guard = server.guard()
    gateway, cache = open_gateway(server, archive, guard), Cache()
    hold = server.hold("register.lock")
    reader = ArchiveFeeds(guard)
    statements = CopyStatements(reader, registry, beliefs, time)
    feeds = FollowedFeeds(reader, cache, monotonic, server.jobs, statements.note)
    mailer = configured_mailer(settings)
    signing, published = own_keys(settings.data, RESOLVER), PublishedRegisterFile(settings.data)
    registrations = RegistrationAdmin(
        registry,
        gateway.confirm,
        server.clocks,
        resolver_url=public_url,
        mailer=mailer,
        compared=None if share.state is None else share.state.compared_keys,
        hold=hold,
        own=None if archive is None else archive.record.service,
        sandbox=server.is_sandbox,
        ask=gateway.ask,
        prove=gateway.prove,
        signer=ResolverSigner(signing, public_url, SignaturePolicy(settings.resolve.signatures)),
        on_included=statements.learn,
        audit=audit,
        published=published,
    )
    gateway.on_reply = registrations.contacts.note
    own = None if archive is None else own_ref(server, archive)
    disputes = Disputes(registry, beliefs, own, audit=audit)
    directory = ArchiveDirectory(registry, own)
    resolving = resolver_service(server, directory, beliefs, gateway, archive, cache, feeds)
    watch = ClaimWatch(directory, gateway, Memory(beliefs), resolving)
    resolving.on_found = watch.note
    homes = None if own is None else (own.service, own.home_prefixes)
    releases = open_release_register(settings, registry, beliefs, homes, server.opened)
    proofs = ClaimProofs(beliefs, releases, _ProvenanceReader(reader, archive), directory.archives, time)
    resolving.on_claimed = proofs.note
    jobs = [*writing, *watch.jobs(), *proofs.jobs()]
    if mailer is not None:
        jobs += DisputeMail(disputes, mailer, public_url, settings.archive.admin_email, hold=hold).jobs()
    if named is not None:
        jobs += OwnCopies(named, beliefs).jobs()
    site = ResolverSite(
        resolving=resolving,
        acknowledgments=Acknowledgments(gateway, at_once=gateway.acknowledge_at_once),
        public_url=public_url,
        registrations=registrations,
        beliefs=beliefs,
        report=BeliefReport(registry, beliefs, own, time),
        disputes=disputes,
        publication=RegisterPublication(
            registry,
            beliefs,
            KeyFiles(settings.data, RESOLVER),
            resolver_url=public_url,
            own=own,
            own_keys=KeyFiles(settings.data),
            published=published,
        ),
        proxies=settings.trusted_proxies or (),
        is_robot=is_robot,
        close=partial(_close, statements, gateway),
        signing=signing,
    )
    return OpenResolver(site=site, releases=releases, jobs=jobs)


async def _close(statements: CopyStatements, gateway: Gateways) -> None:
    await statements.close()
    await gateway.close()


class _ProvenanceReader:
    """The port `ProvenanceGateway`. It asks the Archive of the same server without the network."""

    def __init__(self, others: ArchiveFeeds, own: OpenArchive | None) -> None:
        self._others, self._own = others, own

    async def read_provenance(self, archive: ArchiveRef, label: Label) -> tuple[str, ...] | None:
        own = self._own
        if own is None or archive.service != own.record.service:
            return await self._others.read_provenance(archive, label)
        if own.transfers.tracking.is_silent:
            return None
        return (await asyncio.to_thread(own.transfers.chains.chain, label)).texts


class OwnCopies:
    """Stores this server's own statement about holders of its Copies, like the statement of any other Archive. A job
    repeats this, since a command may have changed the holders."""

    def __init__(self, named: NamedCopyHolders, beliefs: Beliefs) -> None:
        self._named, self._beliefs = named, beliefs
        self._kept = ""
        with suppress(StorageError):  # the job reports it
            self._keep()

    def jobs(self) -> tuple[Job, ...]:
        return (Job("own holders of Copies", self._keep, POLL),)

    def _keep(self) -> None:
        home, statement = self._named.service.labels[0], self._named.word().statement
        if statement != self._kept and (self._named.holders or self._beliefs.copies(home).holders):
            self._beliefs.record_signed_copies(home, read_copies_statement(statement), statement, int(time()))
        self._kept = statement
