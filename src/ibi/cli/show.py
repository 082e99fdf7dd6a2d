"""`ibi show` prints the record of an item, now or in an earlier version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from ibi.cli.options import read_label, setting_options, settings_to_read
from ibi.cli.output import as_json_option, each

if TYPE_CHECKING:
    from collections.abc import Callable

    from ibi.cli.item_output import Links
    from ibi.label import Label
    from ibi.model.file import File
    from ibi.model.item import Item
    from ibi.services.items.archive_store import ArchiveStore

    Opened = tuple[list[File], Callable[[File, int], Iterable[bytes]]]
    """The files of an item, and a function that reads one from an offset on."""


@click.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@click.option("--version", "number", metavar="N", type=click.IntRange(min=1), help="As it was in that version.")
@as_json_option
@setting_options("data", "config", "server", "token")
def show(labels: tuple[str, ...], number: int | None, *, as_json: bool, **flags: str | None) -> None:
    """Show items: their labels, description, relations and files."""
    from ibi.cli.item_output import links, print_item

    settings = settings_to_read(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        client = records_client(settings)

        def read(label: str) -> tuple[Item, Links, bool]:
            this = read_label(label)
            record = client.record(this) if number is None else client.version(this, number)
            item = item_of(record, settings)
            return item, links_of(record, item), record.get("unconfirmed") is True

        each(labels, read, lambda found: print_item(*found[:2], as_json=as_json, is_unconfirmed=found[2]))
        return
    from ibi.cli.archive_store import is_unconfirmed, opened_store

    with opened_store(settings) as store:
        each(
            labels,
            lambda label: _item(store, read_label(label), number),
            lambda item: print_item(
                item, links(item, settings), as_json=as_json, is_unconfirmed=is_unconfirmed(settings, item)
            ),
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
