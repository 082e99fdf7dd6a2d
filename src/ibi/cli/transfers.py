"""`ibi transfers`: what is on its way to this Archive and from it, and answers to offers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ibi.cli.options import WholeHelpGroup, setting_options
from ibi.cli.output import as_json_option, print_json
from ibi.safe_text import printable

if TYPE_CHECKING:
    from ibi.cli.archive_store import Archive
    from ibi.services.transfers.worker import TransferWorker


@click.group(cls=WholeHelpGroup)
def transfers() -> None:
    """Transfers of Originals to and from other Archives."""


@transfers.command("list")
@click.option("--in", "incoming", is_flag=True, help="Only those to this Archive.")
@click.option("--out", "outgoing", is_flag=True, help="Only those to others.")
@click.option("--stage", metavar="STAGE", default="", help="Only those that are at this stage, such as waiting.")
@as_json_option
@setting_options("data", "config")
def list_(*, incoming: bool, outgoing: bool, stage: str, as_json: bool, **flags: str | None) -> None:
    """List transfers, and how far they are."""
    with _opened(flags) as (_, worker):
        for direction, wanted in (("in", incoming or not outgoing), ("out", outgoing or not incoming)):
            if wanted:
                for each in _walk(worker, direction, stage):
                    _print(each, as_json=as_json)


def _walk(worker: TransferWorker, direction: str, stage: str) -> Iterator[dict[str, Any]]:
    from ibi.model.transfer_record import ReceiverStage, SenderStage
    from ibi.services.transfers.documents import list_transfers

    kinds = ReceiverStage if direction == "in" else SenderStage
    if stage and stage not in {kind.value for kind in kinds}:
        return
    page = list_transfers(worker.ledger, direction, stage)
    while page:
        yield from page
        page = list_transfers(worker.ledger, direction, stage, str(page[-1]["item"]))


def _print(each: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(each)
        return
    way = "from" if each["direction"] == "in" else "to"
    reason = f": {each['reason']}" if each["reason"] else ""
    click.echo(printable(f"{each['item']}  {way} {each['archive']}  {each['stage']}{reason}"))


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
    from ibi.label import RepositoryName

    if sum(map(bool, (labels, whole, source))) != 1:
        raise click.UsageError("name items, or give --all or --from")
    with _opened(flags) as (_, worker):
        names = list(labels) or [
            str(each["item"])
            for each in _walk(worker, "in", "waiting")
            if whole or str(each["archive"]) == (source or "").rstrip("/")
        ]
        for name in names:
            act = worker.receiving.agree if is_accepted else worker.receiving.decline
            kept = act(RepositoryName.parse(name))
            key = f"  from {kept.source} with the key {kept.giver_key}" if is_accepted else ""
            click.echo(printable(f"{kept.rep}  {kept.stage.value}{key}"))


@transfers.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@setting_options("data", "config")
def withdraw(labels: tuple[str, ...], **flags: str | None) -> None:
    """Keep Originals after all that were offered and are not released yet."""
    from ibi.cli.labels import read_label

    with _opened(flags) as (_, worker):
        for label in labels:
            kept = worker.sending.withdraw(read_label(label))
            click.echo(f"{kept.rep}  {kept.stage.value}")


@transfers.command()
@setting_options("data", "config")
def trust(**flags: str | None) -> None:
    """Say that this data directory was not put back from a backup, or that nothing was given away since then."""
    with _opened(flags) as (_, worker):
        worker.tracking.trust()
    click.echo("Nothing is in doubt any more. Start the server again if it runs.")


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
    from ibi.archive import life_cycle
    from ibi.cli.archive_store import local_settings, opened_archive, who
    from ibi.cli.labels import read_label

    message = "May be transferred" if is_transferable else "May not be transferred"
    with opened_archive(local_settings(flags)) as archive:
        for label in map(read_label, labels):
            life_cycle.require(archive.store.find(label), life_cycle.Act.UPDATE)
            changes = {label: lambda item: replace(item, transferable=is_transferable)}
            item = archive.deposits.change(changes, who(), message, act="transferable")[label]
            click.echo(f"{item.rep}  {'transferable' if item.transferable else 'not transferable'}")


@contextmanager
def _opened(flags: dict[str, str | None]) -> Iterator[tuple[Archive, TransferWorker]]:
    from ibi.cli.archive_store import local_settings, opened_archive

    with ExitStack() as opened:
        archive = opened.enter_context(opened_archive(local_settings(flags)))
        yield archive, transfers_of(archive, opened, is_served=False)


def transfers_of(
    archive: Archive, opened: ExitStack, *, allow_plain: bool = False, is_served: bool = True
) -> TransferWorker:
    """The transfers of an Archive that a command has opened; `is_served` if others have to reach it."""
    from ibi.composition.transfers import open_transfers, served_url
    from ibi.storage.machine import MachineClocks

    if archive.record is None:
        raise click.ClickException("this Archive has no item of its own yet: start its server once (`ibi up`)")
    url = served_url(archive.settings) if is_served else archive.settings.public_url or ""
    return open_transfers(
        archive.settings,
        archive.store,
        archive.record.service,
        url,
        MachineClocks(),
        None,
        opened,
        lost=archive.store.is_rebuilt,
        allow_plain=allow_plain,
    )
