"""`ibi stats` shows how often items were resolved and downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ibi.command.options import setting_options, settings_from
from ibi.command.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.settings import Settings
    from ibi.usage.model import Usage


_COLUMNS = ("resolutions", "downloads", "robot_resolutions", "robot_downloads")


@click.command()
@click.argument("label", metavar="[LABEL]", required=False)
@as_json_option
@setting_options("data", "config", "server", "token")
def stats(label: str | None, *, as_json: bool, **flags: str | None) -> None:
    """Show how often items were resolved and downloaded, robots apart: each item, or one item day by day."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.command.remote_items import remote_usage

        counts = list(remote_usage(settings, label))
    else:
        counts = list(_totals(settings) if label is None else _days(settings, label))
    if as_json:
        for named, usage in counts:
            print_json({**named, **asdict(usage)})
        return
    _print_table([(named["rep"] if label is None else named["date"], usage) for named, usage in counts])


def _totals(settings: Settings) -> Iterator[tuple[dict[str, str], Usage]]:
    from ibi.usage.store import FILE_NAME, SqliteUsageLog

    path = settings.data / FILE_NAME
    if not path.exists():  # nothing was counted yet, and reading must not create the file
        return
    log = SqliteUsageLog(path)
    try:
        yield from (({"rep": str(rep)}, usage) for rep, usage in log.totals())
    finally:
        log.close()


def _days(settings: Settings, label: str) -> Iterator[tuple[dict[str, str], Usage]]:
    from ibi.command.archive_store import opened_store
    from ibi.command.options import read_label
    from ibi.usage.store import FILE_NAME, SqliteUsageLog

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
