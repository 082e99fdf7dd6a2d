"""`ibi show`: what is kept under a label.

Short: each command has a module of its name, which alone is imported for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option, each

if TYPE_CHECKING:
    from ibi.cli.item_output import Links
    from ibi.model.item import Item


@click.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@as_json_option
@setting_options("data", "config", "server", "token")
def show(labels: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Show items: their labels, description, relations and files."""
    from ibi.cli.item_output import links, print_item
    from ibi.label import parse

    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        client = records_client(settings)

        def read(label: str) -> tuple[Item, Links]:
            record = client.record(parse(label))
            item = item_of(record, settings)
            return item, links_of(record, item)

        each(labels, read, lambda found: print_item(*found, as_json=as_json))
        return
    from ibi.cli.archive_store import opened_store

    with opened_store(settings) as store:
        each(
            labels,
            lambda label: store.find(parse(label)),
            lambda item: print_item(item, links(item, settings), as_json=as_json),
        )
