"""`ibi restore`: an earlier version of an item becomes its newest.

Short, because each command has a module of its name, which alone is imported for it.
"""

from __future__ import annotations

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option


@click.command()
@click.argument("label", metavar="LABEL")
@click.option(
    "--version",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    required=True,
    help="As `ibi versions` numbers them.",
)
@click.option("--message", metavar="TEXT", help="Why, for the history of the item.")
@as_json_option
@setting_options("data", "config", "server", "token")
def restore(label: str, number: int, message: str | None, *, as_json: bool, **flags: str | None) -> None:
    """Make description and files of an earlier version those of a new one; relations and visibility stay."""
    from ibi.cli.item_output import links, print_updated
    from ibi.cli.labels import read_label

    settings, this = settings_from(**flags), read_label(label)
    gone: list[str] = []
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        record = records_client(settings).restore(this, number, message)
        item = item_of(record, settings)
        found = links_of(record, item)
    else:
        from ibi.cli.archive_store import opened_archive, who
        from ibi.services.items.versions import Restoring
        from ibi.storage.machine import MachineClocks

        with opened_archive(settings) as archive:
            restoring = Restoring(archive.store, archive.deposits, MachineClocks())
            restored = restoring.restore(this, number, who(), message)
        item, gone = restored.item, [warning.path for warning in restored.warnings]
        found = links(item, settings)
    print_updated("; ".join(item.metadata.titles()), found, item.version, gone, as_json=as_json)
