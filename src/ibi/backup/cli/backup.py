"""`ibi backup` copies the data directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ibi.command.options import setting_options
from ibi.command.output import as_json_option, print_json
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.backup.model.backup import DamagedPart
    from ibi.backup.service.backing_up import BackupReport
    from ibi.backup.service.restoring import BackupCheck


SHOWN = 20
"""Damaged parts and newer items that are listed for people; JSON has all."""


@click.command()
@click.argument("place", metavar="PLACE")
@click.option(
    "--check",
    is_flag=True,
    help="Read all of the backup afterwards, compare it with its digests, and write again what is damaged.",
)
@click.option(
    "--check-only", is_flag=True, help="Read and compare alone; the next backup writes again what is damaged."
)
@as_json_option
@setting_options("data", "config", "server", "token")
def backup(place: str, *, check: bool, check_only: bool, as_json: bool, **flags: str | None) -> None:
    """Back up the data directory to PLACE, a folder or s3://BUCKET/PREFIX, beside a server that goes on working.

    What was acknowledged before is in it. The next backup to the same PLACE adds what is new, and the one before stays
    whole until that is done. PLACE holds keys: keep it as safe as the data directory.
    """
    from ibi.backup.opening import back_up, mend_backup, verify_backup
    from ibi.command.archive_store import local_settings
    from ibi.command.item_output import progress

    if not check_only:
        data = local_settings(flags).data
        with progress("backing up", None) as on_bytes:
            report = back_up(data, place, os.environ, on_bytes=on_bytes)
        _print_report(report, place, as_json=as_json)
    if check or check_only:
        with progress("checking", None) as on_bytes:
            checked = left = verify_backup(place, os.environ, on_bytes)
        if checked.damaged and not check_only:
            with progress("writing again", None) as on_bytes:
                left = mend_backup(data, place, os.environ, checked, on_bytes)
        _print_check(place, checked, None if check_only else left, as_json=as_json)
    if ((check or check_only) and checked.damaged) or (not check_only and report.damaged):
        raise SystemExit(1)


def _print_check(place: str, checked: BackupCheck, left: BackupCheck | None, *, as_json: bool) -> None:
    """Print the findings of a check. `left` is the damage that remains after the parts were written again."""
    manifest, parts = checked.manifest, checked.damaged
    print_damaged(parts, as_json=as_json)
    if as_json:
        damaged = [part._asdict() for part in parts]
        lasting = damaged if left is None else [part._asdict() for part in left.damaged]
        print_json(
            {
                "checked": manifest.number,
                "items": manifest.items,
                "bytes": manifest.size,
                "damaged": damaged,
                "left": lasting,
            }
        )
    elif not parts:
        click.echo(f"Read again: {manifest.items} items, and all else, are as they were written.")
    elif left is None:
        click.echo(f"{len(parts)} parts are damaged or missing. `ibi backup` writes them again, if the data directory")
        click.echo("still has them whole; `ibi restore --without-damaged` puts back all else.")
    elif left.damaged:
        click.echo(f"{len(parts)} parts were damaged or missing, and {len(left.damaged)} still are: the data directory")
        click.echo("does not have them whole. They stay as they are; see whether another backup has them.")
    else:
        click.echo(f"{len(parts)} parts were damaged or missing, and were written again: see to the disk of {place}.")


def print_damaged(parts: Sequence[DamagedPart], *, as_json: bool) -> None:
    """Print a line for each of the first damaged parts, for people."""
    if as_json:
        return
    for part in parts[:SHOWN]:
        click.echo(printable(f"ibi: damaged: {part}"), err=True)
    if len(parts) > SHOWN:
        click.echo(f"ibi: damaged: {len(parts) - SHOWN} more (--json lists all)", err=True)


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
                "mended": report.mended,
                "damaged": [name for name, _ in report.damaged],
            }
        )
        return
    content = f"{manifest.items} items, {len(manifest.files)} files"
    click.echo(f"Backup {manifest.number} of {manifest.begun}: {content}.")
    click.echo(f"{report.versions} versions of items were new; {report.written:,} bytes were written.")
    if report.mended:
        click.echo(f"{report.mended} parts that a check had found damaged were written again.")
