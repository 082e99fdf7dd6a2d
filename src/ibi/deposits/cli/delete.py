"""`ibi delete` removes an item and leaves a tombstone."""

from __future__ import annotations

from typing import Any

import click

from ibi.command.options import setting_options, settings_from
from ibi.command.output import as_json_option, print_json


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
    from ibi.command.item_output import print_item
    from ibi.command.items import LinkedItem, item_changes
    from ibi.command.options import read_label

    settings, this = settings_from(**flags), read_label(label)
    successor = None if replaced_by is None else read_label(replaced_by)
    deleted = item_changes(settings).delete(this, reason, successor, purge=purge)
    if not isinstance(deleted, LinkedItem):
        _print_request(deleted.draft, this.spelling, as_json=as_json)
    elif as_json:
        print_item(deleted.item, deleted.links, as_json=True)
    else:
        click.echo(f"{deleted.item.rep.spelling} is {'deleted, with all its versions' if purge else 'deleted'}.")


def _print_request(draft: dict[str, Any], label: str, *, as_json: bool) -> None:
    """Print a deletion that waits for a librarian."""
    from ibi.net.api_client import one_line

    if as_json:
        print_json(draft)
        return
    click.echo(f"The deletion of {label} waits for a librarian. The item is unchanged until then.")
    click.echo(f"See what was said with: ibi review {one_line(str(draft.get('id')))}")
