"""`ibi init`: a new data directory whose labels last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibi.cli.options import setting_options, settings_to_begin
from ibi.cli.output import as_json_option

if TYPE_CHECKING:
    from pathlib import Path

    from ibi.config import Settings


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
    file = _write_settings(settings)

    from ibi.cli.archive import begin_and_print
    from ibi.errors import IbiError

    try:
        begin_and_print(settings, title, as_json=as_json)
    except IbiError as error:
        rest = f"its settings are in {file}; when this is mended, `ibi archive init --data {settings.data}` goes on"
        raise click.ClickException(f"{error} The data directory is made, and {rest}") from None
    if not as_json:
        click.echo(f"Its settings are in {file}; `ibi up --data {settings.data}` starts it.")


def _write_settings(settings: Settings) -> Path:
    """Write the first `ibi.toml` into a directory that is missing or empty."""
    from ibi.config import FILE_NAME, write_initial_toml
    from ibi.minting.identity import check_identity

    identity, data = settings.identity(), settings.data
    assert identity is not None  # the host is required
    check_identity(identity)
    if data.exists() and (not data.is_dir() or any(data.iterdir())):
        raise click.ClickException(f"{data} is there already and stays as it is: name a new directory with --data")
    if not write_initial_toml(data / FILE_NAME, identity, public_url=settings.public_url):
        raise click.ClickException(f"{data} is being made by another command: name a new directory with --data")
    return data / FILE_NAME
