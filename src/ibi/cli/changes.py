"""`ibi changes` lists the changes of an Archive in order, `ibi dump` writes its public records, and `ibi stats` shows
its use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ibi.cli.options import setting_options, settings_from, settings_to_read
from ibi.cli.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.config import Settings
    from ibi.model.change import ChangePage, ItemChange
    from ibi.model.usage import Usage
    from ibi.ports.catalog import ChangeFeed
    from ibi.services.items.archive_store import ArchiveStore
    from ibi.services.items.dumps import Dump


_PAGE: Final = 1_000
_INTERVAL: Final = 0.2
"""Seconds between two looks with `--follow`."""


@click.command()
@click.option("--after", type=click.IntRange(0), default=0, show_default=True, help="The number after which to begin.")
@click.option("--follow", is_flag=True, help="Go on with what changes from now on, until the command is interrupted.")
@as_json_option
@setting_options("data", "config")
def changes(after: int, *, follow: bool, as_json: bool, **flags: str | None) -> None:
    """List what changed, in order: number, date of the record, kind, version and repository name.

    Kinds are put, deleted and removed (a Copy that was dropped, or an Original that was given away and left no Copy).
    An Original that was given away and stays as a Copy is put. Numbers have no gaps. A rebuild of the catalogue begins
    another epoch: numbers begin again, with one entry for each item.
    """
    from ibi.cli.archive_store import local_settings, opened_store

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
    from ibi.instant import Instant

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
    """Write the public record of every item as a line of JSON, to FILE or to standard output (which is - too).

    The first line says where the dump stands: the epoch of the feed of changes, and the number after which to go on
    with it (`ibi changes --after N`). Items may change meanwhile. A FILE whose name ends with .gz is compressed; it is
    written whole or not at all, and takes the place of one that is there.
    """
    from ibi.cli.archive_store import local_settings, opened_store

    with opened_store(local_settings(flags, settings_to_read)) as store:
        made = _write(store, file)
        for label, error in made.unreadable:
            click.echo(f"ibi: {label} is not in it: {error}", err=True)
        position = made.position
        click.echo(f"{made.records} records, epoch {position.epoch}, up to change {position.end}", err=True)


def _write(store: ArchiveStore, file: Path | None) -> Dump:
    from ibi.services.items.dumps import Dump
    from ibi.storage.dump_files import write_dump
    from ibi.storage.machine import MachineClocks

    made = Dump(store.changes, store.catalog, MachineClocks().read().wall)
    if file is not None and str(file) != "-":
        write_dump(file, made.lines())
        return made
    for line in made.lines():
        click.echo(line, nl=False)
    return made


# --- stats ------------------------------------------------------------------------------------------------------------


_COLUMNS = ("resolutions", "downloads", "robot_resolutions", "robot_downloads")


@click.command()
@click.argument("label", metavar="[LABEL]", required=False)
@as_json_option
@setting_options("data", "config", "server", "token")
def stats(label: str | None, *, as_json: bool, **flags: str | None) -> None:
    """Show how often items were resolved and downloaded, robots apart: each item, or one item day by day."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import remote_usage

        counts = list(remote_usage(settings, label))
    else:
        counts = list(_totals(settings) if label is None else _days(settings, label))
    if as_json:
        for named, usage in counts:
            print_json({**named, **asdict(usage)})
        return
    _print_table([(named["rep"] if label is None else named["date"], usage) for named, usage in counts])


def _totals(settings: Settings) -> Iterator[tuple[dict[str, str], Usage]]:
    from ibi.storage.sqlite.usage import FILE_NAME, SqliteUsageLog

    path = settings.data / FILE_NAME
    if not path.exists():  # nothing was counted yet, and reading must not create the file
        return
    log = SqliteUsageLog(path)
    try:
        yield from (({"rep": str(rep)}, usage) for rep, usage in log.totals())
    finally:
        log.close()


def _days(settings: Settings, label: str) -> Iterator[tuple[dict[str, str], Usage]]:
    from ibi.cli.archive_store import opened_store
    from ibi.cli.options import read_label
    from ibi.storage.sqlite.usage import FILE_NAME, SqliteUsageLog

    with opened_store(settings) as store:
        rep = store.find(read_label(label)).rep
    path = settings.data / FILE_NAME
    if not path.exists():
        return
    log = SqliteUsageLog(path)
    try:
        yield from (({"rep": str(rep), "date": day.date}, usage) for day, usage in log.days(rep))
    finally:
        log.close()


def _print_table(rows: list[tuple[str, Usage]]) -> None:
    if not rows:
        click.echo("Nothing was counted yet.")
        return
    width = max(len(name) for name, _ in rows)
    click.echo("  ".join(["".ljust(width), *(name.replace("_", " ").rjust(17) for name in _COLUMNS)]))
    for name, usage in rows:
        click.echo("  ".join([name.ljust(width), *(str(getattr(usage, each)).rjust(17) for each in _COLUMNS)]))
