"""Commands that follow a ruling of the resolver: `ibi transfers take-lost` for the Copies of a lost Archive, and `ibi
transfers yield` after a dispute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

from ibi.command.options import read_label, setting_options
from ibi.copies.cli.copy import token_given, token_option
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.command.archive_store import Archive
    from ibi.items.model.item import Item
    from ibi.items.service.item_repository import ItemRepository
    from ibi.standard.label import Label
    from ibi.transfers.rules.standing import RegisteredArchive
    from ibi.transfers.service.item_chains import ItemChains
    from ibi.transfers.service.worker import TransferWorker


@click.command("take-lost")
@click.argument("labels", metavar="[LABEL...]", nargs=-1)
@click.option("--of", "service", metavar="SERVICE_IBI", help="All Copies here of items of this Archive, which is lost.")
@click.option("--dry-run", is_flag=True, help="Print what would be asked for, and change nothing.")
@setting_options("data", "config")
def take_lost(labels: tuple[str, ...], *, service: str | None, dry_run: bool, **flags: str | None) -> None:
    """Make Originals of the Copies of an Archive that is lost, where the resolver names this one as its successor."""
    from ibi.standard.errors import IbiError

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
    from ibi.copies.opening import asking_resolver, copying_here
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
    from ibi.standard.label.search import home_prefix
    from ibi.standard.vocabulary import State

    names = frozenset((service,) if known is None else (service, *known.labels))
    prefixes = frozenset(map(home_prefix, names)) | (frozenset() if known is None else known.prefixes)
    for item in repository.catalog.items():
        is_copy = item.state is State.COPY and names.isdisjoint(item.labels.labels)
        if is_copy and _was_at(names, chains.chain(item.rep).successors, prefixes, item):
            yield item


def _was_at(names: frozenset[Label], successors: tuple[Label, ...], prefixes: frozenset[str], item: Item) -> bool:
    """Return whether the Original was at that Archive, as far as this Archive knows. Items that it gave away are
    included: the resolver names their new holder."""
    from ibi.standard.label.search import home_prefix

    return not names.isdisjoint(successors[-1:]) or not prefixes.isdisjoint(map(home_prefix, item.labels.labels))


def _open_transfers(flags: dict[str, str | None]) -> AbstractContextManager[tuple[Archive, TransferWorker]]:
    from ibi.command.archive_store import local_settings, opened_transfers

    return opened_transfers(local_settings(flags), resolves=True)
