"""`ibi key`: the keys with which an Archive and a resolver sign."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ibi.command.options import WholeHelpGroup, setting_options, settings_from
from ibi.command.output import as_json_option, members_of, print_json, print_lines
from ibi.resolver.cli.recovery import trust_resolver
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.membership.store.key_files import KeyFiles
    from ibi.settings import Settings
    from ibi.standard.signing import PublicKey


_where = setting_options("data", "config", "server", "token")
_here = setting_options("data", "config")


@click.group(cls=WholeHelpGroup)
def key() -> None:
    """Show the keys with which the Archive and the resolver of a data directory sign, and replace them."""


@key.command()
@as_json_option
@_where
def show(*, as_json: bool, **flags: str | None) -> None:
    """Print the public keys of this place, and the key of its resolver as this Archive knows it."""
    settings = settings_from(**flags)
    facts = _remote_facts(settings) if settings.is_remote else _local_facts(settings)
    if as_json:
        print_json(facts)
        return
    lines = dict(_lines(facts))
    print_lines("Public keys" if lines else "No keys yet: they are made by `ibi init`, or at the first start", lines)


@key.command()
@click.option("--resolver", is_flag=True, help="That of the resolver, and not that of the Archive.")
@click.option("--lost", is_flag=True, help="The key before is lost: no backup has it. Others have to be told.")
@as_json_option
@_here
def replace(*, resolver: bool, lost: bool, as_json: bool, **flags: str | None) -> None:
    """Draw another key. The old one signs that the new one takes its place, and is then deleted: those who know the old
    one will believe the new one. A running server uses it within a second, and tells its resolver."""
    from ibi.command.archive_store import local_settings
    from ibi.membership.store.key_files import ARCHIVE, RESOLVER, KeyFiles

    settings = local_settings(flags)
    whose, signer = (RESOLVER, "The resolver") if resolver else (ARCHIVE, "The Archive")
    replaced = _replace_key(KeyFiles(settings.data, whose), lost=lost)
    detail = f"{replaced.former or 'one that could not be read'}{' (lost)' if lost else ''} -> {replaced.new}"
    note(settings, "replace key", whose, detail)
    if as_json:
        former = None if replaced.former is None else str(replaced.former)
        print_json({"key": str(replaced.new), "former": former})
        return
    click.echo(f"{signer} signs with {replaced.new} from now on.")
    if not replaced.is_named:
        why = "is lost" if lost else "could not be read"
        click.echo(f"ibi: the key before {why}: who knows it has to be told of the new one (docs/keys.md)", err=True)


class _ReplacedKey(NamedTuple):
    new: PublicKey
    former: PublicKey | None
    """The key before; None if it could not be read."""
    is_named: bool
    """True if the key before signed that the new one takes its place."""


def _replace_key(files: KeyFiles, *, lost: bool) -> _ReplacedKey:
    """Draw another key. Raise `ClickException` if there is no key, or if the key is there although it is called
    lost."""
    if not files.is_begun and files.lost is None:
        raise click.ClickException("there is no key yet: one is made by `ibi init`, or at the first start")
    if lost and files.is_begun:
        raise click.ClickException("the key is there, and not lost: leave --lost out, so that it names the new one")
    former, changes = files.former(), files.changes()
    new = (files.replace_lost() if lost else files.replace()).public
    before = next((each for each in files.former() if each not in former), None)
    return _ReplacedKey(new, before, is_named=files.changes() != changes)


@key.command("forget-resolver")
@_here
def forget_resolver(**flags: str | None) -> None:
    """Forget the key of the resolver: that of its next answer is believed, and kept, whoever gives it. To name the new
    key, use `ibi key trust-resolver`."""
    from ibi.command.archive_store import local_settings
    from ibi.membership.store.key_files import ResolverKeyFile

    settings = local_settings(flags)
    if settings.resolver is None:
        raise click.ClickException("this Archive has no other resolver: the setting `resolver` names one")
    if not ResolverKeyFile(settings.data).forget(settings.resolver.rstrip("/")):
        raise click.ClickException(f"no key of {settings.resolver} is known")
    note(settings, "forget key", "known resolver", settings.resolver)
    click.echo(f"The key of {settings.resolver} is forgotten.")


key.add_command(trust_resolver)


def note(settings: Settings, act: str, whose: str, detail: str) -> None:
    """Write the change of a key to the audit log: a person who could read the key may have left, and the date matters
    later."""
    from ibi.people.model.account import AuditEntry
    from ibi.people.store.audit_log import FileAuditLog
    from ibi.standard.instant import Instant
    from ibi.storage.machine import MachineClocks

    now = Instant(MachineClocks().seconds())
    with closing(FileAuditLog(settings.data)) as audit:
        audit.append([AuditEntry(now, act, f"key:{whose.replace(' ', '-')}", detail=detail)])


def _remote_facts(settings: Settings) -> dict[str, Any]:
    from ibi.net.api_client import ApiClient

    return members_of(ApiClient(settings.server or "").keys())


def _local_facts(settings: Settings) -> dict[str, Any]:
    from ibi.membership.store.key_files import ARCHIVE, RESOLVER, KeyFiles, ResolverKeyFile

    found: dict[str, Any] = {}
    for name in (ARCHIVE, RESOLVER):
        files = KeyFiles(settings.data, name)
        found[name] = None if not files.is_begun else _facts(files)
        if (lost := files.lost) is not None:
            click.echo(f"ibi: the key {lost} of the {name} is gone: put keys/ back from a backup", err=True)
    known = None if settings.resolver is None else ResolverKeyFile(settings.data).find(settings.resolver.rstrip("/"))
    return {**found, "known_resolver": None if known is None else {"url": settings.resolver, "key": str(known)}}


def _facts(files: KeyFiles) -> dict[str, object]:
    from ibi.membership.service.signers import KeyRing, signing_keys

    return members_of(signing_keys(KeyRing(files.signing_key(), files.former(), files.changes())))


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    lines = []
    for name in ("archive", "resolver"):
        found = facts.get(name)
        if isinstance(found, dict):
            lines.append((name, printable(str(found.get("key")))))
            former = found.get("former")
            if isinstance(former, list) and former:
                lines.append((f"{name}, before", printable(", ".join(map(str, former)))))
    known = facts.get("known_resolver")
    if isinstance(known, dict):
        lines.append((f"its resolver {known.get('url')}", str(known.get("key"))))
    return lines
