"""Runs the server of a data directory."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from shlex import quote
from socket import socket
from time import time
from typing import Final, NamedTuple

import click
import structlog

from ibi import __version__
from ibi.cli.accounts import sign_in_url
from ibi.composition.administration import admin_parts
from ibi.composition.archive_site import dump_schedule, open_archive_site, own_addresses, verification_schedule
from ibi.composition.claim_exchange import claim_courier
from ibi.composition.copy_work import SourceFinder, open_subscriptions
from ibi.composition.identity_provider import provider_sign_in
from ibi.composition.membership import membership_service
from ibi.composition.minter import LocalMinter, frozen_identity, open_ticks, own_address, warn_of_private_name
from ibi.composition.register import MailIncomplete, configured_mailer
from ibi.composition.resolver_site import open_registry, open_replica_site, open_resolver_site, open_standby_site
from ibi.composition.side_stores import full_text_worker
from ibi.config import Settings
from ibi.model.minting import Identity
from ibi.ports.correspondence import Mailer
from ibi.ports.errors import StorageError
from ibi.services.accounts.account_admin import PersonAdmin
from ibi.services.accounts.recovery import AccountRecovery
from ibi.services.accounts.secret_hasher import HASHES_AT_ONCE, SecretHasher
from ibi.services.accounts.sign_in import MOST_WAITING, SignIn
from ibi.services.jobs import Job, JobRunner
from ibi.services.limits import Attempts
from ibi.services.minting.mint_guard import MintGuard
from ibi.services.minting.mint_queue import MintQueue
from ibi.services.readiness import ReadinessCheck
from ibi.services.sites import ArchiveSite, ResolverSite
from ibi.storage.archive_state import ServedAddress
from ibi.storage.audit_log import FileAuditLog
from ibi.storage.data_files import StartReserve
from ibi.storage.failing_jobs import FailingJobsFile
from ibi.storage.locks import WorkerLock
from ibi.storage.machine import MachineClocks, most_connections, raise_limit
from ibi.storage.site_files import PageDirectory
from ibi.storage.sqlite.people import SqlitePeople
from ibi.storage.sqlite.state import SqliteDatabase, open_state
from ibi.storage.sqlite.state_copies import newest_copy_age
from ibi.storage.sqlite.ticks import SqliteTicks
from ibi.storage.sqlite.tokens import SqliteTokens
from ibi.storage.worker_state import ALONE, WorkerShare
from ibi.web.app import create_app
from ibi.web.fast.connection_bounds import ConnectionBound
from ibi.web.fast.server import Server, url_of
from ibi.web.fast.service_manager import ServiceManager
from ibi.web.fast.supervisor import Supervisor, WorkerSeat
from ibi.web.http.logging import configure_logging
from ibi.web.http.request import ServedHosts
from ibi.web.pages.appearance import Appearance
from ibi.web.pages.rendering import SiteFacts
from ibi.web.starting import StartingServer

_LOG: Final = structlog.get_logger("ibi.workers")
_RESERVE_AFTER: Final = 30
"""Seconds after which space is reserved for the next start: other workers have started by then, too."""


def run_server(
    settings: Settings, listeners: Sequence[socket], reload: Callable[[], Settings], *, demo: bool = False
) -> int:
    """Serve until SIGTERM or Ctrl-C, finish requests under way, and return the exit code. `demo` adds sample items.

    There is one worker for each of the `listeners`. At SIGHUP they are replaced by workers with the settings from
    `reload`. A single worker is replaced only under a service manager, since a closing terminal sends the same signal.
    """
    listener = listeners[0]
    configure_logging(settings.log_level, settings.log_format)
    if len(listeners) == 1 and not ServiceManager().is_present:
        _serve(settings, listener, demo=demo)
        return 0

    def serve(seat: WorkerSeat, settings: Settings) -> None:
        configure_logging(settings.log_level, settings.log_format)
        _serve(settings, seat.listener, demo=demo and seat.is_first, seat=seat)

    def reload_workers() -> Settings:
        found = reload()
        kept = {name: getattr(settings, name) for name in ("data", "host", "port", "workers")}
        if any(getattr(found, name) != value for name, value in kept.items()):
            _LOG.warning("data, host, port and workers stay as they are until the server is started again")
        return replace(found, **kept)

    served, process = ServedAddress(settings.data), os.getpid()
    with suppress(StorageError):  # the workers report the reason
        # The supervisor claims the address of the Archive, so that it stays while workers come and go.
        served.claim((settings.public_url or url_of(listener)).rstrip("/"))
    gc.collect()
    gc.freeze()  # the collector no longer touches the memory that workers share, so it stays shared
    code = Supervisor(listeners, serve, settings, reload_workers, print_words=click.echo).run()
    if os.getpid() == process:
        served.release()
    return code


_COPY_EVERY: Final = 86_400.0
_COPY_LOOK: Final = 3600.0
_FIRST_COPY: Final = 60.0
"""Seconds between copies of the state, between checks whether one is due, and before the first check."""


class _Minting(NamedTuple):
    minter: LocalMinter
    queue: MintQueue


def _minting(settings: Settings, ticks: SqliteTicks, clocks: MachineClocks) -> _Minting:
    """Return the minters: one for the server itself, which mints at once, and a queue for clients."""
    identity, rules = frozen_identity(ticks, settings), settings.rules()
    address = own_address(settings, identity)
    if (warning := warn_of_private_name(identity)) is not None:
        structlog.get_logger("ibi.minting").warning(warning)
    return _Minting(
        LocalMinter(ticks, identity, rules, clocks, lambda: address),
        MintQueue(ticks, identity, rules, clocks, guard=MintGuard(ticks, address)),
    )


def _serve(settings: Settings, listener: socket, *, demo: bool = False, seat: WorkerSeat | None = None) -> None:
    """Serve in this process. With a `seat` it is one of several workers."""
    share = ALONE if seat is None else WorkerShare(seat.state, seat.slot)
    reserve = StartReserve(settings.data)
    if reserve.release():
        _LOG.error("the disk is full: readers are served, and little else until there is room", data=str(settings.data))
    with ExitStack() as opened:
        opened.callback(reserve.take_again)  # called last, after the open files have released their space
        clocks = MachineClocks()
        ticks = open_ticks(settings, clocks) if settings.has_archive else None
        if ticks is not None:
            opened.callback(ticks.close)
        state = open_state(settings.data)
        opened.callback(state.close)
        state.examine()
        tokens = SqliteTokens(settings.data)
        opened.callback(tokens.close)
        people, hasher = SqlitePeople(settings.data), SecretHasher(at_once=share.divide(HASHES_AT_ONCE))
        opened.callback(people.close)
        opened.callback(hasher.close)
        audit = FileAuditLog(settings.data)
        opened.callback(audit.close)
        # Every check that can refuse a start comes before the Archive's own item is updated to its address.
        public_url = (settings.public_url or url_of(listener)).rstrip("/")
        registry = open_registry(settings, public_url, opened)
        minting = None if ticks is None else _minting(settings, ticks, clocks)
        identity = None if minting is None else minting.minter.identity
        is_sandbox = identity is not None and identity.sandbox
        starting = StartingServer(listener)
        opened.callback(starting.stop)
        finder, jobs = SourceFinder(settings), JobRunner(FailingJobsFile(settings.data))
        jobs.add(_copying_job(settings.data, state))
        archive: ArchiveSite | None = None
        checks: list[Callable[[], None]] = [ReadinessCheck("state", state.check)]
        if minting is not None:
            archive, check_archive = open_archive_site(
                settings,
                url_of(listener),
                minting.minter,
                opened,
                audit=audit,
                demo=demo,
                on_rebuild=starting.start,
                on_item=starting.count_item,
                finder=finder,
                share=share,
                people=people,
            )
            checks.append(ReadinessCheck("archive", check_archive))
        membership = membership_service(settings, archive)
        listening = str(listener.getsockname()[0]), int(listener.getsockname()[1])
        resolver = open_replica_site(settings, public_url, listening, opened, jobs, share) or open_resolver_site(
            settings,
            public_url,
            listening,
            archive,
            clocks,
            registry,
            opened,
            jobs=jobs,
            sandbox=is_sandbox,
            share=share,
            audit=audit,
        )
        if resolver is not None and resolver.register is not None:
            checks.append(ReadinessCheck("kept register", resolver.register.check))
        finder.use(resolver)
        standby = open_standby_site(settings, public_url, listening, archive, opened, jobs, share)
        if standby is not None and membership is not None:
            standby.register.on_unlisted = membership.renew
        sign_in = SignIn(
            people,
            clocks,
            hasher,
            attempts=Attempts(rows=share.sign_ins),
            account_attempts=Attempts(rows=share.accounts),
            secret=share.secret,
            most_waiting=share.divide(MOST_WAITING),
            means=people,
        )
        recovery = AccountRecovery(
            sign_in,
            public_url=public_url,
            mailer=_mailer(settings),
            audit=audit,
            rows=share.letters,
            account_rows=share.accounts,
        )
        app = create_app(
            queue=None if minting is None else minting.queue,
            ticks=ticks,
            tokens=tokens,
            clocks=clocks,
            archive=archive,
            membership=membership,
            resolver=resolver,
            standby=standby,
            facts=SiteFacts(
                settings.site.name,
                public_url,
                sandbox=is_sandbox,
                description=settings.site.description,
                contact=settings.site.contact,
                data=_named_directory(settings.data),
            ),
            appearance=Appearance(
                PageDirectory(settings.data),
                colour=settings.site.colour,
                header_colour=settings.site.header_colour,
            ),
            sign_in=sign_in,
            people=people,
            audit=audit,
            recovery=recovery,
            provider=provider_sign_in(settings, recovery, people, share.sign_ins),
            hosts=_served_hosts(settings, public_url, listening[0]),
            bound=ConnectionBound(
                share.divide(settings.connections_per_client),
                settings.trusted_proxies or (),
                most_connections(raise_limit()),
            ),
            verification=None if archive is None else verification_schedule(settings, archive),
            dumping=None if archive is None else dump_schedule(settings, archive),
            texts=None if archive is None else full_text_worker(settings, archive, opened),
            subscriptions=open_subscriptions(
                settings, archive, own_addresses(public_url, url_of(listener)), finder, audit, opened
            ),
            courier=claim_courier(settings, archive, resolver, listening),
            share=share,
            checks=checks,
            admin=admin_parts(settings),
            jobs=jobs,
        )

        def words(url: str) -> Iterator[str]:
            yield from _welcome(url, settings, identity, archive, resolver)
            if is_sandbox:
                # The person who reads this output started the server, and a sandbox has no other users.
                link = PersonAdmin(people, clocks, hasher, audit=audit).first_link()
                yield f"  sign in   {sign_in_url(settings.public_url or url, link)}"
                yield "            once, within the hour, as the administrator"
            yield "Ctrl-C stops it."

        def ready(url: str) -> None:
            if seat is None:
                click.echo("\n".join(words(url)))
            else:
                seat.tell_ready("\n".join(words(url)) if seat.is_first else "")

        seconds = count(1)

        def every_second() -> None:
            if next(seconds) % _RESERVE_AFTER == 0:
                reserve.take()
            if seat is not None:
                seat.state.beat(seat.slot)
                app.state.counts.publish_if_busy()

        starting.stop()
        server = Server(app, ready=ready, every_second=every_second)
        if seat is not None:
            seat.watch_orders(server)
        server.run([listener])


def _copying_job(data: Path, state: SqliteDatabase) -> Job:
    """Return the job that copies the state each day."""

    def copy_daily() -> None:
        age = newest_copy_age(data, time())
        if age is None or age >= _COPY_EVERY:
            state.copy()

    hold = WorkerLock(data / "state-copies.lock").hold
    return Job("state copies", copy_daily, _COPY_LOOK, hold=hold, first=_FIRST_COPY)


def _mailer(settings: Settings) -> Mailer | None:
    """Return the mailer; None also if its settings are incomplete, which `ibi doctor` reports."""
    try:
        return configured_mailer(settings)
    except MailIncomplete:
        return None


def _served_hosts(settings: Settings, public_url: str, address: str) -> ServedHosts:
    urls = [public_url, *([] if settings.content_url is None else [settings.content_url])]
    return ServedHosts(urls, settings.hosts or (), {settings.host, address})


def _welcome(
    url: str, settings: Settings, identity: Identity | None, archive: ArchiveSite | None, resolver: ResolverSite | None
) -> Iterator[str]:
    yield f"ibi {__version__} is up: {url}"
    if settings.public_url is not None and settings.public_url.rstrip("/") != url.rstrip("/"):
        yield f"  public    {settings.public_url.rstrip('/')}/, by which others know it (public_url)"
    yield f"  data      {settings.data}"
    if identity is not None:
        yield f"  labels    {'  '.join(f'{prefix}/…' for prefix in identity.prefixes)}"
    if identity is not None and identity.sandbox:
        yield "            a sandbox: labels for trying out; other servers may have the same ones"
    if archive is not None:
        yield f"  archive   {archive.profile.service.labels[0]}"
        if archive.served_elsewhere is not None:
            yield f"            its own item leads to {archive.served_elsewhere}/, where another server of this data"
            yield "            directory runs; give both the same public_url, or stop one"
    if resolver is not None:
        yield f"  resolver  {resolver.public_url}/"
        if resolver.register is not None:
            yield f"            a replica, which reads the register of {settings.resolver}"
    if archive is not None:
        yield f"  tokens    ibi token create --scope deposit --data {quote(str(settings.data))}"
    if identity is None or not identity.sandbox:
        yield f"  people    ibi person create NAME --role admin --data {quote(str(settings.data))}"


def _named_directory(data: Path) -> str | None:
    """Return the data directory as a shell argument that is valid in any directory; None for the default one."""
    return None if data == Path("ibi-data") else quote(str(data.absolute()))
