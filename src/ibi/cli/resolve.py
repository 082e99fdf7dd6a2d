"""`ibi resolve`: where persistent links lead today.

Short: each command has a module of its name, which alone is imported for it.
"""

from __future__ import annotations

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option, each, print_json
from ibi.persistent_url import PersistentUrl
from ibi.safe_text import printable


@click.command()
@click.argument("links", metavar="LABEL_OR_URL...", nargs=-1, required=True)
@as_json_option
@setting_options("data", "config", "server", "token")
def resolve(links: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Print the address to which each link leads at the moment, as a reader would be sent there."""
    from ibi.cli.resolutions import opened_resolutions

    with opened_resolutions(settings_from(**flags)) as resolutions:
        each(
            links,
            lambda link: resolutions.record(PersistentUrl.parse(link)),
            lambda record: print_json(record) if as_json else click.echo(printable(str(record["url"]))),
        )
