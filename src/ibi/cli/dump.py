"""`ibi dump`: all public records of the Archive of a data directory, as lines of JSON. Short, as it only calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibi.cli.options import setting_options

if TYPE_CHECKING:
    from ibi.services.items.archive_store import ArchiveStore
    from ibi.services.items.dumping import Dump


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), required=False)
@setting_options("data", "config")
def dump(file: Path | None, **flags: str | None) -> None:
    """Write the public record of every item as a line of JSON, to FILE or to standard output (which is - too).

    The first line says where the dump stands: the epoch of the feed of changes, and the number after which to go on
    with it (`ibi changes --after N`). Items may change meanwhile. A FILE whose name ends with .gz is compressed; it is
    written whole or not at all, and takes the place of one that is there.
    """
    from ibi.cli.archive_store import local_settings, opened_store

    with opened_store(local_settings(flags)) as store:
        made = _write(store, file)
        for label, error in made.unreadable:
            click.echo(f"ibi: {label} is not in it: {error}", err=True)
        position = made.position
        click.echo(f"{made.records} records, epoch {position.epoch}, up to change {position.end}", err=True)


def _write(store: ArchiveStore, file: Path | None) -> Dump:
    from ibi.services.items.dumping import Dump
    from ibi.storage.dump_files import write_dump
    from ibi.storage.machine import MachineClocks

    made = Dump(store.changes, store.catalog, MachineClocks().read().wall)
    if file is not None and str(file) != "-":
        write_dump(file, made.lines())
        return made
    for line in made.lines():
        click.echo(line, nl=False)
    return made
