"""The server of a data directory, put together from the settings."""

from __future__ import annotations

from contextlib import ExitStack
from socket import socket

import click

from ibi import __version__
from ibi.cli.archive_site import opened_archive_site
from ibi.cli.membership import membership_service
from ibi.cli.minter import LocalMinter, frozen_identity, opened_ticks
from ibi.config import Settings
from ibi.model.identity import Identity
from ibi.services.mint_queue import MintQueue
from ibi.storage.machine import MachineClocks
from ibi.storage.sqlite.tokens import SqliteTokens
from ibi.web.app import create_app
from ibi.web.archive_site import ArchiveSite
from ibi.web.logging import configure_logging
from ibi.web.server import Server, url_of

__all__ = ["run_server"]


def run_server(settings: Settings, listener: socket) -> None:
    """Serve on `listener` until SIGTERM or Ctrl-C, then finish what is under way."""
    configure_logging(settings.log_level, settings.log_format)
    with ExitStack() as opened:
        clocks = MachineClocks()
        ticks = opened_ticks(settings, clocks)
        opened.callback(ticks.close)
        tokens = SqliteTokens(settings.data)
        opened.callback(tokens.close)
        identity = frozen_identity(ticks, settings)
        rules = settings.rules()
        minter = LocalMinter(ticks, identity, rules, clocks)
        archive = opened_archive_site(settings, url_of(listener), minter, opened)
        queue = MintQueue(ticks, identity, rules, clocks)
        membership = membership_service(settings, archive)
        app = create_app(queue=queue, ticks=ticks, tokens=tokens, clocks=clocks, archive=archive, membership=membership)
        Server(app, ready=lambda url: _welcome(url, settings, identity, archive)).run([listener])


def _welcome(url: str, settings: Settings, identity: Identity, archive: ArchiveSite | None) -> None:
    click.echo(f"ibi {__version__} is up: {url}")
    click.echo(f"  data    {settings.data}")
    click.echo(f"  mints   {'  '.join(f'{prefix}/…' for prefix in identity.prefixes)}")
    if identity.sandbox:
        click.echo("          a sandbox: labels for trying out, others may have the same")
    if archive is not None:
        click.echo(f"  keeps   items, answered for by {archive.profile.service.labels[0]}")
    click.echo(f"  tokens  ibi token create --scope deposit --data {settings.data}")
    click.echo("Ctrl-C stops it.")
