"""`ibi resolver recover` restores a lost register from the Archives that store it. `ibi key trust-resolver` makes an
Archive trust a new key of its resolver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibi.command.options import setting_options
from ibi.command.output import as_json_option, print_json
from ibi.standard.errors import InvalidInput
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.resolver.service.register_recovery import RecoveredEntry, Recovery
    from ibi.standard.signing import PublicKey

_here = setting_options("data", "config")


@click.command()
@click.option("--from", "urls", metavar="URL", multiple=True, required=True, help="An Archive to ask; repeatable.")
@click.option("--key", metavar="KEY", help="The public key of the former resolver, as its Archives know it.")
@click.option("--dry-run", is_flag=True, help="Show what would be recovered, and change nothing.")
@as_json_option
@_here
def recover(urls: tuple[str, ...], *, key: str | None, dry_run: bool, as_json: bool, **flags: str | None) -> None:
    """Bring a lost register back: ask Archives for the signed register that each keeps, and take the newest."""
    from ibi.command.archive_store import local_settings
    from ibi.resolver.opening.recovery import recover_register

    recovery = recover_register(local_settings(flags), urls, _read_key(key), dry_run=dry_run)
    if as_json:
        print_json(_facts(recovery))
    else:
        _print(recovery, dry_run=dry_run)


def _read_key(key: str | None) -> PublicKey | None:
    from ibi.standard.signing import PublicKey

    try:
        return None if key is None else PublicKey.parse(key)
    except InvalidInput as error:
        raise click.BadParameter(str(error), param_hint="--key") from None


def _facts(recovery: Recovery) -> dict[str, object]:
    from ibi.standard.instant import Instant

    register, sources, _ = recovery.chosen
    return {
        "key": str(register.signer),
        "issued": str(Instant(register.issued)),
        "sources": [
            {
                "url": each.source,
                "verdict": each.verdict.value,
                "reason": each.reason,
                "issued": None if each.issued is None else str(Instant(each.issued)),
                "archives": each.archives,
            }
            for each in sources
        ],
        "archives": [
            {"labels": [label.spelling for label in each.labels], "outcome": each.outcome.value, "reason": each.reason}
            for each in recovery.entries
        ],
    }


def _print(recovery: Recovery, *, dry_run: bool) -> None:
    from ibi.standard.instant import Instant

    register, sources, _ = recovery.chosen
    done = "would be recovered" if dry_run else "is recovered"
    click.echo(f"The register of {Instant(register.issued)}, signed by {register.signer}, {done}.")
    for source in sources:
        when = "" if source.issued is None else f" (of {Instant(source.issued)}, {source.archives} Archives)"
        click.echo(printable(f"  {source.source}  {source.reason}{when}"))
    for entry in recovery.entries:
        click.echo(printable(f"  {entry.labels[0].spelling}  {_words(entry)}"))


def _words(entry: RecoveredEntry) -> str:
    from ibi.resolver.service.register_recovery import EntryOutcome

    if entry.outcome is EntryOutcome.REFUSED:
        return f"not registered: {entry.reason}"
    told = {
        EntryOutcome.RECOVERED: "registered; it brings its registration key with its next inclusion",
        EntryOutcome.NEEDS_MAIL: (
            "registered and asked, but needs its mail again (`ibi resolver read-mail`): it has no public key"
        ),
        EntryOutcome.KNOWN: "known already",
    }[entry.outcome]
    return f"{told}: {entry.reason}" if entry.reason else told


@click.command("trust-resolver")
@click.option("--key", metavar="KEY", help="The new public key, as the administrator of the resolver tells it.")
@as_json_option
@_here
def trust_resolver(*, key: str | None, as_json: bool, **flags: str | None) -> None:
    """Trust another key of the resolver, which has to prove it. Without --key it is shown, to be compared with what the
    administrator of the resolver tells. A running server goes on with it, without a restart."""
    from ibi.command.archive_store import local_settings
    from ibi.resolver.cli.key import note
    from ibi.resolver.opening.recovery import KeyNotProven, offered_key
    from ibi.resolver.opening.recovery import trust_resolver as trust

    settings, wanted = local_settings(flags), _read_key(key)
    if settings.resolver is None:
        raise click.ClickException("this Archive has no other resolver: the setting `resolver` names one")
    resolver = settings.resolver.rstrip("/")
    proven = offered_key(resolver).key
    assert proven is not None
    if wanted is None:
        click.echo(f"{resolver} proves the key {proven}", err=True)
        click.confirm("Is that the key that its administrator told you?", abort=True, err=True)
    elif wanted != proven:
        raise KeyNotProven(resolver=resolver, reason=f"proves the key {proven}, and not {wanted}")
    trusted = trust(settings, resolver, proven)
    note(settings, "trust key", "known resolver", f"{resolver} {trusted.before or 'unknown'} -> {proven}")
    if as_json:
        before = None if trusted.before is None else str(trusted.before)
        print_json({"resolver": resolver, "key": str(proven), "former": before, "archives": trusted.archives})
        return
    click.echo(f"{resolver} is known by the key {proven} from now on.")
    if trusted.archives is None:
        click.echo("ibi: its register is not taken yet: `ibi archive status` tells", err=True)
