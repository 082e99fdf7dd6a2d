"""`ibi token`: tokens of programs that use the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

import click

from ibi.command.options import WholeHelpGroup, setting_options, settings_from
from ibi.command.output import as_json_option, members_of, print_json

if TYPE_CHECKING:
    from ibi.people.resources import TokenResource
    from ibi.people.service.account_admin import TokenAdmin


_SCOPES = click.Choice(["read", "deposit", "edit", "admin", "copy"])
_where = setting_options("data", "config", "server", "token")


@contextmanager
def _token_admin(person: str | None = None, **flags: str | None) -> Iterator[TokenAdmin]:
    """Open the administration of tokens, of the data directory or of a server; of the tokens of a `person`, if
    named."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.net.api_client import ApiClient

        secret = None if settings.token is None else settings.token.reveal()
        yield ApiClient(settings.server or "", secret)
        return
    from ibi.people.service.account_admin import LocalTokenAdmin
    from ibi.people.store.audit_log import FileAuditLog
    from ibi.people.store.people import SqlitePeople
    from ibi.people.store.tokens import SqliteTokens
    from ibi.storage.machine import MachineClocks

    with ExitStack() as opened:
        tokens = opened.enter_context(closing(SqliteTokens(settings.data)))
        people = opened.enter_context(closing(SqlitePeople(settings.data))) if person is not None else None
        audit = opened.enter_context(closing(FileAuditLog(settings.data)))
        yield LocalTokenAdmin(tokens, MachineClocks(), people, audit=audit)


@click.group(cls=WholeHelpGroup)
def token() -> None:
    """Create, list and revoke the tokens that programs show to be let in."""


@token.command("create")
@click.option(
    "--scope", type=_SCOPES, required=True, help="What it allows; `copy` stands apart, the others include those before."
)
@click.option("--name", default="", help="What to call it in lists; without --for, the account that owns its items.")
@click.option("--for", "person", metavar="PERSON", help="Whose it is: items deposited with it are theirs.")
@click.option("--expires", metavar="DATE", help="When it ends, as in 2027-01-31T00:00:00Z; without it, never.")
@as_json_option
@_where
def create_token(
    scope: str, name: str, person: str | None, expires: str | None, *, as_json: bool, **flags: str | None
) -> None:
    """Print a new token, this once: only its hash is kept."""
    with _token_admin(person, **flags) as admin:
        created = admin.create_token(scope, name, expires, person)
    if as_json:
        print_json(members_of(created))
    else:
        click.echo(created.token)


@token.command("list")
@as_json_option
@_where
def list_tokens(*, as_json: bool, **flags: str | None) -> None:
    """List every token, revoked ones too."""
    with _token_admin(**flags) as admin:
        for each in admin.list_tokens():
            if as_json:
                print_json(members_of(each))
            else:
                click.echo(f"{each.id}  {each.scope:<7}  {each.created}  {_fate(each)}{each.name}{_owner(each)}")


def _owner(listed: TokenResource) -> str:
    """Return a note of the person that a token was made for, or an empty text."""
    kind, _, person = listed.account.partition(":")
    return f"  for {person}" if kind == "person" else ""


def _fate(listed: TokenResource) -> str:
    if listed.revoked:
        return f"revoked {listed.revoked}  "
    return f"until {listed.expires}  " if listed.expires else ""


@token.command()
@click.argument("identity", metavar="ID")
@_where
def revoke(identity: str, **flags: str | None) -> None:
    """Make the token with this ID invalid for good, at once."""
    with _token_admin(**flags) as admin:
        admin.revoke_token(identity)
    click.echo(f"{identity} is revoked.")
