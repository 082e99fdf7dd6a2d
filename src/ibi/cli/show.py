"""`ibi show`: what is kept under a label, now or in an earlier version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option, each

if TYPE_CHECKING:
    from ibi.cli.item_output import Links
    from ibi.label import Label
    from ibi.model.item import Item
    from ibi.services.items.archive_store import ArchiveStore


@click.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@click.option("--version", "number", metavar="N", type=click.IntRange(min=1), help="As it was in that version.")
@as_json_option
@setting_options("data", "config", "server", "token")
def show(labels: tuple[str, ...], number: int | None, *, as_json: bool, **flags: str | None) -> None:
    """Show items: their labels, description, relations and files."""
    from ibi.cli.item_output import links, print_item
    from ibi.cli.labels import read_label

    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        client = records_client(settings)

        def read(label: str) -> tuple[Item, Links]:
            this = read_label(label)
            record = client.record(this) if number is None else client.version(this, number)
            item = item_of(record, settings)
            return item, links_of(record, item)

        each(labels, read, lambda found: print_item(*found, as_json=as_json))
        return
    from ibi.cli.archive_store import opened_store

    with opened_store(settings) as store:
        each(
            labels,
            lambda label: _item(store, read_label(label), number),
            lambda item: print_item(item, links(item, settings), as_json=as_json),
        )


def _item(store: ArchiveStore, label: Label, number: int | None) -> Item:
    item = store.find(label)
    if number is None:
        return item
    from ibi.services.items.versions import Versions

    found = Versions(store.content, store.integrity).find(item, number).item
    if found is None:
        raise click.ClickException(f"version {number} of {label} has no record: the item was not here then")
    return found
