"""`ibi changes` lists the changes of an Archive in order, and `ibi dump` writes its public records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ibi.command.options import setting_options, settings_to_read
from ibi.command.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.harvesting.service.dumps import Dump
    from ibi.items.model.change import ChangePage, ItemChange
    from ibi.items.ports.catalog import ChangeFeed
    from ibi.items.service.archive_store import ArchiveStore


_PAGE: Final = 1_000
_INTERVAL: Final = 0.2
"""Seconds between two looks with `--follow`."""


@click.command()
@click.option("--after", type=click.IntRange(0), default=0, show_default=True, help="The number after which to begin.")
@click.option("--follow", is_flag=True, help="Also list later changes, until the command is interrupted.")
@as_json_option
@setting_options("data", "config")
def changes(after: int, *, follow: bool, as_json: bool, **flags: str | None) -> None:
    """List all changes in order: number, date of the record, kind, version and repository name.

    The kinds are put, deleted and removed. Removed is a Copy that was dropped, or an Original that was given away and
    left no Copy. An Original that was given away and left a Copy is put. Numbers have no gaps. A rebuild of the
    catalogue begins a new epoch: the numbers begin again, with one entry for each item.
    """
    from ibi.command.archive_store import local_settings, opened_store

    with opened_store(local_settings(flags, settings_to_read)) as store:
        for epoch, change in _entries(store.changes, after, follow=follow):
            if as_json:
                print_json({"epoch": epoch, **_fields(change)})
            else:
                click.echo(f"{change.number:>8}  {change.at:<20}  {change.kind:<7}  v{change.head:<3} {change.label}")


def _entries(feed: ChangeFeed, after: int, *, follow: bool) -> Iterator[tuple[str, ItemChange]]:
    page = feed.since(after, _PAGE)
    if after > page.end:
        raise click.UsageError(f"the feed ends at {page.end}: it may have begun again since; use --after 0")
    epoch = page.epoch
    while page.changes or follow:
        yield from ((epoch, change) for change in page.changes)
        after = page.changes[-1].number if page.changes else after
        page = _next_page(feed, after, page, follow=follow)
        if page.epoch != epoch:
            click.echo("The catalogue was rebuilt: a new epoch begins, with one entry for each item.", err=True)
            epoch, page = page.epoch, feed.since(0, _PAGE)


def _next_page(feed: ChangeFeed, after: int, last: ChangePage, *, follow: bool) -> ChangePage:
    if follow and not last.changes:
        time.sleep(_INTERVAL)
    return feed.since(after, _PAGE)


def _fields(change: ItemChange) -> dict[str, object]:
    from ibi.standard.instant import Instant

    return {
        "number": change.number,
        "label": change.label,
        "kind": change.kind.value,
        "at": change.at,
        "version": change.head,
        "listed": str(Instant(change.listed)),
        "related": change.related,
    }


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), required=False)
@setting_options("data", "config")
def dump(file: Path | None, **flags: str | None) -> None:
    """Write the public record of every item to FILE, as one line of JSON. Without FILE, or with -, write to standard
    output.

    The first line has the position of the dump in the feed of changes: the epoch and a number N. Later changes,
    including those made while the dump is written, are listed by `ibi changes --after N`. FILE is compressed if its
    name ends with .gz. It is written whole or not at all, and replaces an existing file.
    """
    from ibi.command.archive_store import local_settings, opened_store

    with opened_store(local_settings(flags, settings_to_read)) as store:
        made = _write(store, file)
        for label, error in made.unreadable:
            click.echo(f"ibi: {label} is not in it: {error}", err=True)
        position = made.position
        click.echo(f"{made.records} records, epoch {position.epoch}, up to change {position.end}", err=True)


def _write(store: ArchiveStore, file: Path | None) -> Dump:
    from ibi.harvesting.service.dumps import Dump
    from ibi.harvesting.store import write_dump
    from ibi.storage.machine import MachineClocks

    made = Dump(store.changes, store.catalog, MachineClocks().read().wall)
    if file is not None and str(file) != "-":
        write_dump(file, made.lines())
        return made
    for line in made.lines():
        click.echo(line, nl=False)
    return made
