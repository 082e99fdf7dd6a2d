"""`ibi archive`: the Archive itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ibi.cli.archive_membership import MEMBERSHIP_COMMANDS
from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option, print_json, print_lines

if TYPE_CHECKING:
    from ibi.cli.archive_store import Archive

__all__ = ["archive"]

_where = setting_options("data", "config", "server", "token")


@click.group()
def archive() -> None:
    """Begin an Archive, see how it is, and have a resolver ask it."""


for _each in MEMBERSHIP_COMMANDS:
    archive.add_command(_each)


@archive.command()
@click.option("--title", metavar="TEXT", default="Archive service", help="What the Archive's own item is called.")
@as_json_option
@_where
def init(title: str, *, as_json: bool, **flags: str | None) -> None:
    """Begin an Archive: its own service becomes an item with a label, by which resolvers will know it."""
    from ibi.cli.archive_store import local_settings, opened_archive, who
    from ibi.cli.item_output import links, print_links
    from ibi.services.archive_beginning import begin_archive

    with opened_archive(local_settings(**flags), begin=True) as opened:
        if opened.record is not None:
            raise click.ClickException(f"this Archive was begun before, as {opened.record.service.labels[0]}")
        settings = opened.settings
        record = begin_archive(opened.deposits, settings.data, settings.own_url, title, who())
        item = opened.store.find(record.service.labels[0])
        print_links("; ".join(item.metadata.titles()), links(item, settings), as_json=as_json)


@archive.command()
@as_json_option
@_where
def status(*, as_json: bool, **flags: str | None) -> None:
    """Show the labels and addresses of this Archive, whether its resolver asks it and its store is in order."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import remote_standing

        fields = remote_standing(settings)
    else:
        from ibi.cli.archive_store import opened_archive

        with opened_archive(settings) as opened:
            fields = dict(_status(opened))
    if as_json:
        print_json(fields)
        return
    lines = {name.replace("_", " "): str(value) for name, value in fields.items() if value not in (None, [])}
    print_lines("An Archive" if fields["begun"] else "No Archive yet: `ibi archive init` begins one", lines)


def _status(opened: Archive) -> Iterator[tuple[str, object]]:
    from ibi.cli.membership import membership_status

    service = None if opened.record is None else opened.record.service
    yield "begun", service is not None
    yield "rep", None if service is None or service.rep is None else service.rep.spelling
    yield "ibip", None if service is None or service.ibip is None else service.ibip.spelling
    yield "data", str(opened.settings.data)
    yield "public_url", opened.settings.own_url
    yield "content_url", opened.settings.content_url or opened.settings.own_url
    yield "resolver", opened.settings.resolver
    yield from membership_status(opened.settings)
    yield "unreadable", [name for name, _ in opened.store.swept.unreadable]
