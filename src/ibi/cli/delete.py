"""`ibi delete`: an item goes, and leaves a tombstone.

Short: each command has a module of its name, which alone is imported for it.
"""

from __future__ import annotations

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option


@click.command()
@click.argument("label", metavar="LABEL")
@click.option("--reason", metavar="TEXT", required=True, help="Why; this is public.")
@click.option("--replaced-by", metavar="IBI", help="The item that readers should look at instead.")
@click.option("--purge", is_flag=True, help="Remove earlier versions too, also of an item deleted before: for good.")
@as_json_option
@setting_options("data", "config", "server", "token")
def delete(
    label: str, reason: str, replaced_by: str | None, *, purge: bool, as_json: bool, **flags: str | None
) -> None:
    """Delete an item. Its label stays taken, and says from now on that the item is gone."""
    from ibi.cli.item_output import links, print_item
    from ibi.cli.labels import read_label

    settings, this = settings_from(**flags), read_label(label)
    successor = None if replaced_by is None else read_label(replaced_by)
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        record = records_client(settings).delete(this, reason, successor, purge=purge)
        item = item_of(record, settings)
        found = links_of(record, item)
    else:
        from ibi.cli.archive_store import opened_archive, who

        with opened_archive(settings) as archive:
            item = archive.deposits.delete(this, reason, who(), replaced_by=successor, purge=purge)
        found = links(item, settings)
    if as_json:
        print_item(item, found, as_json=True)
    else:
        click.echo(f"{item.rep.spelling} is {'deleted, with all its versions' if purge else 'deleted'}.")
