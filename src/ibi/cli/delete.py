"""`ibi delete`: an item goes, and leaves a tombstone."""

from __future__ import annotations

import click

from ibi.cli.options import setting_options
from ibi.cli.output import as_json_option

__all__ = ["delete"]


@click.command()
@click.argument("label", metavar="LABEL")
@click.option("--reason", metavar="TEXT", required=True, help="Why; everybody may read it.")
@click.option("--replaced-by", metavar="IBI", help="The item that readers should look at instead.")
@click.option("--purge", is_flag=True, help="Remove earlier versions too, also of an item deleted before: for good.")
@as_json_option
@setting_options("data", "config", "server", "token")
def delete(
    label: str, reason: str, replaced_by: str | None, *, purge: bool, as_json: bool, **flags: str | None
) -> None:
    """Delete an item. Its label stays taken, and says from now on that the item is gone."""
    from ibi.cli.archive_store import local_settings, opened_archive, who
    from ibi.cli.item_output import print_item
    from ibi.label import parse

    settings = local_settings(**flags)
    with opened_archive(settings) as archive:
        successor = None if replaced_by is None else parse(replaced_by)
        item = archive.deposits.delete(parse(label), reason, who(), replaced_by=successor, purge=purge)
    if as_json:
        print_item(item, settings, as_json=True)
    else:
        click.echo(f"{item.rep.spelling} is {'deleted, with all its versions' if purge else 'deleted'}.")
