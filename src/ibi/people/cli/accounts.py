"""`ibi person`: accounts of people who sign in to the pages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from ibi.command.options import WholeHelpGroup, setting_options, settings_from
from ibi.command.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.people.model.account import Person
    from ibi.people.service.account_admin import PersonAdmin
    from ibi.settings import Settings

_ROLES = click.Choice(["reader", "depositor", "librarian", "admin"])
_where = setting_options("data", "config")
_mail = click.option("--mail", metavar="ADDRESS", help="Their e-mail address, by which they can sign in too.")
_shown = click.option("--shown", metavar="TEXT", help="What pages call them, if that is not NAME.")
_language = click.option(
    "--language",
    type=click.Choice(["en", "pt-BR", "es", ""]),  # the languages of the pages
    help="The language of mails to them.",
)
_from_stdin = click.option("--password-stdin", is_flag=True, help="Read the password from the first line of stdin.")


@contextmanager
def opened_admin(settings: Settings) -> Iterator[PersonAdmin]:
    from ibi.people.service.account_admin import PersonAdmin
    from ibi.people.service.secret_hasher import SecretHasher
    from ibi.people.store.audit_log import FileAuditLog
    from ibi.people.store.people import SqlitePeople
    from ibi.storage.machine import MachineClocks

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
@_mail
@_shown
@_from_stdin
@as_json_option
@_where
def create(
    name: str,
    role: str,
    mail: str | None,
    shown: str | None,
    *,
    password_stdin: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """Give NAME an account; without a password they sign in by a link (`ibi person link`)."""
    password = _password() if password_stdin else None
    with opened_admin(settings_from(**flags)) as admin:
        made = admin.create(name, role, password, mail=mail or None, shown=shown or "")
    if as_json:
        print_json(_fields(made))
    else:
        click.echo(f"{made.name} has an account, as {made.role}.")


@person.command("list")
@as_json_option
@_where
def list_people(*, as_json: bool, **flags: str | None) -> None:
    """List the people who have an account."""
    from ibi.standard.safe_text import printable

    with opened_admin(settings_from(**flags)) as admin:
        for each in admin.list():
            if as_json:
                print_json(_fields(each))
            else:
                mail = f"  {each.mail}" if each.mail else ""
                fate = f"  disabled {each.disabled}" if each.disabled else ""
                click.echo(printable(f"{each.name:<20}  {each.role!s:<9}  {each.created}{mail}{fate}"))


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


@person.command()
@click.argument("name")
@_where
def enable(name: str, **flags: str | None) -> None:
    """Let NAME in again, who was disabled."""
    with opened_admin(settings_from(**flags)) as admin:
        enabled = admin.enable(name)
    click.echo(f"{enabled.name} can sign in again.")


@person.command()
@click.argument("name")
@click.option("--role", type=_ROLES, help="What they may do from now on.")
@_mail
@_shown
@_language
@as_json_option
@_where
def change(
    name: str,
    role: str | None,
    mail: str | None,
    shown: str | None,
    language: str | None,
    *,
    as_json: bool,
    **flags: str | None,
) -> None:
    """Change what NAME may do, what pages call them, their e-mail address, or the language of mails to them; an empty
    text takes it away."""
    if role is None and mail is None and shown is None and language is None:
        raise click.UsageError("Say what to change: --role, --mail, --shown or --language.")
    with opened_admin(settings_from(**flags)) as admin:
        changed = admin.describe(name, shown=shown, mail=mail, language=language)
        changed = changed if role is None else admin.set_role(name, role)
    if as_json:
        print_json(_fields(changed))
    else:
        click.echo(f"{changed.name} is changed: {changed.full_name}, {changed.role}, {changed.mail or 'no e-mail'}.")


@person.command()
@click.argument("mail", metavar="ADDRESS")
@click.option("--role", type=_ROLES, required=True, help="What they may do; each includes those before it.")
@_where
def invite(mail: str, role: str, **flags: str | None) -> None:
    """Print a link with which the person at ADDRESS makes their own account, once, within two weeks."""
    settings = settings_from(**flags)
    with opened_admin(settings) as admin:
        secret, _ = admin.invite(mail, role)
    click.echo(f"{settings.own_url.rstrip('/')}/sign-in/invitation/{secret}")


@person.command("remove-factor")
@click.argument("name")
@_where
def remove_factor(name: str, **flags: str | None) -> None:
    """Ask NAME for no codes of a second factor any more, whose device is lost."""

    from ibi.people.store.people import SqlitePeople

    settings = settings_from(**flags)
    with opened_admin(settings) as admin, closing(SqlitePeople(settings.data)) as means:
        changed = admin.remove_factor(name, means)
    click.echo(f"{changed.name} signs in without a second factor.")


def _password() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _fields(one: Person) -> dict[str, object]:
    return {
        "name": one.name,
        "shown": one.full_name,
        "mail": one.mail,
        "language": one.language,
        "role": str(one.role),
        "created": str(one.created),
        "password": one.password_hash is not None,
        "disabled": None if one.disabled is None else str(one.disabled),
    }
