"""Run the server of a data directory."""

from __future__ import annotations

from contextlib import ExitStack
from socket import socket

import click
import structlog

from ibi import __version__
from ibi.cli.person import sign_in_url
from ibi.composition.archive_site import dump_schedule, open_archive_site, own_addresses, verification_schedule
from ibi.composition.claim_exchange import claim_courier
from ibi.composition.copy_work import SourceFinder
from ibi.composition.membership import membership_service
from ibi.composition.minter import LocalMinter, frozen_identity, open_ticks, own_address, warn_of_private_name
from ibi.composition.resolver_site import open_registry, open_resolver_site, open_standby_site
from ibi.composition.subscriptions import open_subscriptions
from ibi.config import Settings
from ibi.model.minting import Identity
from ibi.services.accounts.account_admin import PersonAdmin
from ibi.services.accounts.hashing import SecretHasher
from ibi.services.accounts.sign_in import SignIn
from ibi.services.minting.mint_guard import MintGuard
from ibi.services.minting.mint_queue import MintQueue
from ibi.services.sites import ArchiveSite, ResolverSite
from ibi.storage.audit_log import FileAuditLog
from ibi.storage.machine import MachineClocks, most_connections, raise_limit
from ibi.storage.sqlite.accounts import SqlitePeople, SqliteTokens
from ibi.web.app import create_app
from ibi.web.fast.connection_bounds import ConnectionBound
from ibi.web.fast.server import Server, url_of
from ibi.web.http.logging import configure_logging
from ibi.web.http.request import ServedHosts
from ibi.web.pages.rendering import SiteFacts
from ibi.web.starting import StartingServer


def run_server(settings: Settings, listener: socket, *, demo: bool = False) -> None:
    """Serve on `listener` until SIGTERM or Ctrl-C, then finish requests under way. `demo` adds sample items."""
    configure_logging(settings.log_level, settings.log_format)
    with ExitStack() as opened:
        clocks = MachineClocks()
        ticks = open_ticks(settings, clocks)
        opened.callback(ticks.close)
        tokens = SqliteTokens(settings.data)
        opened.callback(tokens.close)
        people, hasher = SqlitePeople(settings.data), SecretHasher()
        opened.callback(people.close)
        opened.callback(hasher.close)
        audit = FileAuditLog(settings.data)
        opened.callback(audit.close)
        # Everything that can refuse a start comes before the Archive's own item is updated to its address.
        public_url = (settings.public_url or url_of(listener)).rstrip("/")
        registry = open_registry(settings, public_url, opened)
        identity = frozen_identity(ticks, settings)
        rules = settings.rules()
        address = own_address(settings, identity)
        minter = LocalMinter(ticks, identity, rules, clocks, lambda: address)
        if (warning := warn_of_private_name(identity)) is not None:
            structlog.get_logger("ibi.minting").warning(warning)
        starting = StartingServer(listener)
        opened.callback(starting.stop)
        finder = SourceFinder(settings)
        archive, check_archive = open_archive_site(
            settings,
            url_of(listener),
            minter,
            opened,
            demo=demo,
            on_rebuild=starting.start,
            on_item=starting.count_item,
            finder=finder,
        )
        queue = MintQueue(ticks, identity, rules, clocks, guard=MintGuard(ticks, address))
        membership = membership_service(settings, archive)
        listening = str(listener.getsockname()[0]), int(listener.getsockname()[1])
        resolver = open_resolver_site(
            settings, public_url, listening, archive, clocks, registry, opened, sandbox=identity.sandbox
        )
        finder.use(resolver)
        app = create_app(
            queue=queue,
            ticks=ticks,
            tokens=tokens,
            clocks=clocks,
            archive=archive,
            membership=membership,
            resolver=resolver,
            standby=open_standby_site(settings, public_url, listening, archive, opened),
            facts=SiteFacts(settings.site.name, public_url, sandbox=identity.sandbox),
            sign_in=SignIn(people, clocks, hasher),
            people=people,
            audit=audit,
            hosts=_served_hosts(settings, public_url, listening[0]),
            bound=ConnectionBound(
                settings.connections_per_client, settings.trusted_proxies or (), most_connections(raise_limit())
            ),
            verification=None if archive is None else verification_schedule(settings, archive),
            dumping=None if archive is None else dump_schedule(settings, archive),
            subscriptions=open_subscriptions(
                settings, archive, own_addresses(public_url, url_of(listener)), finder, audit, opened
            ),
            courier=claim_courier(settings, archive, resolver, listening),
            checks=(check_archive, tokens.check, people.check, *(() if registry is None else (registry.check,))),
        )

        def ready(url: str) -> None:
            _welcome(url, settings, identity, archive, resolver)
            if identity.sandbox:
                # The person who reads this output started the server, and a sandbox has no other users.
                link = PersonAdmin(people, clocks, hasher, audit=audit).first_link()
                click.echo(f"  sign in   {sign_in_url(settings.public_url or url, link)}")
                click.echo("            once, within the hour, as the administrator")
            click.echo("Ctrl-C stops it.")

        starting.stop()
        Server(app, ready=ready).run([listener])


def _served_hosts(settings: Settings, public_url: str, address: str) -> ServedHosts:
    urls = [public_url, *([] if settings.content_url is None else [settings.content_url])]
    return ServedHosts(urls, settings.hosts or (), {settings.host, address})


def _welcome(
    url: str, settings: Settings, identity: Identity, archive: ArchiveSite | None, resolver: ResolverSite | None
) -> None:
    click.echo(f"ibi {__version__} is up: {url}")
    click.echo(f"  data      {settings.data}")
    click.echo(f"  labels    {'  '.join(f'{prefix}/…' for prefix in identity.prefixes)}")
    if identity.sandbox:
        click.echo("            a sandbox: labels for trying out; other servers may have the same ones")
    if archive is not None:
        click.echo(f"  archive   {archive.profile.service.labels[0]}")
        if archive.served_elsewhere is not None:
            click.echo(
                f"            its own item leads to {archive.served_elsewhere}/, where another server of this data"
            )
            click.echo("            directory runs; give both the same public_url, or stop one")
    if resolver is not None:
        click.echo(f"  resolver  {resolver.public_url}/")
    click.echo(f"  tokens    ibi token create --scope deposit --data {settings.data}")
    if not identity.sandbox:
        click.echo(f"  people    ibi person create NAME --role admin --data {settings.data}")
