"""`ibi archive`: the Archive itself, its membership in a resolver (R §7), its move to another address (R §7.2), and the
holders of its Copies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from ibi.command.options import WholeHelpGroup, setting_options, settings_to_mint
from ibi.command.output import as_json_option, print_json, print_lines

if TYPE_CHECKING:
    from pathlib import Path

    from ibi.membership.model.membership import ArchiveRecord, Membership
    from ibi.membership.service.copy_holder_admin import CopyHolderAdmin
    from ibi.membership.store.archive_state import MembershipFiles
    from ibi.settings import Settings
    from ibi.standard.messages.identification import LabelForms

_where = setting_options("data", "config", "server", "token")


_SERVER_TELLS = "the running server tells the resolver"
_NO_RESOLVER = "no resolver is told: `resolver` or `archive.registration_key` is not set"


@click.command("switch-on")
@as_json_option
@_where
def switch_on(*, as_json: bool, **flags: str | None) -> None:
    """Let the resolver ask this Archive: a running server has it included at once, and else the next one when it
    starts."""
    from ibi.command.archive_store import local_settings
    from ibi.membership.opening.membership import membership_request
    from ibi.membership.store.archive_state import MembershipFiles

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
    from ibi.command.archive_store import local_settings
    from ibi.membership.store.archive_state import MembershipFiles

    settings = local_settings(flags)
    service = _service(settings)
    files = MembershipFiles(settings.data)
    files.switch(on=False)
    if not files.hold():
        _say("off", _SERVER_TELLS, settings, as_json=as_json)
        return
    try:
        after = _exclude(settings, service, files)
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
    from ibi.command.archive_store import local_settings
    from ibi.membership.opening.membership import MembershipIncomplete
    from ibi.membership.store.key_files import KeyFiles
    from ibi.standard.messages.identification import RegistrationKey
    from ibi.standard.messages.registration import MAIL_SUBJECT, RegistrationMail
    from ibi.storage.machine import MachineClocks

    settings = local_settings(flags)
    key, sender = settings.archive.registration_key, sender or settings.archive.admin_email
    if key is None:
        raise MembershipIncomplete(missing="archive.registration_key")
    # The Archive is registered by the form that its requests give (R Table 7.2).
    label, *others = _service(settings).labels
    other = None if one_form or not others else others[0]
    signs = None if one_form else KeyFiles(settings.data).signing_key().public
    mail = RegistrationMail(label, RegistrationKey(key.reveal()), other, signs)
    if recipient is None:
        click.echo(f"{MAIL_SUBJECT}\n\n{mail.body}", nl=False)
        return
    if sender is None:
        raise click.UsageError("--to needs --from, or the setting archive.admin_email")
    click.echo(mail.to_message(sender, recipient, MachineClocks().read().wall), nl=False)


MEMBERSHIP_COMMANDS = (registration_mail, switch_off, switch_on)


def _service(settings: Settings) -> LabelForms:
    from ibi.membership.store.archive_state import ArchiveRecordFile

    record = ArchiveRecordFile(settings.data).read()
    if record is None:
        raise click.ClickException("no Archive yet: `ibi archive init` begins one")
    return record.service


def _exclude(settings: Settings, service: LabelForms, files: MembershipFiles) -> Membership | None:
    """Ask the resolver to exclude the Archive. Return None if no resolver is configured. The caller holds the lock."""
    import asyncio

    from ibi.membership.model.membership import Membership, Phase, exclusion_of
    from ibi.membership.opening.membership import membership_request, resolver_gateway

    request = membership_request(settings, settings.own_url, service)
    if request is None or settings.resolver is None:
        return None
    outcome = asyncio.run(resolver_gateway(settings, settings.resolver).send(exclusion_of(request)))
    after = Membership(Phase.EXCLUDING, known=files.read().known).after(outcome)
    files.write(after)
    return after


def _say(switched: str, told: str, settings: Settings, *, as_json: bool) -> None:
    if as_json:
        from ibi.membership.opening.membership import membership_status

        print_json(dict(membership_status(settings)))
    else:
        click.echo(f"Switched {switched}; {told}.")


_NGINX = """\
server {{
    listen {port};
    server_name {host};
    return 308 {to}$request_uri;
}}"""
_CADDY = """\
{old} {{
    redir {to}{{uri}} 308
}}"""


@click.command()
@click.option("--to", "url", metavar="URL", required=True, help="Where readers will reach this Archive.")
@as_json_option
@setting_options("data", "config")
def move(url: str, *, as_json: bool, **flags: str | None) -> None:
    """Have this Archive known at another host or port, with the same items and labels. The server asks its resolver for
    one inclusion when it starts again; what the host before has to send on is printed."""
    from ibi.command.archive_store import local_settings
    from ibi.settings import change_setting

    settings = local_settings(flags)
    _require_archive(settings)
    before, after = settings.own_url, _read_url(url)
    if os.environ.get("IBI_PUBLIC_URL"):
        raise click.ClickException("IBI_PUBLIC_URL overrides the file of settings: set it to the new address instead")
    file = _settings_file(settings, flags)
    if before != after:
        change_setting(file, "public_url", after)
    facts = {
        "from": before,
        "to": after,
        "settings": str(file),
        "runs": _is_served(settings),
        "content_url": settings.content_url,
        "nginx": _redirect_of_nginx(before, after),
        "caddy": _CADDY.format(old=before, to=after),
    }
    if as_json:
        print_json(facts)
    else:
        _print(facts, settings)


def _print(facts: dict[str, object], settings: Settings) -> None:
    click.echo(f"This Archive moves from {facts['from']} to {facts['to']} ({facts['settings']}).")
    start = "Start its server again" if facts["runs"] else f"Start its server: ibi up --data {settings.data}"
    told = ", and it asks its resolver to be included there" if settings.resolver is not None else ""
    click.echo(f"{start}. Its own item then leads to the new address{told}.")
    if settings.content_url is not None:
        click.echo(f"Files stay at {settings.content_url}: change content_url, too, if that host goes.")
    click.echo("\nAddresses of files at the former host are in the world. Have it send them on, in nginx:\n")
    click.echo(facts["nginx"])
    click.echo(f"\nor in Caddy:\n\n{facts['caddy']}")


def _redirect_of_nginx(before: str, after: str) -> str:
    from ibi.standard.origin import Origin

    origin = Origin.of_url(before)
    port = f"{origin.effective_port} ssl" if origin.scheme == "https" else str(origin.effective_port)
    return _NGINX.format(port=port, host=origin.host, to=after)


def _read_url(url: str) -> str:
    from ibi.settings.settings import setting

    one = setting("public_url")
    try:
        return str(one.kind.read(url))
    except ValueError as error:
        reason = f": {error}" if str(error) else ""
        raise click.BadParameter(f"it is {one.kind.expected}{reason}", param_hint="--to") from None


def _require_archive(settings: Settings) -> None:
    from ibi.membership.store.archive_state import ArchiveRecordFile

    if ArchiveRecordFile(settings.data).read() is None:
        raise click.ClickException("no Archive yet: `ibi archive init` begins one")


def _settings_file(settings: Settings, flags: dict[str, str | None]) -> Path:
    from pathlib import Path

    from ibi.settings import FILE_NAME

    named = flags.get("config") or os.environ.get("IBI_CONFIG")
    return Path(named) if named else settings.data / FILE_NAME


def _is_served(settings: Settings) -> bool:
    """Return whether a server of this data directory runs."""
    from ibi.membership.store.archive_state import ServedAddress

    return ServedAddress(settings.data).is_claimed


@click.group(cls=WholeHelpGroup)
def archive() -> None:
    """Begin an Archive, see how it is, and have a resolver ask it."""


for _each in (*MEMBERSHIP_COMMANDS, move):
    archive.add_command(_each)


_where_holders = setting_options("data", "config")
_HOLDER_STATES = {
    "settings": "named in archive.copies_at",
    "named": "named",
    "offered": "offered: it follows this Archive",
    "declined": "declined",
}


@archive.group(cls=WholeHelpGroup)
def holders() -> None:
    """Name the Archives that hold Copies of the items here.

    Resolvers are told of them, signed, and ask them while this Archive does not answer. An Archive that follows this
    one is offered by itself, if it is registered at the same resolver. A running server needs no restart.

    \b
      ibi archive holders list
      ibi archive holders add LABEL
      ibi archive holders add LABEL=PREFIX,PREFIX
      ibi archive holders remove LABEL
    """


@holders.command("list")
@as_json_option
@_where_holders
def list_holders(*, as_json: bool, **flags: str | None) -> None:
    """List who is named as a holder of Copies, and who is offered."""
    with _holder_admin(flags) as admin:
        for each in admin.list_holders():
            if as_json:
                print_json(each)
                continue
            prefixes = "all items" if each["prefixes"] is None else ", ".join(each["prefixes"])
            since = f", last on {each['last']}" if each["last"] else ""
            click.echo(f"{each['archive']}  {prefixes}; {_HOLDER_STATES[each['state']]}{since}")


@holders.command("add")
@click.argument("holder", metavar="LABEL[=PREFIX,PREFIX]")
@as_json_option
@_where_holders
def add_holder(holder: str, *, as_json: bool, **flags: str | None) -> None:
    """Name an Archive by the label of its service. Of one that is offered, the label alone names it for what it
    follows."""
    with _holder_admin(flags) as admin:
        named = admin.add(holder)
    if as_json:
        print_json(named)
        return
    prefixes = "all items" if named["prefixes"] is None else f"items of {', '.join(named['prefixes'])}"
    click.echo(f"{named['archive']} is named as a holder of Copies of {prefixes}; a running server tells the resolver.")


@holders.command("remove")
@click.argument("label")
@as_json_option
@_where_holders
def remove_holder(label: str, *, as_json: bool, **flags: str | None) -> None:
    """Name an Archive no longer, or decline one that is offered. Either is listed as `declined` then, and is not
    offered. Remove it once more to take it off the list: if it follows, it is offered again."""
    with _holder_admin(flags) as admin:
        removed = admin.remove(label)
    if as_json:
        print_json(removed)
    else:
        click.echo(f"{removed['archive']} is not named as a holder of Copies.")


@contextmanager
def _holder_admin(flags: dict[str, str | None]) -> Iterator[CopyHolderAdmin]:
    import time

    from ibi.command.archive_store import local_settings
    from ibi.membership.service.copy_holder_admin import CopyHolderAdmin
    from ibi.membership.store.copy_holders import CopyHoldersFile
    from ibi.people.store.audit_log import FileAuditLog

    settings = local_settings(flags)
    own, settled = _service(settings), settings.archive.copies_at or ()
    with closing(FileAuditLog(settings.data)) as audit:
        yield CopyHolderAdmin(CopyHoldersFile(settings.data), own, settled, time.time, audit=audit)


@archive.command()
@click.option("--title", metavar="TEXT", default="Archive service", help="What the Archive's own item is called.")
@click.option(
    "--recover",
    metavar="[LABEL]",
    is_flag=False,
    flag_value="",
    help="Write a lost archive.json anew instead, from the item of the Archive in the store; LABEL if there are two.",
)
@as_json_option
@_where
def init(title: str, *, recover: str | None, as_json: bool, **flags: str | None) -> None:
    """Begin an Archive: its own service becomes an item with a label, by which resolvers will know it."""
    from ibi.command.archive_store import local_settings

    settings = local_settings(flags, settings_to_mint)
    if recover is None:
        begin_and_print(settings, title, as_json=as_json)
    else:
        _recover_and_print(settings, recover, as_json=as_json)


def _recover_and_print(settings: Settings, label: str, *, as_json: bool) -> None:
    from ibi.archive.service.beginning import recover_record
    from ibi.command.archive_store import opened_store
    from ibi.command.item_output import links, print_links
    from ibi.command.options import read_label
    from ibi.membership.store.archive_state import FILE_NAME, ArchiveRecordFile

    if (settings.data / FILE_NAME).exists():
        raise click.ClickException(f"{settings.data / FILE_NAME} is there: nothing has to be recovered")
    with opened_store(settings, changing=True) as store:
        record = recover_record(store, ArchiveRecordFile(settings.data), read_label(label) if label else None)
        item = store.find(record.service.labels[0])
        print_links("; ".join(item.metadata.titles()), links(item, settings), as_json=as_json)


def begin_and_print(settings: Settings, title: str, *, as_json: bool) -> None:
    """Begin the Archive of the data directory, and show the links of its own item."""
    from ibi.archive.service.beginning import begin_archive
    from ibi.command.archive_store import opened_archive, who
    from ibi.command.item_output import links, print_links
    from ibi.membership.store.archive_state import ArchiveRecordFile
    from ibi.membership.store.key_files import KeyFiles
    from ibi.storage.machine import MachineClocks
    from ibi.transfers.store.transfers import SqliteTransferLedger

    with opened_archive(settings, begin=True) as opened:
        if opened.record is not None:
            raise click.ClickException(f"this Archive was begun before, as {opened.record.service.labels[0]}")
        records = ArchiveRecordFile(settings.data)
        KeyFiles(settings.data).begin()
        record = begin_archive(
            *(opened.deposits, opened.store, records, MachineClocks().read().wall),
            public_url=settings.own_url,
            title=title,
            who=who(),
        )
        with closing(SqliteTransferLedger(settings.data, settings.lock_dir)) as ledger:
            ledger.keep_track()  # otherwise the first server takes the new directory for a restored one
        item = opened.store.find(record.service.labels[0])
        print_links("; ".join(item.metadata.titles()), links(item, settings), as_json=as_json)


@archive.command()
@as_json_option
@_where
def status(*, as_json: bool, **flags: str | None) -> None:
    """Show the labels and addresses of this Archive, whether its resolver asks it and its store is in order."""
    settings = settings_to_mint(**flags)
    if settings.is_remote:
        from ibi.command.remote_items import remote_standing

        fields = remote_standing(settings)
    else:
        fields = _status(settings)
    if as_json:
        print_json(fields)
        return
    lines = {name.replace("_", " "): _format_value(value) for name, value in fields.items() if value not in (None, [])}
    if (standing := lines.get("standing in")) is not None:
        lines["standing in"] = _explain_standing(standing)
    print_lines("An Archive" if fields["begun"] else "No Archive yet: `ibi archive init` begins one", lines)


def _explain_standing(text: str) -> str:
    """Return a standing with its explanation, or alone if this version does not know it."""
    from ibi.membership.model.membership import STANDING_IN

    words = next((words for standing, words in STANDING_IN.items() if standing.value == text), None)
    return text if words is None else f"{text}: {words}"


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _status(settings: Settings) -> dict[str, object]:
    from ibi.command.archive_store import opened_archive
    from ibi.items.opening.archive_store import STORE
    from ibi.items.opening.integrity_status import integrity_status
    from ibi.transfers.opening.doubt import doubt_status, read_doubt

    if not (settings.data / STORE).is_dir():  # asking for the status must not create a store
        return dict(_standing(settings, None, ()))
    with opened_archive(settings) as opened:
        return {
            **dict(_standing(settings, opened.record, opened.store.swept.unreadable)),
            **dict(integrity_status(opened.store)),
            **dict(doubt_status(read_doubt(settings))),
        }


def _standing(
    settings: Settings, record: ArchiveRecord | None, unreadable: Iterable[tuple[str, object]]
) -> Iterator[tuple[str, object]]:
    from ibi.membership.opening.membership import membership_status

    service = None if record is None else record.service
    yield "begun", service is not None
    yield "rep", None if service is None or service.rep is None else service.rep.spelling
    yield "ibip", None if service is None or service.ibip is None else service.ibip.spelling
    yield "data", str(settings.data)
    yield "public_url", settings.own_url
    yield "content_url", settings.content_url or settings.own_url
    yield "resolver", settings.resolver
    yield from membership_status(settings)
    yield "unreadable", [name for name, _ in unreadable]
