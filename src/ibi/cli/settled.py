"""`ibi transfers take-lost` and `yield`: Originals about which the resolver has decided."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from ibi.cli.copy import token_given, token_option
from ibi.cli.options import read_label, setting_options
from ibi.safe_text import printable

if TYPE_CHECKING:
    from ibi.cli.archive_store import Archive
    from ibi.federation.standing import RegisteredArchive
    from ibi.label import Label
    from ibi.model.item import Item
    from ibi.services.items.item_repository import ItemRepository
    from ibi.services.transfers.item_chains import ItemChains
    from ibi.services.transfers.worker import TransferWorker


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
    """The items that are named, or the Copies of the Archive that is."""
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
    """The Copies here of Originals of that Archive: those that it had by their chains, and those whose labels have its
    prefix. The item of its service is none of them. `known` is the Archive in the register, which has all forms of its
    label and all prefixes of which it is the home."""
    from ibi.label.search import home_prefix
    from ibi.vocabulary import State

    names = frozenset((service,) if known is None else (service, *known.labels))
    prefixes = frozenset(map(home_prefix, names)) | (frozenset() if known is None else known.prefixes)
    for item in repository.catalog.items():
        is_copy = item.state is State.COPY and names.isdisjoint(item.labels.labels)
        if is_copy and _was_at(names, chains.chain(item.rep).successors, prefixes, item):
            yield item


def _was_at(names: frozenset[Label], successors: tuple[Label, ...], prefixes: frozenset[str], item: Item) -> bool:
    """Whether the Original was there, as far as is known here: what it gave away is asked for as well, and the resolver
    says to whom it went."""
    from ibi.label.search import home_prefix

    return not names.isdisjoint(successors[-1:]) or not prefixes.isdisjoint(map(home_prefix, item.labels.labels))


@contextmanager
def _open_transfers(flags: dict[str, str | None]) -> Iterator[tuple[Archive, TransferWorker]]:
    from ibi.cli.archive_store import local_settings, opened_archive
    from ibi.cli.transfer import transfers_of

    with ExitStack() as opened:
        archive = opened.enter_context(opened_archive(local_settings(flags)))
        yield archive, transfers_of(archive, opened, resolves=True)
