"""`ibi person`: who may sign in to the pages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ibi.cli.options import WholeHelpGroup, setting_options, settings_from
from ibi.cli.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.config import Settings
    from ibi.model.account import Person
    from ibi.services.accounts.account_admin import PersonAdmin


_ROLES = click.Choice(["reader", "depositor", "librarian", "admin"])
_where = setting_options("data", "config")
_from_stdin = click.option("--password-stdin", is_flag=True, help="Read the password from the first line of stdin.")


@contextmanager
def opened_admin(settings: Settings) -> Iterator[PersonAdmin]:
    from ibi.services.accounts.account_admin import PersonAdmin
    from ibi.services.accounts.hashing import SecretHasher
    from ibi.storage.audit_log import FileAuditLog
    from ibi.storage.machine import MachineClocks
    from ibi.storage.sqlite.accounts import SqlitePeople

    people, hasher, audit = SqlitePeople(settings.data), SecretHasher(), FileAuditLog(settings.data)
    try:
        yield PersonAdmin(people, MachineClocks(), hasher, audit=audit)
    finally:
        audit.close()
        people.close()
        hasher.close()


def sign_in_url(site: str, secret: str) -> str:
    return f"{site.rstrip('/')}/sign-in/{secret}"


@click.group(cls=WholeHelpGroup)
def person() -> None:
    """Give people an account, a link to sign in with, or a new password."""


@person.command()
@click.argument("name")
@click.option("--role", type=_ROLES, required=True, help="What they may do; each includes those before it.")
@_from_stdin
@as_json_option
@_where
def create(name: str, role: str, *, password_stdin: bool, as_json: bool, **flags: str | None) -> None:
    """Give NAME an account; without a password they sign in by a link (`ibi person link`)."""
    password = _password() if password_stdin else None
    with opened_admin(settings_from(**flags)) as admin:
        made = admin.create(name, role, password)
    if as_json:
        print_json(_fields(made))
    else:
        click.echo(f"{made.name} has an account, as {made.role}.")


@person.command("list")
@as_json_option
@_where
def list_people(*, as_json: bool, **flags: str | None) -> None:
    """List the people who have an account."""
    with opened_admin(settings_from(**flags)) as admin:
        for each in admin.list():
            if as_json:
                print_json(_fields(each))
            else:
                fate = f"  disabled {each.disabled}" if each.disabled else ""
                click.echo(f"{each.name:<20}  {each.role!s:<9}  {each.created}{fate}")


@person.command()
@click.argument("name")
@_where
def link(name: str, **flags: str | None) -> None:
    """Print a link that signs NAME in, once, within the hour."""
    settings = settings_from(**flags)
    with opened_admin(settings) as admin:
        click.echo(sign_in_url(settings.own_url, admin.link(name)))


@person.command()
@click.argument("name")
@_from_stdin
@_where
def password(name: str, *, password_stdin: bool, **flags: str | None) -> None:
    """Give NAME a new password, asked for twice; sessions under the old one end."""
    with opened_admin(settings_from(**flags)) as admin:
        secret = _password() if password_stdin else click.prompt("Password", hide_input=True, confirmation_prompt=True)
        changed = admin.set_password(name, secret)
    click.echo(f"{changed.name} has a new password.")


@person.command()
@click.argument("name")
@_where
def disable(name: str, **flags: str | None) -> None:
    """Sign NAME out everywhere and let them in no more."""
    with opened_admin(settings_from(**flags)) as admin:
        disabled = admin.disable(name)
    click.echo(f"{disabled.name} can no longer sign in.")


def _password() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _fields(one: Person) -> dict[str, object]:
    return {
        "name": one.name,
        "role": str(one.role),
        "created": str(one.created),
        "password": one.password_hash is not None,
        "disabled": None if one.disabled is None else str(one.disabled),
    }
