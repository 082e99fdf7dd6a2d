"""`ibi restore` restores the data directory from a backup, or makes an earlier version of an item the newest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibi.backup.cli.backup import SHOWN, print_damaged
from ibi.command.options import read_label, setting_options, settings_from, settings_to_restore
from ibi.command.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.backup.opening import PutBack
    from ibi.settings import Settings
    from ibi.standard.instant import Instant


@click.command()
@click.argument("place", metavar="PLACE|LABEL")
@click.option(
    "--version",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    help="Of an item: the version to restore, as `ibi versions` numbers them.",
)
@click.option("--message", metavar="TEXT", help="Of an item: why, for its history.")
@click.option(
    "--old",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="What is left of the old data directory: say what it has that the backup has not.",
)
@click.option(
    "--issued-until", metavar="TIME", help="The old server may have minted up to then: mint after it (RFC 3339)."
)
@click.option(
    "--without-damaged",
    is_flag=True,
    help="Of a damaged backup: put back all that is whole, and leave the rest out.",
)
@as_json_option
@setting_options("data", "config", "server", "token")
def restore(
    place: str,
    number: int | None,
    message: str | None,
    old: Path | None,
    issued_until: str | None,
    *,
    without_damaged: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """Put the backup at PLACE, a folder or s3://BUCKET/PREFIX, back into an empty or missing data directory.

    Every file is compared with its digest. Interrupted, the same command goes on. Labels are minted again when the
    clock is past all that the old server may have issued, and no other server answers at the Archive's address.

    With --version N, make description and files of an earlier version of the item LABEL those of a new one; relations
    and visibility stay.
    """
    if number is not None:
        _restore_version(place, number, message, flags, as_json=as_json)
        return
    from ibi.backup.opening import restore as put_back
    from ibi.backup.ports import BackupDamaged
    from ibi.command.archive_store import local_settings
    from ibi.command.item_output import progress

    settings = local_settings(flags, settings_to_restore)
    _require_place(place)
    until = None if issued_until is None else _instant(issued_until)
    try:
        with progress("restoring", None) as on_bytes:
            done = put_back(
                settings.data,
                place,
                os.environ,
                reload=lambda: settings_to_restore(**flags),
                old=old,
                issued_until=until,
                without_damaged=without_damaged,
                on_bytes=on_bytes,
            )
    except BackupDamaged as error:
        print_damaged(error.parts, as_json=as_json)
        raise
    print_damaged(done.report.damaged, as_json=as_json)
    _print_put_back(done, settings, as_json=as_json)
    if done.unreadable or done.report.damaged:
        raise SystemExit(1)


def _require_place(place: str) -> None:
    """Raise an error with a hint if there is no such place: a label looks like a path, and the user may have forgotten
    the version."""
    if not place.startswith("s3://") and not Path(place).exists():
        raise click.ClickException(
            f"there is no backup at {place}; an item is restored to an earlier version with --version N"
        )


def _instant(text: str) -> Instant:
    from ibi.standard.instant import Instant

    return Instant.parse(text)


def _print_put_back(done: PutBack, settings: Settings, *, as_json: bool) -> None:
    manifest = done.report.manifest
    for name in done.unreadable:
        click.echo(f"ibi: {name} cannot be read", err=True)
    if as_json:
        print_json(_put_back_document(done, settings))
        return
    click.echo(f"{settings.data} is as it was at {manifest.begun}: {done.report.items} items.")
    click.echo("Whatever was deposited or changed after that is not in it.")
    _print_left_out(done, settings)
    if done.minted_until is not None and (manifest.issued is None or done.minted_until > manifest.issued):
        known = "none" if manifest.issued is None else f"the last one of {manifest.issued}"
        click.echo(f"Labels were minted since, until {done.minted_until} at least; the backup has {known}.")
    for name in done.newer[:SHOWN]:
        click.echo(f"  newer than the backup: {name}")
    if len(done.newer) > SHOWN:
        click.echo(f"  and {len(done.newer) - SHOWN} more (--json lists all)")
    if done.mints_after is not None:
        click.echo(
            f"Labels go on after {done.mints_after}. If the old server still runs, stop it before this one starts."
        )
    click.echo(
        "When its server starts, it asks the resolver and other Archives for transfers that this backup does not know,"
        " and compares every item that moved with them: `ibi transfers list` and `ibi doctor` show what is open."
    )


def _put_back_document(done: PutBack, settings: Settings) -> dict[str, object]:
    """Return the report of a restore as `--json` prints it."""
    manifest = done.report.manifest
    return {
        "data": str(settings.data),
        "number": manifest.number,
        "begun": str(manifest.begun),
        "ended": str(manifest.ended),
        "items": done.report.items,
        "files": len(manifest.files),
        "issued": None if manifest.issued is None else str(manifest.issued),
        "minted_until": None if done.minted_until is None else str(done.minted_until),
        "mints_after": None if done.mints_after is None else str(done.mints_after),
        "newer": done.newer,
        "unreadable": done.unreadable,
        "left_out": list(done.report.left_out),
        "left_out_files": list(done.report.left_out_files),
    }


def _print_left_out(done: PutBack, settings: Settings) -> None:
    from ibi.backup.model.data_files import LEFT_OUT

    items, files = list(done.report.left_out), list(done.report.left_out_files)
    for name in items[:SHOWN]:
        click.echo(f"  left out, its label stays taken: {name}")
    for path in files[:SHOWN]:
        click.echo(f"  left out: {path} ({lost_with(path)})")
    if items or files:
        click.echo(f"{settings.data / LEFT_OUT} has the {len(items)} items and {len(files)} files that were left out.")


_LOST = {
    "state.sqlite": "people, tokens, registered Archives and all else beside the items: begin them anew",
    "accounts.sqlite": "all tokens: create them anew",
    "people.sqlite": "the accounts of people: invite them anew",
    "registry.sqlite": "the Archives registered at this resolver: register them anew",
    "usage.sqlite": "counts of use",
    "beliefs.sqlite": "what this resolver learned from Archives: it learns anew",
    "copies.sqlite": "jobs that make Copies: begin them anew",
    "transfers.sqlite": "transfers under way: their senders begin them anew",
    "releases.sqlite": "releases of Originals: Archives tell them again",
    "subscriptions.sqlite": "follows and webhooks: set them up anew",
    "notifications.sqlite": "claims between Archives that waited",
    "collections.sqlite": "collections, not their items",
    "requests.sqlite": "what readers asked for",
    "reviews.sqlite": "which drafts waited for review: submit them anew",
    "mint/ticks.sqlite": "made anew from the mint log; keys of the last requests are forgotten",
    "ibi.toml": "the settings: write them anew before the server starts",
    "audit": "the audit log until now",
    "drafts": "a draft",
    "membership": "the membership: the server asks its resolver anew",
}


def lost_with(path: str) -> str:
    """Return the consequence of losing a file of the data directory."""
    return _LOST.get(path) or _LOST.get(path.partition("/")[0]) or "this file alone"


def _restore_version(
    label: str, number: int, message: str | None, flags: dict[str, str | None], *, as_json: bool
) -> None:
    from ibi.command.item_output import print_updated
    from ibi.command.items import item_changes

    settings, this = settings_from(**flags), read_label(label)
    print_updated(item_changes(settings).restore(this, number, message), as_json=as_json)
