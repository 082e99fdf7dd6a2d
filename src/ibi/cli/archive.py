"""`ibi archive`: the Archive itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import click

from ibi.cli.archive_membership import MEMBERSHIP_COMMANDS
from ibi.cli.archive_move import move
from ibi.cli.options import WholeHelpGroup, setting_options, settings_to_mint
from ibi.cli.output import as_json_option, print_json, print_lines

if TYPE_CHECKING:
    from ibi.config import Settings
    from ibi.model.membership import ArchiveRecord


_where = setting_options("data", "config", "server", "token")


@click.group(cls=WholeHelpGroup)
def archive() -> None:
    """Begin an Archive, see how it is, and have a resolver ask it."""


for _each in (*MEMBERSHIP_COMMANDS, move):
    archive.add_command(_each)


@archive.command()
@click.option("--title", metavar="TEXT", default="Archive service", help="What the Archive's own item is called.")
@as_json_option
@_where
def init(title: str, *, as_json: bool, **flags: str | None) -> None:
    """Begin an Archive: its own service becomes an item with a label, by which resolvers will know it."""
    from ibi.cli.archive_store import local_settings

    begin_and_print(local_settings(flags, settings_to_mint), title, as_json=as_json)


def begin_and_print(settings: Settings, title: str, *, as_json: bool) -> None:
    """Begin the Archive of the data directory, and show the links of its own item."""
    from ibi.cli.archive_store import opened_archive, who
    from ibi.cli.item_output import links, print_links
    from ibi.services.items.archive_beginning import begin_archive
    from ibi.storage.archive_state import ArchiveRecordFile
    from ibi.storage.key_files import KeyFiles
    from ibi.storage.sqlite.transfers import SqliteTransferLedger

    with opened_archive(settings, begin=True) as opened:
        if opened.record is not None:
            raise click.ClickException(f"this Archive was begun before, as {opened.record.service.labels[0]}")
        records = ArchiveRecordFile(settings.data)
        KeyFiles(settings.data).begin()
        record = begin_archive(opened.deposits, records, settings.own_url, title, who())
        with closing(SqliteTransferLedger(settings.data, settings.lock_dir)) as ledger:
            ledger.keep_track()  # else the first server takes the new directory for one put back from a backup
        item = opened.store.find(record.service.labels[0])
        print_links("; ".join(item.metadata.titles()), links(item, settings), as_json=as_json)


@archive.command()
@as_json_option
@_where
def status(*, as_json: bool, **flags: str | None) -> None:
    """Show the labels and addresses of this Archive, whether its resolver asks it and its store is in order."""
    settings = settings_to_mint(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import remote_standing

        fields = remote_standing(settings)
    else:
        fields = _status(settings)
    if as_json:
        print_json(fields)
        return
    lines = {name.replace("_", " "): _shown(value) for name, value in fields.items() if value not in (None, [])}
    print_lines("An Archive" if fields["begun"] else "No Archive yet: `ibi archive init` begins one", lines)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _status(settings: Settings) -> dict[str, object]:
    from ibi.cli.archive_store import opened_archive
    from ibi.composition.archive_site import integrity_status
    from ibi.composition.archive_store import STORE

    if not (settings.data / STORE).is_dir():  # asking for the status must not create a store
        return dict(_standing(settings, None, ()))
    with opened_archive(settings) as opened:
        return {
            **dict(_standing(settings, opened.record, opened.store.swept.unreadable)),
            **dict(integrity_status(opened.store)),
        }


def _standing(
    settings: Settings, record: ArchiveRecord | None, unreadable: Iterable[tuple[str, object]]
) -> Iterator[tuple[str, object]]:
    from ibi.composition.membership import membership_status

    service = None if record is None else record.service
    yield "begun", service is not None
    yield "rep", None if service is None or service.rep is None else service.rep.spelling
    yield "ibip", None if service is None or service.ibip is None else service.ibip.spelling
    yield "data", str(settings.data)
    yield "public_url", settings.own_url
    yield "content_url", settings.content_url or settings.own_url
    yield "resolver", settings.resolver
    yield from membership_status(settings)
    yield "unreadable", [name for name, _ in unreadable]
