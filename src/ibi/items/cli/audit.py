"""`ibi audit`: the log of changes in the data directory."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibi.command.options import setting_options
from ibi.command.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.people.model.account import AuditEntry
    from ibi.people.store.audit_log import FileAuditLog


@click.command()
@click.argument("label", metavar="[LABEL]", required=False)
@click.option("--verify", is_flag=True, help="Print nothing but whether the log is whole.")
@as_json_option
@setting_options("data", "config")
def audit(label: str | None, *, verify: bool, as_json: bool, **flags: str | None) -> None:
    """Show who changed which item, token, person or key, when and from where; of an item, if LABEL names one."""
    from ibi.command.archive_store import local_settings, opened_store
    from ibi.command.options import read_label
    from ibi.people.store.audit_log import FileAuditLog

    settings, subject = local_settings(flags), None
    if label is not None:
        with opened_store(settings) as store:
            subject = str(store.find(read_label(label)).rep)
    with closing(FileAuditLog(settings.data)) as log:
        if verify:
            _verify_log(log, settings.data)
            return
        for entry in log.entries():
            if subject in {None, entry.subject}:
                _print_entry(entry, as_json=as_json)


def _print_entry(entry: AuditEntry, *, as_json: bool) -> None:
    from ibi.standard.safe_text import printable

    if as_json:
        names = ("at", "act", "subject", "account", "token", "address", "detail")
        print_json({name: None if (said := getattr(entry, name)) is None else str(said) for name in names})
        return
    token = "" if entry.token is None else f" (token {entry.token})"
    who = f"{entry.account or 'command'}{token} from {entry.address}"
    click.echo(printable(f"{entry.at}  {entry.act:<10}  {entry.subject}  {who}  {entry.detail}".rstrip()))


def _verify_log(log: FileAuditLog, data: Path) -> None:
    """Read the whole log, and print its number of lines. Raise `AuditIncomplete` if a line says that the log before it
    was broken."""
    from ibi.people.model.account import LOG_BROKEN, AuditIncomplete

    lines, broken = 0, ""
    for entry in log.entries():
        lines += 1
        if entry.act == LOG_BROKEN and not broken:
            broken = f"line {lines}, of {entry.at}, says that the log before it was broken: {entry.detail}"
    if broken:
        raise AuditIncomplete(reason=broken)
    click.echo(f"{lines} lines, each bound to the one before it.")
    if not lines and _has_items(data):
        # Not a failure: stores of earlier versions have items from before there was a log.
        click.echo("There are items and no line tells of them: the log may begin later, or was removed.", err=True)


def _has_items(data: Path) -> bool:
    from ibi.items.opening.archive_store import STORE
    from ibi.items.store.ocfl.layout import names_in

    return (data / STORE).is_dir() and any(True for _ in names_in(str(data / STORE)))
