"""Runs the server of a data directory."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count
from shlex import quote
from socket import socket
from typing import Final

import click
import structlog

from ibi import __version__
from ibi.app.server.archive import OpenArchive
from ibi.app.server.capabilities import OpenServer
from ibi.app.server.opening import open_server
from ibi.backup.store.data_files import StartReserve
from ibi.membership.store.archive_state import ServedAddress
from ibi.people.cli.accounts import sign_in_url
from ibi.server.server import Server, url_of
from ibi.server.service_manager import ServiceManager
from ibi.server.supervisor import Supervisor, WorkerSeat
from ibi.server.worker_state import ALONE, WorkerShare
from ibi.settings import Settings
from ibi.standard.identity import Identity
from ibi.standard.storage_errors import StorageError
from ibi.web.logging import configure_logging
from ibi.web.sites import ResolverSite

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


def _serve(settings: Settings, listener: socket, *, demo: bool = False, seat: WorkerSeat | None = None) -> None:
    """Serve in this process. With a `seat` it is one of several workers."""
    share = ALONE if seat is None else WorkerShare(seat.state, seat.slot)
    reserve = StartReserve(settings.data)
    if reserve.release():
        _LOG.error("the disk is full: readers are served, and little else until there is room", data=str(settings.data))
    with ExitStack() as opened:
        opened.callback(reserve.take_again)  # called last, after the open files have released their space
        found = open_server(settings, listener, share, opened, demo=demo)

        def ready(url: str) -> None:
            if seat is None:
                click.echo("\n".join(_start_message(url, settings, found)))
            else:
                seat.tell_ready("\n".join(_start_message(url, settings, found)) if seat.is_first else "")

        seconds = count(1)

        def every_second() -> None:
            if next(seconds) % _RESERVE_AFTER == 0:
                reserve.take()
            if seat is not None:
                seat.state.beat(seat.slot)
                found.app.state.counts.publish_if_busy()

        server = Server(found.app, ready=ready, every_second=every_second)
        if seat is not None:
            seat.watch_orders(server)
        server.run([listener])


def _start_message(url: str, settings: Settings, found: OpenServer) -> Iterator[str]:
    identity = None if found.minting is None else found.minting.minter.identity
    yield from _welcome(url, settings, identity, found.archive, found.resolver)
    if found.context.is_sandbox:
        # The person who reads this output started the server, and a sandbox has no other users.
        link = found.accounts.first_link(found.context)
        yield f"  sign in   {sign_in_url(settings.public_url or url, link)}"
        yield "            once, within the hour, as the administrator"
    yield "Ctrl-C stops it."


def _welcome(
    url: str, settings: Settings, identity: Identity | None, archive: OpenArchive | None, resolver: ResolverSite | None
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
        yield f"  archive   {archive.record.service.labels[0]}"
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
