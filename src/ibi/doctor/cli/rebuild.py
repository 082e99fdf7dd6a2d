"""`ibi rebuild` makes a new catalogue from the store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ibi.command.options import jobs_option, setting_options
from ibi.command.output import as_json_option, print_json

_PARTS = {"accounts": "tokens", **{name: name for name in ("collections", "people", "registry", "subscriptions")}}
_EMPTIED = (*_PARTS, "state")


@click.command()
@click.option("--empty", type=click.Choice(_EMPTIED), help="Begin this part of the state empty instead.")
@jobs_option
@as_json_option
@setting_options("data", "config", "server", "token")
def rebuild(*, empty: str | None, jobs: int | None, as_json: bool, **flags: str | None) -> None:
    """Rebuild the catalogue from the store alone. A server may go on working meanwhile."""
    from ibi.command.archive_store import local_settings
    from ibi.items.opening.archive_store import STORE, rebuild_catalogue
    from ibi.items.opening.store_workers import reading_workers

    data = local_settings(flags).data
    if empty is not None:
        _begin_empty(data, empty, as_json=as_json)
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


def _begin_empty(data: Path, name: str, *, as_json: bool) -> None:
    """Delete the rows of a part of the state. For `state` itself, set the whole database aside: the next process that
    opens it creates an empty one."""
    from ibi.storage.connection import STATE, set_aside
    from ibi.storage.directory_record import forget_begun
    from ibi.storage.state import empty_part

    if name == "state":
        forget_begun(data / STATE.file_name)
        aside = set_aside(data / STATE.file_name)
        kept = None if aside is None else aside.name
    else:
        copy = empty_part(data, _PARTS[name])
        kept = f"{copy.parent.name}/{copy.name}"
    if as_json:
        print_json({"database": name, "aside": kept})
        return
    click.echo(f"{name} begins empty." if kept is None else f"{name} begins empty; {kept} has what it was.")
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
