"""`ibi transfers`: transfers of Originals to and from other Archives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ibi.command.options import WholeHelpGroup, setting_options
from ibi.command.output import as_json_option, members_of, print_json
from ibi.standard.safe_text import printable
from ibi.transfers.cli.rulings import take_lost, yield_

if TYPE_CHECKING:
    from ibi.command.archive_store import Archive
    from ibi.items.model.item import Item
    from ibi.transfers.resources import TransferResource
    from ibi.transfers.service.worker import TransferWorker


@click.group(cls=WholeHelpGroup)
def transfers() -> None:
    """Transfers of Originals to and from other Archives."""


transfers.add_command(take_lost)
transfers.add_command(yield_)


@transfers.command("list")
@click.option("--in", "incoming", is_flag=True, help="Only those to this Archive.")
@click.option("--out", "outgoing", is_flag=True, help="Only those to others.")
@click.option("--stage", metavar="STAGE", default="", help="Only those that are at this stage, such as waiting.")
@as_json_option
@setting_options("data", "config")
def list_(*, incoming: bool, outgoing: bool, stage: str, as_json: bool, **flags: str | None) -> None:
    """List transfers, and how far they are; first the items whose Original is not where their releases say, with what
    is missing, who was asked and what to do."""
    with _open_transfers(flags) as (_, worker):
        if not (incoming or outgoing or stage):
            _print_open(worker, as_json=as_json)
        for direction, wanted in (("in", incoming or not outgoing), ("out", outgoing or not incoming)):
            if wanted:
                for each in _walk(worker, direction, stage):
                    _print(each, as_json=as_json)


def _print_open(worker: TransferWorker, *, as_json: bool) -> None:
    from ibi.transfers.service.documents import open_transfer

    after = ""
    while found := worker.ledger.open_items(after):
        for each in map(open_transfer, found):
            if as_json:
                print_json(members_of(each))
            else:
                click.echo(printable(f"{each.item}  open: {each.what}. {each.remedy}"))
        after = str(found[-1].rep)


def _walk(worker: TransferWorker, direction: str, stage: str) -> Iterator[TransferResource]:
    from ibi.transfers.model import ReceiverStage, SenderStage
    from ibi.transfers.service.documents import list_transfers

    kinds = ReceiverStage if direction == "in" else SenderStage
    if stage and stage not in {kind.value for kind in kinds}:
        return
    senders = worker.receiving.senders
    page = list_transfers(worker.ledger, senders, direction, stage)
    while page:
        yield from page
        page = list_transfers(worker.ledger, senders, direction, stage, page[-1].item)


def _print(each: TransferResource, *, as_json: bool) -> None:
    if as_json:
        print_json(members_of(each))
        return
    way = "from" if each.direction == "in" else "to"
    reason = f": {each.reason}" if each.reason else ""
    is_open = each.direction == "in" and each.stage in ("waiting", "accepted", "held")
    sender = f"  ({each.service}, {each.sender_is})" if is_open else ""
    archive = each.archive or each.service  # an Original that was taken over again may come from an unknown address
    click.echo(printable(f"{each.item}  {way} {archive}{sender}  {each.stage}{reason}"))


@transfers.command()
@click.argument("labels", metavar="[LABEL...]", nargs=-1)
@click.option("--all", "whole", is_flag=True, help="Every offer that waits.")
@click.option("--from", "source", metavar="URL", help="Every offer of this Archive that waits.")
@setting_options("data", "config")
def accept(labels: tuple[str, ...], *, whole: bool, source: str | None, **flags: str | None) -> None:
    """Accept what other Archives offer: the server of this one takes it over."""
    _answer(labels, flags, whole=whole, source=source, is_accepted=True)


@transfers.command()
@click.argument("labels", metavar="[LABEL...]", nargs=-1)
@click.option("--all", "whole", is_flag=True, help="Every offer that waits.")
@click.option("--from", "source", metavar="URL", help="Every offer of this Archive that waits.")
@setting_options("data", "config")
def decline(labels: tuple[str, ...], *, whole: bool, source: str | None, **flags: str | None) -> None:
    """Decline what other Archives offer; they are told when they ask."""
    _answer(labels, flags, whole=whole, source=source, is_accepted=False)


def _answer(
    labels: tuple[str, ...], flags: dict[str, str | None], *, whole: bool, source: str | None, is_accepted: bool
) -> None:
    from ibi.standard.label import RepositoryName

    if sum(map(bool, (labels, whole, source))) != 1:
        raise click.UsageError("name items, or give --all or --from")
    with _open_transfers(flags) as (_, worker):
        names = list(labels) or [
            each.item for each in _walk(worker, "in", "waiting") if whole or each.archive == (source or "").rstrip("/")
        ]
        for name in names:
            act = worker.receiving.agree if is_accepted else worker.receiving.decline
            kept = act(RepositoryName.parse(name))
            key = f"  from {kept.source} with the key {kept.giver_key}" if is_accepted else ""
            click.echo(printable(f"{kept.rep}  {kept.stage.value}{key}"))
            if is_accepted and (standing := worker.receiving.senders.judge_kept(kept)).word != "registered":
                click.echo(printable(f"ibi: warning: the sender, {kept.giver}, is {standing.description}"), err=True)


@transfers.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@setting_options("data", "config")
def withdraw(labels: tuple[str, ...], **flags: str | None) -> None:
    """Keep Originals after all that were offered and are not released yet."""
    from ibi.command.options import read_label

    with _open_transfers(flags) as (_, worker):
        for label in labels:
            kept = worker.sending.withdraw(read_label(label))
            click.echo(f"{kept.rep}  {kept.stage.value}")


@transfers.command()
@setting_options("data", "config")
def trust(**flags: str | None) -> None:
    """Say that this data directory was not put back from a backup, or that nothing was given away since then."""
    with _open_transfers(flags) as (_, worker):
        worker.tracking.trust()
    click.echo("Nothing is in doubt any more. A server that runs sees it within a second.")


@transfers.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@setting_options("data", "config")
def forbid(labels: tuple[str, ...], **flags: str | None) -> None:
    """Mark items as not transferable."""
    _mark(labels, flags, is_transferable=False)


@transfers.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@setting_options("data", "config")
def allow(labels: tuple[str, ...], **flags: str | None) -> None:
    """Mark items as transferable again."""
    _mark(labels, flags, is_transferable=True)


def _mark(labels: tuple[str, ...], flags: dict[str, str | None], *, is_transferable: bool) -> None:
    from ibi.command.archive_store import local_settings, opened_archive, who
    from ibi.command.options import read_label
    from ibi.items.rules import life_cycle

    message = "May be transferred" if is_transferable else "May not be transferred"

    def change(item: Item) -> Item:
        return replace(item, custody=replace(item.custody, transferable=is_transferable))

    with opened_archive(local_settings(flags)) as archive:
        for label in map(read_label, labels):
            life_cycle.require(archive.store.find(label), life_cycle.Act.UPDATE)
            item = archive.deposits.change({label: change}, who(), message, act="transferable")[label]
            click.echo(f"{item.rep}  {'transferable' if item.transferable else 'not transferable'}")


def _open_transfers(flags: dict[str, str | None]) -> AbstractContextManager[tuple[Archive, TransferWorker]]:
    from ibi.command.archive_store import local_settings, opened_transfers

    return opened_transfers(local_settings(flags), is_served=False)
