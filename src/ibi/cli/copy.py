"""`ibi copy`, `ibi refresh` and `ibi drop`: Copies of items of other Archives. `ibi transfers take-lost` and `yield`:
Originals about which the resolver has decided."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from ibi.cli.options import read_label, setting_options, settings_from
from ibi.cli.output import as_json_option, each, print_json
from ibi.safe_text import printable

if TYPE_CHECKING:
    from ibi.cli.archive_store import Archive
    from ibi.config import Settings
    from ibi.errors import IbiError
    from ibi.federation.standing import RegisteredArchive
    from ibi.label import Label
    from ibi.model.item import Item
    from ibi.services.copies.copying import Brought
    from ibi.services.items.item_repository import ItemRepository
    from ibi.services.transfers.item_chains import ItemChains
    from ibi.services.transfers.worker import TransferWorker


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
        from ibi.cli.remote_items import copy_remotely

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
    from ibi.cli.archive_store import opened_store, who
    from ibi.cli.item_output import progress
    from ibi.composition.copies import copying_here
    from ibi.services.copies.jobs import bring_many
    from ibi.storage.archive_state import ArchiveRecordFile
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
    from ibi.errors import IbiError

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
        from ibi.cli.remote_items import copy_remotely, remote_copies

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


@click.command()
@click.argument("labels", metavar="IBI|URL...", nargs=-1, required=True)
@setting_options("data", "config", "server", "token")
def drop(labels: tuple[str, ...], **flags: str | None) -> None:
    """Remove Copies, bytes and all. The Originals stay where they are; an Original here is refused."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import drop_remotely

        each(labels, lambda text: drop_remotely(settings, read_label(text)), _tell_dropped)
        return
    from ibi.cli.archive_store import opened_store, who
    from ibi.composition.copies import copying_here
    from ibi.storage.archive_state import ArchiveRecordFile
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


# --- settled ----------------------------------------------------------------------------------------------------------


@click.command("take-lost")
@click.argument("labels", metavar="[LABEL...]", nargs=-1)
@click.option("--of", "service", metavar="SERVICE_IBI", help="All Copies here of items of this Archive, which is lost.")
@click.option("--dry-run", is_flag=True, help="Print what would be asked for, and change nothing.")
@setting_options("data", "config")
def take_lost(labels: tuple[str, ...], *, service: str | None, dry_run: bool, **flags: str | None) -> None:
    """Make Originals of the Copies of an Archive that is lost, where the resolver names this one as its successor."""
    from ibi.errors import IbiError

    if bool(labels) == (service is not None):
        raise click.UsageError("name items, or give --of")
    refused = found = 0
    with _open_transfers(flags) as (archive, worker):
        for item in _wanted(archive, worker, labels, service):
            found += 1
            try:
                told = "Copy" if dry_run else worker.ask_for_lost(item).stage.value
                click.echo(printable(f"{item.rep}  {told}"))
            except IbiError as error:
                refused += 1
                click.echo(printable(f"{item.rep}  {error}"), err=True)
    if not found:
        click.echo(f"ibi: there are no Copies here of items of {service}", err=True)
    if refused:
        raise SystemExit(1)


def _wanted(archive: Archive, worker: TransferWorker, labels: tuple[str, ...], service: str | None) -> Iterator[Item]:
    """Yield the named items, or the Copies of the named Archive."""
    if service is None:
        yield from map(archive.store.find, map(read_label, labels))
        return
    label = read_label(service)
    yield from copies_of(archive.store, worker.chains, label, worker.receiving.senders.find(label))


@click.command("yield")
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@token_option
@setting_options("data", "config")
def yield_(labels: tuple[str, ...], source_token: str | None, **flags: str | None) -> None:
    """Make Copies of Originals over which the resolver has settled a dispute for another Archive."""
    from ibi.composition.copies import asking_resolver, copying_here
    from ibi.storage.machine import MachineClocks

    with _open_transfers(flags) as (archive, worker):
        find = None if worker.resolver is None else asking_resolver(worker.resolver)
        copying = copying_here(archive.settings, archive.store, archive.record, MachineClocks(), find_source=find)
        token = token_given(archive.settings, source_token)
        for item in map(archive.store.find, map(read_label, labels)):
            holder = worker.yield_original(item, copying, token)
            click.echo(printable(f"{item.rep}  a Copy of what {holder} has"))


def copies_of(
    repository: ItemRepository, chains: ItemChains, service: Label, known: RegisteredArchive | None = None
) -> Iterator[Item]:
    """Yield the Copies here of Originals of that Archive, by their chains or by the prefix of their labels.

    The item of its service is not among them. `known` is the Archive in the register, with all forms of its label and
    all prefixes for which it is the home.
    """
    from ibi.label.search import home_prefix
    from ibi.vocabulary import State

    names = frozenset((service,) if known is None else (service, *known.labels))
    prefixes = frozenset(map(home_prefix, names)) | (frozenset() if known is None else known.prefixes)
    for item in repository.catalog.items():
        is_copy = item.state is State.COPY and names.isdisjoint(item.labels.labels)
        if is_copy and _was_at(names, chains.chain(item.rep).successors, prefixes, item):
            yield item


def _was_at(names: frozenset[Label], successors: tuple[Label, ...], prefixes: frozenset[str], item: Item) -> bool:
    """Return whether the Original was at that Archive, as far as this Archive knows. Items that it gave away are
    included: the resolver names their new holder."""
    from ibi.label.search import home_prefix

    return not names.isdisjoint(successors[-1:]) or not prefixes.isdisjoint(map(home_prefix, item.labels.labels))


@contextmanager
def _open_transfers(flags: dict[str, str | None]) -> Iterator[tuple[Archive, TransferWorker]]:
    from ibi.cli.archive_store import local_settings, opened_archive
    from ibi.cli.transfer import transfers_of

    with ExitStack() as opened:
        archive = opened.enter_context(opened_archive(local_settings(flags)))
        yield archive, transfers_of(archive, opened, resolves=True)
