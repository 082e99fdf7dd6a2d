"""`ibi copy`, `ibi refresh` and `ibi drop`: Copies of items of other Archives. `ibi transfers take-lost` and `yield`:
Originals about which the resolver has decided."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from ibi.command.options import read_label, setting_options, settings_from
from ibi.command.output import as_json_option, each, print_json
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.copies.service.copying import Brought
    from ibi.settings import Settings
    from ibi.standard.errors import IbiError
    from ibi.standard.label import Label


token_option = click.option(
    "--token",
    "source_token",
    metavar="TOKEN",
    help="Shown to the Archive that has the items, for restricted ones: one of its tokens of the scope copy. Better"
    " given as the variable IBI_COPIES_TOKEN, because other users of a machine see flags.",
)
from_option = click.option(
    "--from",
    "source",
    metavar="URL",
    help="The Archive that keeps the Originals, http://HOST[:PORT]; without it the resolver is asked for each.",
)


@click.command()
@click.argument("items", metavar="IBI|URL...", nargs=-1, required=True)
@from_option
@token_option
@as_json_option
@setting_options("data", "config", "server")
def copy(
    items: tuple[str, ...], source: str | None, source_token: str | None, *, as_json: bool, **flags: str | None
) -> None:
    """Make Copies of items of other Archives, or refresh those that are here: whole or not at all, every digest
    checked. What breaks off is gone on with when it is asked for again. `-` reads labels from standard input."""
    settings = settings_from(**flags)
    labels = list(dict.fromkeys(read_label(text) for text in _texts(items)))
    source_token = token_given(settings, source_token)
    if settings.is_remote:
        from ibi.copies.cli.remote_copies import copy_remotely

        copy_remotely(settings, labels, source, source_token, as_json=as_json)
    else:
        copy_here(settings, labels, source, source_token, as_json=as_json)


def token_given(settings: Settings, flag: str | None) -> str | None:
    """Return the token for the other Archive, from the flag or the variable."""
    if flag is None and settings.copies.token is not None:
        return settings.copies.token.reveal()
    return flag


def _texts(items: Iterable[str]) -> Iterator[str]:
    for text in items:
        if text == "-":
            yield from (line.strip() for line in sys.stdin if line.strip())
        else:
            yield text


def copy_here(settings: Settings, labels: list[Label], source: str | None, token: str | None, *, as_json: bool) -> None:
    """Make the Copies in the data directory. Exit with 1 if one of them was refused."""
    from ibi.command.archive_store import opened_store, who
    from ibi.command.item_output import progress
    from ibi.copies.opening import copying_here
    from ibi.copies.service.jobs import bring_many
    from ibi.membership.store.archive_state import ArchiveRecordFile
    from ibi.storage.machine import MachineClocks

    failed = False
    with opened_store(settings, begin=True, changing=True) as store:
        copying = copying_here(settings, store, ArchiveRecordFile(settings.data).read(), MachineClocks())
        with progress("copying", None) as on_bytes:
            for label, outcome in bring_many(copying, labels, source, token, on_bytes, who=who()):
                failed |= not tell_outcome(label, outcome, as_json=as_json)
    if failed:
        raise SystemExit(1)


def tell_outcome(label: Label, outcome: Brought | IbiError, *, as_json: bool) -> bool:
    """Print the outcome for one label. Return whether it succeeded."""
    from ibi.standard.errors import IbiError

    if isinstance(outcome, IbiError):
        if as_json:
            print_json({"label": str(label), "outcome": "refused", "code": outcome.code, "reason": str(outcome)})
        click.echo(f"ibi: {printable(f'{label}: {outcome}')}", err=True)
        return False
    words = _words(outcome)
    if as_json:
        print_json({"label": str(label), "outcome": words, "rep": str(outcome.item.rep), "size": outcome.size})
    else:
        click.echo(f"{outcome.item.rep.spelling} is {'a Copy here' if words == 'copied' else words}")
    return True


def _words(brought: Brought) -> str:
    if not brought.changed:
        return "unchanged"
    if brought.item.original_tombstone is not None:
        return "deleted at its Original"
    return "copied" if brought.is_new else "refreshed"


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
        from ibi.copies.cli.remote_copies import copy_remotely, remote_copies

        copy_remotely(settings, named or remote_copies(settings), source, source_token, as_json=as_json)
        return
    from ibi.command.archive_store import opened_store
    from ibi.standard.vocabulary import State

    with opened_store(settings) as store:
        if not named:
            named = [item.rep for item in store.catalog.items() if item.state is State.COPY]
        for label in named:
            if store.find(label).state is not State.COPY:
                raise click.ClickException(f"{label} is no Copy: its {store.find(label).state.value} is here")
    copy_here(settings, named, source, source_token, as_json=as_json)


@click.command()
@click.argument("labels", metavar="IBI|URL...", nargs=-1, required=True)
@setting_options("data", "config", "server", "token")
def drop(labels: tuple[str, ...], **flags: str | None) -> None:
    """Remove Copies, bytes and all. The Originals stay where they are; an Original here is refused."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.copies.cli.remote_copies import drop_remotely

        each(labels, lambda text: drop_remotely(settings, read_label(text)), _tell_dropped)
        return
    from ibi.command.archive_store import opened_store, who
    from ibi.copies.opening import copying_here
    from ibi.membership.store.archive_state import ArchiveRecordFile
    from ibi.storage.machine import MachineClocks

    with opened_store(settings, changing=True) as store:
        copying = copying_here(settings, store, ArchiveRecordFile(settings.data).read(), MachineClocks())

        def drop_one(text: str) -> str:
            label = read_label(text)
            copying.drop(label, who())
            return label.spelling

        each(labels, drop_one, _tell_dropped)


def _tell_dropped(label: str) -> None:
    click.echo(f"{label} is dropped: no Copy of it is here any more")
