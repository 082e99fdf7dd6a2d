"""`ibi mint`: new labels, from a data directory or from a server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

from ibi.command.acting_user import user_name
from ibi.command.options import setting_options, settings_from, settings_to_mint
from ibi.command.output import as_json_option, print_json
from ibi.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ibi.minting.opening import Acceptance


_LARGEST_BATCH = 1_000
"""Labels minted in one batch: few enough for other clients to get a turn, many enough to be quick."""
_WITH_PROGRESS = 10_000


class _Labels(NamedTuple):
    rep: str
    ibip: str | None
    instant: str
    sandbox: bool


@click.command()
@click.option("-n", "--count", metavar="N", type=click.IntRange(min=1), default=1, help="How many labels.")
@as_json_option
@click.option("--key", metavar="KEY", help="Asking again with this key gets the same labels.")
@click.option("--identity", is_flag=True, help="Show and check who mints, and mint nothing.")
@click.option("--verify-log", is_flag=True, help="Check the mint log, and mint nothing.")
@click.option("--accept-clock", is_flag=True, help="Vouch for the time of day that this machine shows.")
@click.option("--accept-copy", is_flag=True, help="Vouch that this copied data directory is the only one in use.")
@click.option("--accept-loss", is_flag=True, help="Begin a new mint log though items are kept: the old one is lost.")
@click.option("--accept-identity", is_flag=True, help="Mint as the settings say from now on, with a new clock.")
@setting_options("data", "config", "server", "token")
def mint(
    count: int,
    key: str | None,
    *,
    as_json: bool,
    identity: bool,
    verify_log: bool,
    accept_clock: bool,
    accept_copy: bool,
    accept_loss: bool,
    accept_identity: bool,
    **flags: str | None,
) -> None:
    """Mint globally unique labels. Each is on disk before it is shown."""
    settings = settings_from(**flags) if verify_log else settings_to_mint(**flags)
    if settings.is_remote:
        _refuse_for_a_server(
            verify_log=verify_log, accept=accept_clock or accept_copy or accept_loss or accept_identity
        )
        _with_server(settings, count, key, as_json=as_json, identity=identity)
    elif verify_log:
        _verify_log(settings, as_json=as_json)
    else:
        from ibi.minting.opening import Acceptance

        accepted = Acceptance(accept_clock, accept_copy, accept_identity, accept_loss)
        _with_data_directory(settings, accepted, count, key, as_json=as_json, identity=identity)


def _refuse_for_a_server(*, verify_log: bool, accept: bool) -> None:
    if verify_log or accept:
        raise click.UsageError("this is done on the data directory (--data), on the machine that has it")


def _with_data_directory(
    settings: Settings, accepted: Acceptance, count: int, key: str | None, *, as_json: bool, identity: bool
) -> None:
    from ibi.minting.opening import open_minter

    with open_minter(settings, accepted) as minter:
        if identity:
            from ibi.command.output import show_identity
            from ibi.minting.resources import MinterIdentity

            show_identity(MinterIdentity.of(minter.identity, minter.rules, minter.ticks.epoch()), as_json=as_json)
            return

        def batch(size: int, part_key: str | None) -> Iterator[_Labels]:
            share = minter.mint(size, f"cli:{user_name()}", part_key)
            for each in share.labels():
                yield _Labels(each.rep, each.ibip, str(each.instant), share.batch.sandbox)

        _print(_all(batch, count, key), count, as_json=as_json)


def _with_server(settings: Settings, count: int, key: str | None, *, as_json: bool, identity: bool) -> None:
    from ibi.net.api_client import ApiClient

    client = ApiClient(settings.server or "", None if settings.token is None else settings.token.reveal())
    if identity:
        from ibi.command.output import show_identity

        show_identity(client.identity(), as_json=as_json)
        return

    def batch(size: int, part_key: str | None) -> Iterator[_Labels]:
        for each in client.mint(size, part_key):
            ibip = each["ibip"]
            yield _Labels(
                str(each["rep"]), None if ibip is None else str(ibip), str(each["instant"]), each["sandbox"] is True
            )

    _print(_all(batch, count, key), count, as_json=as_json)


def _all(batch: Callable[[int, str | None], Iterator[_Labels]], count: int, key: str | None) -> Iterator[_Labels]:
    """Mint `count` labels in batches. The key of each batch is derived from the given one."""
    for number, start in enumerate(range(0, count, _LARGEST_BATCH)):
        part_key = key if key is None or number == 0 else f"{key}#{number}"
        yield from batch(min(_LARGEST_BATCH, count - start), part_key)


def _print(labels: Iterator[_Labels], count: int, *, as_json: bool) -> None:
    sandbox = False
    with _progress(count) as advance:
        for each in labels:
            sandbox = each.sandbox
            if as_json:
                print_json(each._asdict())
            else:
                click.echo(each.rep if each.ibip is None else f"{each.rep}  {each.ibip}")
            advance()
    if sandbox and not as_json:
        click.echo("ibi: labels of a sandbox: for trying out, others may have the same", err=True)


@contextmanager
def _progress(count: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar for many labels, unless the labels are printed on the same terminal."""
    if count < _WITH_PROGRESS or not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("minting", total=count)
        yield lambda: progress.advance(task)


def _verify_log(settings: Settings, *, as_json: bool) -> None:
    """Check every line of the log against the hash chain and the dates. Raise an error at the first mismatch."""
    from ibi.minting.opening import open_ticks
    from ibi.minting.rules.mint_log import verify
    from ibi.storage.machine import MachineClocks

    lines = labels = 0
    with closing(open_ticks(settings, MachineClocks())) as ticks:
        for entry in verify(ticks.log()):
            lines, labels = lines + 1, labels + entry.count
    if as_json:
        print_json({"lines": lines, "labels": labels, "whole": True})
    else:
        click.echo(f"The mint log is whole: {lines} lines, {labels} labels.")
