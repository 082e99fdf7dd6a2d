"""`ibi init` makes a data directory for labels that last. `ibi up` starts all services of a data directory on one
port."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from socket import socket
from typing import TYPE_CHECKING

import click

from ibi.command.options import enter_data, setting_options, settings_to_begin, settings_to_listen
from ibi.command.output import as_json_option
from ibi.standard.errors import IbiError

if TYPE_CHECKING:
    from pathlib import Path

    from ibi.settings import Settings


_PORT = click.IntRange(1, 65535)


@click.command()
@click.option("--host", metavar="HOST", required=True, help="A host name of your own that the whole Internet knows.")
@click.option("--ip", metavar="ADDRESS", help="Its address on the Internet; without it there is no second form, IBIp.")
@click.option(
    "--host-port", metavar="N", type=_PORT, help="The port that goes with the host in labels; 80 if not given."
)
@click.option("--ip-port", metavar="N", type=_PORT, help="The port that goes with the address; 800 if not given.")
@click.option("--public-url", metavar="URL", help="Where readers will reach this Archive.")
@click.option("--title", metavar="TEXT", default="Archive service", help="What the Archive's own item is called.")
@as_json_option
@setting_options("data")
def init(
    host: str,
    ip: str | None,
    host_port: int | None,
    ip_port: int | None,
    public_url: str | None,
    title: str,
    *,
    as_json: bool,
    data: str | None,
) -> None:
    """Make a new data directory for labels that last, and begin its Archive. A sandbox is never turned into one."""
    identity = {"mint.host": host, "mint.ip": ip, "mint.host_port": host_port, "mint.ip_port": ip_port}
    given = {name: None if value is None else str(value) for name, value in identity.items()}
    settings = settings_to_begin(data=data, public_url=public_url, **given, **{"mint.sandbox": "false"})
    if settings.is_remote:
        raise click.UsageError("a data directory is made on the machine that will have it: unset IBI_SERVER")
    _require_empty(settings.data)

    from ibi.archive.cli import begin_and_print

    try:
        with _removed_on_failure(settings.data):
            file = _write_settings(settings)
            begin_and_print(settings, title, as_json=as_json)
    except IbiError as error:
        raise click.ClickException(f"{error} Nothing was made: {settings.data} is as it was.") from None
    if not as_json:
        click.echo(f"Its settings are in {file}; `ibi up --data {settings.data}` starts it.")


def _require_empty(data: Path) -> None:
    if data.exists() and (not data.is_dir() or any(data.iterdir())):
        raise click.ClickException(f"{data} is there already and stays as it is: name a new directory with --data")


@contextmanager
def _removed_on_failure(data: Path) -> Iterator[None]:
    """Remove all new files from a missing or empty directory if an exception ends the block."""
    missing = [folder for folder in (data, *data.parents) if not folder.exists()]
    try:
        yield
    except _BegunElsewhere:
        raise
    except BaseException:
        for each in data.iterdir() if data.is_dir() else ():
            shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
        for folder in missing:
            with suppress(OSError):  # another command has put something into it
                folder.rmdir()
        raise


class _BegunElsewhere(click.ClickException):
    """Another command makes the directory at this moment: what is in it is not ours."""


def _write_settings(settings: Settings) -> Path:
    """Write the first `ibi.toml` into a missing or empty directory."""
    from ibi.minting.rules.identity import check_identity
    from ibi.settings import FILE_NAME, write_initial_toml

    identity, data = settings.identity(), settings.data
    assert identity is not None  # the host is required
    check_identity(identity)
    if not write_initial_toml(data / FILE_NAME, identity, public_url=settings.public_url):
        raise _BegunElsewhere(f"{data} is being made by another command: name a new directory with --data")
    return data / FILE_NAME


class WorkersUnsupported(IbiError):
    """This system cannot spread connections over several processes: leave out `workers`, or have it be 1."""

    code = "workers-unsupported"


@click.command()
@click.option(
    "--demo",
    is_flag=False,
    flag_value="collection",
    type=click.Choice(["collection", "federation"]),
    help="Put a small collection into it, to look around; or `--demo=federation`: three Archives and a resolver, with"
    " items that are copied, moved and in dispute.",
)
@setting_options("data", "config", "host", "port", "log_level", "log_format")
def up(*, demo: str | None, **flags: str | None) -> int:
    """Start every service on one port. In an empty data directory it begins with a sandbox."""
    from ibi.server.server import listen

    settings = settings_to_listen(**flags)
    if demo == "federation":
        enter_data(settings)
        from ibi.app.cli.federation import run_federation

        run_federation(settings.data, settings.port)
        return 0
    with listen(settings.host, settings.port) as listener, ExitStack() as opened:
        listeners = [listener, *_bind_others(settings, listener, opened)]
        enter_data(settings)
        if settings.has_archive and _is_new(settings):
            # The port that was bound, not the one requested: with port 0 each sandbox gets a name of its own.
            port = int(listener.getsockname()[1])
            settings = _with_sandbox(settings, port) if settings.file else _begin_sandbox(settings, port, flags)
        from ibi.app.cli.server import run_server

        return run_server(settings, listeners, lambda: settings_to_listen(**flags), demo=demo is not None)


def _bind_others(settings: Settings, listener: socket, opened: ExitStack) -> list[socket]:
    """Return the sockets of all workers but the first."""
    from ibi.server.server import bind_beside

    workers = settings.worker_count(len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1)
    if workers > 1 and sys.platform != "linux":
        raise WorkersUnsupported()
    return [opened.enter_context(bind_beside(listener)) for _ in range(workers - 1)]


def _is_new(settings: Settings) -> bool:
    """Return whether no identity is given and the data directory contains nothing but settings."""
    from ibi.settings import FILE_NAME

    if settings.identity() is not None:
        return False
    return not settings.data.is_dir() or all(each.name == FILE_NAME for each in settings.data.iterdir())


def _begin_sandbox(settings: Settings, port: int, flags: dict[str, str | None]) -> Settings:
    """Write the settings of a sandbox into the data directory."""
    from ibi.settings import FILE_NAME, write_initial_toml
    from ibi.standard.identity import Identity

    write_initial_toml(settings.data / FILE_NAME, Identity.of_sandbox(port), port=port)
    return settings_to_begin(**flags)


def _with_sandbox(settings: Settings, port: int) -> Settings:
    """Return the settings with the identity of a sandbox.

    The file belongs to the user and is not changed: the data directory stores its identity at the first start.
    """
    from ibi.standard.identity import Identity

    it = Identity.of_sandbox(port)
    mint = replace(
        settings.mint, host=it.host, ip=it.ip, host_port=it.host_port, ip_port=it.ip_port, sandbox=it.sandbox
    )
    return replace(settings, mint=mint)
