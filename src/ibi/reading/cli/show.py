"""`ibi show` prints the record of an item, now or in an earlier version."""

from __future__ import annotations

import click

from ibi.command.items import opened_items
from ibi.command.options import read_label, setting_options, settings_to_read
from ibi.command.output import as_json_option, each


@click.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@click.option("--version", "number", metavar="N", type=click.IntRange(min=1), help="As it was in that version.")
@as_json_option
@setting_options("data", "config", "server", "token")
def show(labels: tuple[str, ...], number: int | None, *, as_json: bool, **flags: str | None) -> None:
    """Show items: their labels, description, relations and files."""
    from ibi.command.item_output import print_item

    with opened_items(settings_to_read(**flags)) as items:
        each(
            labels,
            lambda label: items.find(read_label(label), number),
            lambda found: print_item(found.item, found.links, as_json=as_json, is_unconfirmed=found.is_unconfirmed),
        )
