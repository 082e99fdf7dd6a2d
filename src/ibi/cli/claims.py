"""`ibi claims`: claims on items of other owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ibi.config import Settings
    from ibi.label import Label


@click.command()
@click.argument("label", metavar="[LABEL", required=False)
@click.argument("claimant", metavar="CLAIMANT]", required=False)
@click.option("--accept", is_flag=True, help="Let LABEL name CLAIMANT, as CLAIMANT says.")
@click.option("--decline", is_flag=True, help="Let LABEL not name CLAIMANT; it can still be accepted later.")
@click.option("--declined", is_flag=True, help="List the claims that were declined.")
@as_json_option
@setting_options("data", "config", "server", "token")
def claims(
    label: str | None,
    claimant: str | None,
    *,
    accept: bool,
    decline: bool,
    declined: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """List the claims that wait for an answer, or answer one: an edition, a translation or metadata of an item that
    belongs to another account."""
    from ibi.cli.labels import read_label

    if accept and decline:
        raise click.UsageError("give --accept or --decline")
    settings = settings_from(**flags)
    if not (accept or decline):
        if label is not None:
            raise click.UsageError("say what becomes of the claim: --accept or --decline")
        _print(_listed(settings, "declined" if declined else "pending"), as_json=as_json)
        return
    if label is None or claimant is None or declined:
        raise click.UsageError("name the item and its claimant: ibi claims LABEL CLAIMANT --accept")
    _answer(settings, read_label(label), read_label(claimant), is_accepted=accept, as_json=as_json)


def _listed(settings: Settings, state: str) -> Iterable[dict[str, Any]]:
    if settings.is_remote:
        from ibi.cli.remote_items import records_client

        return records_client(settings).claims(state)
    from ibi.archive.related_items import ClaimState
    from ibi.cli.archive_store import opened_archive
    from ibi.services.items.claims import claim_document

    with opened_archive(settings) as archive:
        return [claim_document(claim) for claim in archive.claims.list({ClaimState(state)})]


def _print(found: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    from ibi.safe_text import printable

    for claim in found:
        if as_json:
            print_json(claim)
            continue
        claimant, item = (f"{claim.get(name)} ({_owner(claim.get(f'{name}_owner'))})" for name in ("claimant", "item"))
        click.echo(printable(f"{claimant} says {claim.get('relation')} {item}"))


def _owner(account: object) -> str:
    from ibi.model.account import shown_account

    return shown_account(None if account is None else str(account))


def _answer(settings: Settings, label: Label, claimant: Label, *, is_accepted: bool, as_json: bool) -> None:
    from ibi.cli.item_output import links, print_item

    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        record = records_client(settings).answer_claim(label, claimant, is_accepted=is_accepted)
        item = item_of(record, settings)
        print_item(item, links_of(record, item), as_json=as_json)
        return
    from ibi.cli.archive_store import opened_archive, who

    with opened_archive(settings) as archive:
        answer = archive.claims.accept if is_accepted else archive.claims.decline
        item = answer(label, claimant, who())
    print_item(item, links(item, settings), as_json=as_json)
