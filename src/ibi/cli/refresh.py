"""`ibi refresh`: the Copies here as their Originals are now.

Short: each command has a module of its name, which alone is imported for it.
"""

from __future__ import annotations

import click

from ibi.cli.copy import copy_here, from_option, token_given, token_option
from ibi.cli.labels import read_label
from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option


@click.command()
@click.argument("labels", metavar="[IBI|URL]...", nargs=-1)
@from_option
@token_option
@as_json_option
@setting_options("data", "config", "server")
def refresh(
    labels: tuple[str, ...], source: str | None, source_token: str | None, *, as_json: bool, **flags: str | None
) -> None:
    """Refresh Copies from where they were taken, or from where their Originals are now: those that are named, or all of
    them. One whose Original was deleted keeps its bytes, and says so."""
    settings = settings_from(**flags)
    named = [read_label(text) for text in labels]
    source_token = token_given(settings, source_token)
    if settings.is_remote:
        from ibi.cli.remote_copies import copy_remotely, remote_copies

        copy_remotely(settings, named or remote_copies(settings), source, source_token, as_json=as_json)
        return
    from ibi.cli.archive_store import opened_store
    from ibi.vocabulary import State

    with opened_store(settings) as store:
        if not named:
            named = [item.rep for item in store.catalog.items() if item.state is State.COPY]
        for label in named:
            if store.find(label).state is not State.COPY:
                raise click.ClickException(f"{label} is no Copy: its {store.find(label).state.value} is here")
    copy_here(settings, named, source, source_token, as_json=as_json)
