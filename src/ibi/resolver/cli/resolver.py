"""`ibi resolver`: the Archives that a resolver asks (R §7.1), and disputes over Originals (E93)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ibi.command.options import WholeHelpGroup, setting_options, settings_from
from ibi.command.output import as_json_option, members_of, print_json
from ibi.resolver.cli.recovery import recover
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.membership.resources import ArchiveApplication, ArchiveChange, LetterResource, RegisteredArchiveResource
    from ibi.resolver.resources import BeliefsResource, BelievedHolder, BelievedHome, DisputeResource
    from ibi.settings import Settings

_where = setting_options("data", "config", "server", "token")


@click.command()
@click.option("--all", "settled", is_flag=True, help="List those that are settled, too.")
@as_json_option
@_where
def disputes(*, settled: bool, as_json: bool, **flags: str | None) -> None:
    """List the Originals that a second Archive claims. Links lead to the known holder; `ibi resolver settle` says who
    is right."""
    from ibi.command.archive_store import who
    from ibi.resolver.opening.resolver import open_disputes

    with open_disputes(settings_from(**flags), who()) as source:
        _print(source.list_disputes(settled=settled), as_json=as_json)


@click.command()
@click.argument("label", metavar="LABEL")
@click.option("--holder", metavar="SERVICE_IBI", required=True, help="The Archive that holds the Original.")
@as_json_option
@_where
def settle(label: str, holder: str, *, as_json: bool, **flags: str | None) -> None:
    """Say which of the Archives that claim an item holds its Original. Links lead there from now on."""
    from ibi.command.archive_store import who
    from ibi.resolver.opening.resolver import open_disputes

    with open_disputes(settings_from(**flags), who()) as source:
        _print(source.settle_dispute(label, holder), as_json=as_json)


def _print(found: list[DisputeResource], *, as_json: bool) -> None:
    for each in found:
        if as_json:
            print_json(members_of(each))
        else:
            click.echo(printable(_line(each)))


def _line(dispute: DisputeResource) -> str:
    state = f"settled ({dispute.settled})" if dispute.settled else "open"
    claimed = f"{dispute.claimant} claims {dispute.claim}, last {dispute.last_seen}"
    return f"{dispute.label}  {state}  held by {dispute.holder}; {claimed}"


DISPUTE_COMMANDS = (disputes, settle)


_admin_mail = click.option(
    "--admin-mail", metavar="ADDRESS", help="Who runs the Archive, and is told that it is registered."
)
_hosts = click.option(
    "--host",
    "hosts",
    metavar="HOST",
    multiple=True,
    help="Where its URLs may lead besides its own address; repeatable.",
)
_networks = click.option(
    "--allow-network",
    "networks",
    metavar="CIDR",
    multiple=True,
    help="A network, not of the whole Internet, in which it may be dialled; repeatable.",
)
_prefixes = click.option(
    "--prefix",
    "prefixes",
    metavar="PREFIX",
    multiple=True,
    help="A prefix of labels of which it is the home besides that of its own label; repeatable.",
)
_shared = click.option("--shared", is_flag=True, help="Let it have a prefix that another Archive has, too.")
_archive_key = click.option(
    "--archive-key", metavar="KEY", help="The public key with which it signs, as `ibi key show` prints it there."
)
_weak = click.option(
    "--allow-weak-key",
    is_flag=True,
    help="Accept a key that is tried first, such as 1234567890; a sandbox always does.",
)


@click.group(cls=WholeHelpGroup)
def resolver() -> None:
    """Register Archives with the resolver, list them, change them and take them off; settle disputes."""


for _each in (*DISPUTE_COMMANDS, recover):
    resolver.add_command(_each)


@resolver.command()
@click.argument("labels", metavar="SERVICE_IBI...", nargs=-1, required=True)
@click.option("--key-stdin", is_flag=True, help="Read the registration key from the first line of standard input.")
@click.option("--replace", is_flag=True, help="Give an Archive that is registered this new key; it stays included.")
@_admin_mail
@_hosts
@_networks
@_prefixes
@_shared
@_archive_key
@_weak
@as_json_option
@_where
def register(labels: tuple[str, ...], *, key_stdin: bool, as_json: bool, **options: Any) -> None:
    """Register the Archive whose service has this IBI, given in one or both of its forms. Its key is asked for."""
    from ibi.membership.resources import ArchiveApplication

    settings = _settings(options)
    key = _key_from_stdin() if key_stdin else _key(settings)
    _register(settings, ArchiveApplication(labels=labels, key=key, **options), as_json=as_json)


@resolver.command("read-mail")
@click.argument("mail", metavar="FILE", type=click.File("rb"))
@_admin_mail
@_hosts
@_networks
@_prefixes
@_shared
@_weak
@as_json_option
@_where
def read_mail(mail: BinaryIO, *, as_json: bool, **options: Any) -> None:
    """Register the Archive that an e-mail asks to register; `-` reads it from standard input. Whether it comes from
    who it says is for you to judge."""
    from ibi.membership.resources import ArchiveApplication
    from ibi.membership.service.mails import sender_of
    from ibi.standard.messages.registration import MAIL_LIMIT, RegistrationMail

    settings = _settings(options)
    raw = mail.read(MAIL_LIMIT + 1)
    wanted = RegistrationMail.parse(raw)
    options["admin_mail"] = options["admin_mail"] or sender_of(raw)
    labels = tuple(label.spelling for label in wanted.labels)
    key = None if wanted.archive_key is None else str(wanted.archive_key)
    application = ArchiveApplication(labels=labels, key=wanted.key.reveal(), archive_key=key, **options)
    _register(settings, application, as_json=as_json)


@resolver.command("list")
@as_json_option
@_where
def list_archives(*, as_json: bool, **flags: str | None) -> None:
    """List the Archives that are registered, switched on or not."""
    from ibi.resolver.opening.register import open_register

    with open_register(settings_from(**flags)) as admin:
        for each in admin.list_archives():
            if as_json:
                print_json(members_of(each))
            else:
                click.echo(f"{_name(each)}  {_state(each)}{_remarks(each)}")


@resolver.command()
@click.argument("about", metavar="LABEL|PREFIX")
@as_json_option
@_where
def beliefs(about: str, *, as_json: bool, **flags: str | None) -> None:
    """Tell who is believed about a label, or about the labels of a prefix, and why. No Archive is asked."""
    from ibi.resolver.opening.resolver import open_beliefs

    with open_beliefs(settings_from(**flags)) as source:
        found = source.about(about)
    if as_json:
        print_json(members_of(found))
    else:
        click.echo(printable(found.label or found.prefix))
        lines = _belief_lines(found)
        width = max((len(name) for name, _ in lines), default=0)
        for name, text in lines:
            click.echo(f"  {name:<{width}}  {text}")


_WHY = {
    "home": "the home of the label",
    "successor": "to whom the home says that it gave the Original",
    "ruling": "as the administrator said when two Archives claimed the Original",
    "holder": "who held the Original when it was last asked; the label has no home",
}


def _belief_lines(found: BeliefsResource) -> list[tuple[str, str]]:
    """Return the beliefs line by line. A name may have several lines."""
    lines = [] if found.believed is None else [("believed", _holder_words(found.believed))]
    for home in found.homes:
        lines.append(("home of the prefix", _home_words(home)))
        if home.copies_at:
            says = "Copies, it signed" if home.copies_signed else "Copies, it says"
            lines.append((says, f"{', '.join(home.copies_at)}, since {home.copies_named}"))
    if found.successors:
        lines.append(("given on to", " → ".join(found.successors)))
    if found.given_on:
        lines.append(("Originals given on", str(found.given_on)))
    if (deleted := found.deleted) is not None:
        when = f"on {deleted.when}, " if deleted.when else ""
        lines.append(("deleted", f"{when}as {deleted.archive} said"))
    if found.vouched:
        lines.append(("vouched for", ", ".join(found.vouched)))
    for claim in found.claims:
        text = f"{claim.claimant} claims {claim.claim} of {claim.label}"
        seen = f"{claim.times} times, last {claim.last_seen}"
        lines.append(("contradicted", f"{text}, against {claim.home}, {seen}"))
    return [(name, printable(text)) for name, text in lines]


def _holder_words(believed: BelievedHolder) -> str:
    if believed.archive is None:
        return "no Archive: the label has no home here, and its holder is not known"
    since = f", since {believed.since}" if believed.since else ""
    return f"{believed.archive}, {_WHY.get(believed.why, believed.why)}{since}"


def _home_words(home: BelievedHome) -> str:
    words = [home.archive]
    if home.own:
        words.append("the Archive of this server")
    elif home.included:
        words.append(f"at {home.address}")
    else:
        words.append("switched off")
    if home.registered:
        words.append(f"registered {home.registered}")
    if home.shared:
        words.append("shared")
    if home.successor:
        words.append(f"succeeded by {home.successor}")
    return ", ".join(words)


@resolver.command()
@click.argument("label", metavar="SERVICE_IBI")
@as_json_option
@_where
def forget(label: str, *, as_json: bool, **flags: str | None) -> None:
    """Take an Archive off the register: it is no longer asked, and its key is worth nothing any more."""
    from ibi.resolver.opening.register import open_register

    with open_register(settings_from(**flags)) as admin:
        forgotten = admin.forget_archive(label)
    if as_json:
        print_json(members_of(forgotten))
    else:
        click.echo(f"{_name(forgotten)} is forgotten.")


@resolver.command("allow-network")
@click.argument("label", metavar="SERVICE_IBI")
@click.argument("cidr", metavar="CIDR")
@click.option("--undo", is_flag=True, help="Allow it no longer.")
@as_json_option
@_where
def allow_network(label: str, cidr: str, *, undo: bool, as_json: bool, **flags: str | None) -> None:
    """Let an Archive be dialled in a network that is not of the whole Internet, such as 10.0.0.0/8."""
    from ibi.resolver.opening.register import open_register

    with open_register(settings_from(**flags)) as admin:
        changed = admin.allow_networks(label, () if undo else (cidr,), (cidr,) if undo else ())
    if as_json:
        print_json(members_of(changed))
        return
    allowed = ", ".join(changed.networks or ()) or "no network of its own"
    click.echo(f"{_name(changed)} may be dialled in {allowed}.")


@resolver.command("set")
@click.argument("label", metavar="SERVICE_IBI")
@click.option("--label", "form", metavar="OTHER_FORM", help="The other form of its label.")
@click.option(
    "--prefix", "add_prefixes", metavar="PREFIX", multiple=True, help="It is the home of this one; repeatable."
)
@click.option("--remove-prefix", "remove_prefixes", metavar="PREFIX", multiple=True, help="No longer; repeatable.")
@click.option(
    "--shared/--not-shared", default=None, help="Let it have a prefix that another Archive has, or no longer."
)
@click.option(
    "--vouched/--not-vouched",
    default=None,
    help="Follow what it claims while the home of an item is silent, or no longer.",
)
@click.option("--successor", metavar="SERVICE_IBI", help="Another Archive, to speak for this one, which is gone.")
@click.option("--no-successor", is_flag=True, help="No Archive speaks for this one any more.")
@click.option("--lost/--not-lost", default=None, help="It is lost, and its successor may take its Originals; or not.")
@click.option("--host", "add_hosts", metavar="HOST", multiple=True, help="Its URLs may lead there; repeatable.")
@click.option("--remove-host", "remove_hosts", metavar="HOST", multiple=True, help="No longer; repeatable.")
@click.option("--allow-network", "allow", metavar="CIDR", multiple=True, help="It may be dialled there; repeatable.")
@click.option("--remove-network", "disallow", metavar="CIDR", multiple=True, help="No longer; repeatable.")
@click.option("--admin-mail", metavar="ADDRESS", help="Who runs the Archive.")
@_archive_key
@click.option("--forget-archive-key", is_flag=True, help="Believe the next key that it proves, or no signature at all.")
@as_json_option
@_where
def set_archive(label: str, *, form: str | None, as_json: bool, **options: Any) -> None:
    """Change what is registered of an Archive, without its key. It keeps its seniority and stays included."""
    from ibi.membership.resources import ArchiveChange
    from ibi.resolver.opening.register import open_register

    settings = _settings(options)
    change = _change_words({"label": form, **options})
    if change == ArchiveChange():
        raise click.UsageError("say what to change: `ibi resolver set --help` lists it")
    with open_register(settings) as admin:
        changed = admin.change_archive(label, change)
    if as_json:
        print_json(members_of(changed))
    else:
        click.echo(f"{_name(changed)} is changed.{_remarks(changed)}")


def _change_words(options: dict[str, Any]) -> ArchiveChange:
    """Return the given options of `set`."""
    from ibi.membership.resources import ArchiveChange

    return ArchiveChange(**options)


def _settings(options: dict[str, Any]) -> Settings:
    """Return the settings from the flags in `options`, and remove these flags from it."""
    return settings_from(**{name: options.pop(name) for name in ("data", "config", "server", "token")})


def _register(settings: Settings, wanted: ArchiveApplication, *, as_json: bool) -> None:
    from ibi.resolver.opening.register import open_register

    with open_register(settings) as admin:
        registered = admin.register_archive(wanted)
    if as_json:
        print_json(members_of(registered))
    else:
        click.echo(f"{_name(registered)} {'has a new key' if wanted.replace else 'is registered'}.")
    for warning in registered.warnings:
        click.echo(f"ibi: {warning}", err=True)
    if registered.letter is not None:
        _tell_of_letter(registered.letter, quiet=as_json)


def _tell_of_letter(letter: LetterResource, *, quiet: bool) -> None:
    """Print an e-mail that was not sent, so that the user can send it."""
    if letter.sent:
        if not quiet:
            click.echo(f"{letter.to} was told by e-mail.")
        return
    if not quiet:
        click.echo(f"\nTo: {letter.to}\nSubject: {letter.subject}\n\n{letter.text}", nl=False)
    if letter.reason:
        raise click.ClickException(f"registered, but its administrator was not told. {letter.reason}")


def _key(settings: Settings) -> str:
    """Return the key from its variable, or ask for it twice on the terminal."""
    if settings.registration_key is not None:
        return settings.registration_key.reveal()
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask for the key at: give --key-stdin, or IBI_REGISTRATION_KEY")
    key: str = click.prompt("Registration key", hide_input=True, confirmation_prompt="Again")
    return key


def _key_from_stdin() -> str:
    from ibi.standard.messages.identification import MAX_KEY

    # A key never begins or ends with a blank.
    return sys.stdin.readline(MAX_KEY + 64).strip()


def _name(archive: RegisteredArchiveResource) -> str:
    return str(archive.rep or archive.ibip)


def _state(archive: RegisteredArchiveResource) -> str:
    failure = archive.failure
    failed = "" if failure is None else f" ({failure.at}: {failure.detail})"
    if not archive.included:
        return f"switched off{failed}"
    reached = "confirmed" if archive.confirmed else "not reached"
    if failed and archive.confirmed:
        reached = "confirmed, but not reached"
    return f"included  {archive.address}  {reached}{failed}  since {archive.since}"


def _remarks(archive: RegisteredArchiveResource) -> str:
    """Return the differences between an Archive and one that is only the home of its own labels."""
    found = [word for word, is_said in (("shared", archive.shared), ("vouched", archive.vouched)) if is_said]
    if archive.prefixes:
        found.append(f"home of {', '.join(archive.prefixes)}")
    if archive.successor:
        found.append(f"{'lost, and ' if archive.lost else ''}succeeded by {archive.successor}")
    if archive.key:
        found.append(f"signs with {archive.key}")
    if archive.pending:
        found.append(f"wants to be at {archive.pending.address}, not confirmed")
    if archive.awaits_key:
        brings = "brings its registration key with its next inclusion"
        found.append(brings if archive.key else "needs its mail again (`ibi resolver read-mail`)")
    if archive.waiting:
        found.append(f"says it is also {archive.waiting}, not proven (`ibi resolver set --label`)")
    return f"  {'; '.join(found)}" if found else ""
