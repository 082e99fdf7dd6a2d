"""`ibi resolver disputes|settle`: second claims to an Original, and the administrator's word on them (E93).

Short: two commands; what they ask is in `ibi.services.resolving.disputes`.
"""

from __future__ import annotations

from typing import Any

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option, print_json
from ibi.safe_text import printable

_where = setting_options("data", "config", "server", "token")


@click.command()
@click.option("--all", "settled", is_flag=True, help="List those that are settled, too.")
@as_json_option
@_where
def disputes(*, settled: bool, as_json: bool, **flags: str | None) -> None:
    """List the Originals that a second Archive claims. Links lead to the known holder; `ibi resolver settle` says who
    is right."""
    from ibi.cli.archive_store import who
    from ibi.composition.resolver_site import open_disputes

    with open_disputes(settings_from(**flags), who()) as source:
        _print(source.list_disputes(settled=settled), as_json=as_json)


@click.command()
@click.argument("label", metavar="LABEL")
@click.option("--holder", metavar="SERVICE_IBI", required=True, help="The Archive that holds the Original.")
@as_json_option
@_where
def settle(label: str, holder: str, *, as_json: bool, **flags: str | None) -> None:
    """Say which of the Archives that claim an item holds its Original. Links lead there from now on."""
    from ibi.cli.archive_store import who
    from ibi.composition.resolver_site import open_disputes

    with open_disputes(settings_from(**flags), who()) as source:
        _print(source.settle_dispute(label, holder), as_json=as_json)


def _print(found: list[dict[str, Any]], *, as_json: bool) -> None:
    for each in found:
        if as_json:
            print_json(each)
        else:
            click.echo(printable(_line(each)))


def _line(dispute: dict[str, Any]) -> str:
    state = f"settled ({dispute.get('settled')})" if dispute.get("settled") else "open"
    claimed = f"{dispute.get('claimant')} claims {dispute.get('claim')}, last {dispute.get('last_seen')}"
    return f"{dispute.get('label')}  {state}  held by {dispute.get('holder')}; {claimed}"


DISPUTE_COMMANDS = (disputes, settle)
