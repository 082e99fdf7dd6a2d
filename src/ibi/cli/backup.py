"""`ibi backup`: a copy of the data directory from which it can be put back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from ibi.cli.options import setting_options
from ibi.cli.output import as_json_option, print_json
from ibi.safe_text import printable

if TYPE_CHECKING:
    from ibi.services.backups.backing_up import BackupReport


@click.command()
@click.argument("place", metavar="PLACE")
@click.option("--check", is_flag=True, help="Read all of the backup afterwards, and compare it with its digests.")
@click.option("--check-only", is_flag=True, help="The same, without backing anything up.")
@as_json_option
@setting_options("data", "config", "server", "token")
def backup(place: str, *, check: bool, check_only: bool, as_json: bool, **flags: str | None) -> None:
    """Back up the data directory to PLACE, a folder or s3://BUCKET/PREFIX, beside a server that goes on working.

    What was acknowledged before is in it. The next backup to the same PLACE adds what is new, and the one before stays
    whole until that is done. PLACE holds keys: keep it as safe as the data directory.
    """
    from ibi.cli.archive_store import local_settings
    from ibi.cli.item_output import progress
    from ibi.composition.backups import back_up, verify_backup

    if not check_only:
        data = local_settings(flags).data
        with progress("backing up", None) as on_bytes:
            report = back_up(data, place, os.environ, on_bytes=on_bytes)
        _print_report(report, place, as_json=as_json)
    if check or check_only:
        with progress("checking", None) as on_bytes:
            checked = verify_backup(place, os.environ, on_bytes)
        if as_json:
            print_json({"checked": checked.number, "items": checked.items, "bytes": checked.size})
        else:
            click.echo(f"Read again: {checked.items} items, and all else, are as they were written.")
    if not check_only and report.damaged:
        raise SystemExit(1)


def _print_report(report: BackupReport, place: str, *, as_json: bool) -> None:
    manifest = report.manifest
    for name, reason in report.damaged:
        click.echo(printable(f"ibi: {name} is damaged here, and was not backed up as it is: {reason}"), err=True)
    if as_json:
        print_json(
            {
                "place": place,
                "number": manifest.number,
                "begun": str(manifest.begun),
                "ended": str(manifest.ended),
                "items": manifest.items,
                "bytes": manifest.size,
                "files": len(manifest.files),
                "new_versions": report.versions,
                "written": report.written,
                "removed": report.removed,
                "damaged": [name for name, _ in report.damaged],
            }
        )
        return
    content = f"{manifest.items} items, {len(manifest.files)} files"
    click.echo(f"Backup {manifest.number} of {manifest.begun}: {content}.")
    click.echo(f"{report.versions} versions of items were new; {report.written:,} bytes were written.")
