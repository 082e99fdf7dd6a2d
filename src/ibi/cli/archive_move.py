"""`ibi archive move`: the same Archive at another address (R §7.2)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from ibi.cli.options import setting_options
from ibi.cli.output import as_json_option, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from ibi.config import Settings

_NGINX = """\
server {{
    listen {port};
    server_name {host};
    return 308 {to}$request_uri;
}}"""
_CADDY = """\
{old} {{
    redir {to}{{uri}} 308
}}"""


@click.command()
@click.option("--to", "url", metavar="URL", required=True, help="Where readers will reach this Archive.")
@as_json_option
@setting_options("data", "config")
def move(url: str, *, as_json: bool, **flags: str | None) -> None:
    """Have this Archive known at another host or port, with the same items and labels. The server asks its resolver for
    one inclusion when it starts again; what the host before has to send on is printed."""
    from ibi.cli.archive_store import local_settings
    from ibi.config import change_setting

    settings = local_settings(flags)
    _require_archive(settings)
    before, after = settings.own_url, _read_url(url)
    if os.environ.get("IBI_PUBLIC_URL"):
        raise click.ClickException("IBI_PUBLIC_URL overrides the file of settings: set it to the new address instead")
    file = _settings_file(settings, flags)
    if before != after:
        change_setting(file, "public_url", after)
    facts = {
        "from": before,
        "to": after,
        "settings": str(file),
        "runs": _is_served(settings),
        "content_url": settings.content_url,
        "nginx": _redirect_of_nginx(before, after),
        "caddy": _CADDY.format(old=before, to=after),
    }
    if as_json:
        print_json(facts)
    else:
        _print(facts, settings)


def _print(facts: dict[str, object], settings: Settings) -> None:
    click.echo(f"This Archive moves from {facts['from']} to {facts['to']} ({facts['settings']}).")
    start = "Start its server again" if facts["runs"] else f"Start its server: ibi up --data {settings.data}"
    told = ", and it asks its resolver to be included there" if settings.resolver is not None else ""
    click.echo(f"{start}. Its own item then leads to the new address{told}.")
    if settings.content_url is not None:
        click.echo(f"Files stay at {settings.content_url}: change content_url, too, if that host goes.")
    click.echo("\nAddresses of files at the former host are in the world. Have it send them on, in nginx:\n")
    click.echo(facts["nginx"])
    click.echo(f"\nor in Caddy:\n\n{facts['caddy']}")


def _redirect_of_nginx(before: str, after: str) -> str:
    from ibi.origin import Origin

    origin = Origin.of_url(before)
    port = f"{origin.effective_port} ssl" if origin.scheme == "https" else str(origin.effective_port)
    return _NGINX.format(port=port, host=origin.host, to=after)


def _read_url(url: str) -> str:
    from ibi.config.settings import setting

    one = setting("public_url")
    try:
        return str(one.kind.read(url))
    except ValueError as error:
        reason = f": {error}" if str(error) else ""
        raise click.BadParameter(f"it is {one.kind.expected}{reason}", param_hint="--to") from None


def _require_archive(settings: Settings) -> None:
    from ibi.storage.archive_state import ArchiveRecordFile

    if ArchiveRecordFile(settings.data).read() is None:
        raise click.ClickException("no Archive yet: `ibi archive init` begins one")


def _settings_file(settings: Settings, flags: dict[str, str | None]) -> Path:
    from pathlib import Path

    from ibi.config import FILE_NAME

    named = flags.get("config") or os.environ.get("IBI_CONFIG")
    return Path(named) if named else settings.data / FILE_NAME


def _is_served(settings: Settings) -> bool:
    """Whether a server of this data directory runs."""
    from ibi.storage.archive_state import ServedAddress

    return ServedAddress(settings.data).is_claimed
