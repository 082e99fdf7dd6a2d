"""`ibi rebuild`: make the catalogue anew from the store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ibi.cli.options import jobs_option, setting_options
from ibi.cli.output import as_json_option, print_json

_EMPTIED = ("accounts", "collections", "people", "registry", "subscriptions")


@click.command()
@click.option("--empty", type=click.Choice(_EMPTIED), help="Set this database aside instead, and begin an empty one.")
@jobs_option
@as_json_option
@setting_options("data", "config", "server", "token")
def rebuild(*, empty: str | None, jobs: int | None, as_json: bool, **flags: str | None) -> None:
    """Make the catalogue anew from the store alone. A server may go on working meanwhile."""
    from ibi.cli.archive_store import local_settings
    from ibi.composition.archive_store import STORE, rebuild_catalogue
    from ibi.composition.store_workers import reading_workers

    data = local_settings(flags).data
    if empty is not None:
        _begin_empty(data / f"{empty}.sqlite", as_json=as_json)
        return
    if not (data / STORE).is_dir():
        raise click.ClickException(f"nothing was deposited in {data} yet")
    with reading_workers(data, jobs) as read_ahead, _progress() as on_item:
        listed = rebuild_catalogue(data, on_item, read_ahead)
    kept = listed.looked_at - len(listed.unreadable)
    for name, error in listed.unreadable:
        click.echo(f"ibi: {name}: {error}", err=True)
    if as_json:
        print_json({"items": kept, "removed": listed.removed, "unreadable": [name for name, _ in listed.unreadable]})
    else:
        click.echo(f"The catalogue has {kept} items.")
        if listed.removed:
            click.echo(f"{listed.removed} that it had are not in the store any more: put them back from a backup.")
    if listed.unreadable:
        raise SystemExit(1)


def _begin_empty(path: Path, *, as_json: bool) -> None:
    """Set a database aside; the next command or server that opens it creates an empty one."""
    from ibi.storage.sqlite.connection import forget_begun, set_aside

    forget_begun(path)
    aside = set_aside(path)
    if as_json:
        print_json({"database": path.name, "aside": None if aside is None else aside.name})
        return
    click.echo(f"{path.name} begins empty." if aside is None else f"{path.name} is {aside.name} now, and begins empty.")
    click.echo("A server that is running has to be started again.")


@contextmanager
def _progress() -> Iterator[Callable[[], None]]:
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("rebuilding"), TextColumn("{task.completed} items"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda: bar.advance(task)
