"""`ibi archive switch-on|switch-off|registration-mail`: the Archive and its resolver (R §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibi.cli.options import setting_options
from ibi.cli.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.config import Settings
    from ibi.messages.label_forms import LabelForms
    from ibi.model.membership import Membership
    from ibi.storage.archive_state import MembershipFiles


_where = setting_options("data", "config", "server", "token")

_SERVER_TELLS = "the running server tells the resolver"
_NO_RESOLVER = "no resolver is told: `resolver` or `archive.registration_key` is not set"


@click.command("switch-on")
@as_json_option
@_where
def switch_on(*, as_json: bool, **flags: str | None) -> None:
    """Let the resolver ask this Archive: a running server has it included at once, and else the next one when it
    starts."""
    from ibi.cli.archive_store import local_settings
    from ibi.composition.membership import membership_request
    from ibi.storage.archive_state import MembershipFiles

    settings = local_settings(flags)
    request = membership_request(settings, settings.own_url, _service(settings))
    files = MembershipFiles(settings.data)
    files.switch(on=True)
    # R §7.2: to switch on is to expose on the Web. A reader must not be sent to an Archive that does not run.
    runs = not files.hold()
    files.release()
    told = _NO_RESOLVER if request is None else _SERVER_TELLS if runs else "the resolver is told when it starts"
    _say("on", told, settings, as_json=as_json)


@click.command("switch-off")
@as_json_option
@_where
def switch_off(*, as_json: bool, **flags: str | None) -> None:
    """Have the resolver no longer ask this Archive, until it is switched on again. Its pages and
    files answer 503 to all but signed-in people."""
    from ibi.cli.archive_store import local_settings
    from ibi.storage.archive_state import MembershipFiles

    settings = local_settings(flags)
    service = _service(settings)
    files = MembershipFiles(settings.data)
    files.switch(on=False)
    if not files.hold():
        _say("off", _SERVER_TELLS, settings, as_json=as_json)
        return
    try:
        after = _excluded(settings, service, files)
    finally:
        files.release()
    if after is not None and after.reason is not None:
        raise click.ClickException(f"switched off, but the resolver was not told: {after.reason}")
    _say("off", _NO_RESOLVER if after is None else "the resolver was told", settings, as_json=as_json)


@click.command("registration-mail")
@click.option("--from", "sender", metavar="ADDRESS", help="Who sends it; without it `archive.admin_email`.")
@click.option(
    "--to", "recipient", metavar="ADDRESS", help="Who registers Archives; makes it a whole message (RFC 5322)."
)
@click.option(
    "--one-form",
    is_flag=True,
    help="Only the lines that the standard has: without the other form, and without the public key.",
)
@_where
def registration_mail(sender: str | None, recipient: str | None, *, one_form: bool, **flags: str | None) -> None:
    """Write the e-mail that registers this Archive. It shows the registration key."""
    from ibi.cli.archive_store import local_settings
    from ibi.composition.membership import MembershipIncomplete
    from ibi.messages.key import RegistrationKey
    from ibi.messages.registration import SUBJECT, RegistrationMail
    from ibi.storage.key_files import KeyFiles
    from ibi.storage.machine import MachineClocks

    settings = local_settings(flags)
    key, sender = settings.archive.registration_key, sender or settings.archive.admin_email
    if key is None:
        raise MembershipIncomplete(missing="archive.registration_key")
    # The form by which the Archive is registered is the one that its requests give (R Table 7.2).
    label, *others = _service(settings).labels
    other = None if one_form or not others else others[0]
    signs = None if one_form else KeyFiles(settings.data).signing_key().public
    mail = RegistrationMail(label, RegistrationKey(key.reveal()), other, signs)
    if recipient is None:
        click.echo(f"{SUBJECT}\n\n{mail.body}", nl=False)
        return
    if sender is None:
        raise click.UsageError("--to needs --from, or the setting archive.admin_email")
    click.echo(mail.to_message(sender, recipient, MachineClocks().read().wall), nl=False)


MEMBERSHIP_COMMANDS = (registration_mail, switch_off, switch_on)


def _service(settings: Settings) -> LabelForms:
    from ibi.storage.archive_state import ArchiveRecordFile

    record = ArchiveRecordFile(settings.data).read()
    if record is None:
        raise click.ClickException("no Archive yet: `ibi archive init` begins one")
    return record.service


def _excluded(settings: Settings, service: LabelForms, files: MembershipFiles) -> Membership | None:
    """Ask the resolver to exclude the Archive; None if no resolver is configured. The caller holds the lock."""
    import asyncio

    from ibi.composition.membership import membership_request, resolver_gateway
    from ibi.model.membership import Membership, Phase, exclusion_of

    request = membership_request(settings, settings.own_url, service)
    if request is None or settings.resolver is None:
        return None
    outcome = asyncio.run(resolver_gateway(settings, settings.resolver).send(exclusion_of(request)))
    after = Membership(Phase.EXCLUDING, known=files.read().known).after(outcome)
    files.write(after)
    return after


def _say(switched: str, told: str, settings: Settings, *, as_json: bool) -> None:
    if as_json:
        from ibi.composition.membership import membership_status

        print_json(dict(membership_status(settings)))
    else:
        click.echo(f"Switched {switched}; {told}.")
