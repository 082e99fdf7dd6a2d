"""`ibi show`: what is kept under a label."""

from __future__ import annotations

import click

from ibi.cli.options import setting_options
from ibi.cli.output import as_json_option, each

__all__ = ["show"]


@click.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@as_json_option
@setting_options("data", "config", "server", "token")
def show(labels: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Show items: their labels, description, relations and files."""
    from ibi.cli.archive_store import local_settings, opened_store
    from ibi.cli.item_output import print_item
    from ibi.label import parse

    settings = local_settings(**flags)
    with opened_store(settings) as store:
        each(
            labels,
            lambda label: store.find(parse(label)),
            lambda item: print_item(item, settings, as_json=as_json),
        )
