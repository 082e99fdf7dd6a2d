"""`ibi token`: tokens of programs that use the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ibi.cli.options import WholeHelpGroup, setting_options, settings_from
from ibi.cli.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.services.accounts.account_admin import TokenAdmin


_SCOPES = click.Choice(["read", "deposit", "admin"])
_where = setting_options("data", "config", "server", "token")


@contextmanager
def _desk(**flags: str | None) -> Iterator[TokenAdmin]:
    """Open the administration of tokens, of the data directory or of a server."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.transport.api_client import ApiClient

        secret = None if settings.token is None else settings.token.reveal()
        yield ApiClient(settings.server or "", secret)
        return
    from ibi.services.accounts.account_admin import LocalTokenAdmin
    from ibi.storage.machine import MachineClocks
    from ibi.storage.sqlite.accounts import SqliteTokens

    tokens = SqliteTokens(settings.data)
    try:
        yield LocalTokenAdmin(tokens, MachineClocks())
    finally:
        tokens.close()


@click.group(cls=WholeHelpGroup)
def token() -> None:
    """Create, list and revoke the tokens that programs show to be let in."""


@token.command()
@click.option("--scope", type=_SCOPES, required=True, help="What it allows; each includes those before it.")
@click.option("--name", default="", help="What to call it in lists.")
@click.option("--expires", metavar="DATE", help="When it ends, as in 2027-01-31T00:00:00Z; without it, never.")
@as_json_option
@_where
def create(scope: str, name: str, expires: str | None, *, as_json: bool, **flags: str | None) -> None:
    """Print a new token, this once: only its hash is kept."""
    with _desk(**flags) as desk:
        created = desk.create_token(scope, name, expires)
    if as_json:
        print_json(created)
    else:
        click.echo(created["token"])


@token.command("list")
@as_json_option
@_where
def list_tokens(*, as_json: bool, **flags: str | None) -> None:
    """List every token, revoked ones too."""
    with _desk(**flags) as desk:
        for each in desk.list_tokens():
            if as_json:
                print_json(each)
            else:
                click.echo(f"{each['id']}  {each['scope']:<7}  {each['created']}  {_fate(each)}{each['name']}")


def _fate(listed: dict[str, object]) -> str:
    if listed["revoked"]:
        return f"revoked {listed['revoked']}  "
    return f"until {listed['expires']}  " if listed["expires"] else ""


@token.command()
@click.argument("identity", metavar="ID")
@_where
def revoke(identity: str, **flags: str | None) -> None:
    """Make the token with this ID invalid for good, at once."""
    with _desk(**flags) as desk:
        desk.revoke_token(identity)
    click.echo(f"{identity} is revoked.")
