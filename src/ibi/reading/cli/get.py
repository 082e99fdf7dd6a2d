"""`ibi get` fetches the files of an item into a folder, and checks their digests."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibi.command.items import opened_items
from ibi.command.options import read_label, setting_options, settings_to_read
from ibi.command.output import as_json_option, print_json
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.items.model.file import File


@click.command()
@click.argument("label", metavar="LABEL")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path, file_okay=False))
@click.option("--version", "number", metavar="N", type=click.IntRange(min=1), help="As it was in that version.")
@as_json_option
@setting_options("data", "config", "server", "token")
def get(label: str, folder: Path, number: int | None, *, as_json: bool, **flags: str | None) -> None:
    """Fetch the files of an item into a folder; asked again, go on where it broke off."""
    from ibi.command.item_output import progress
    from ibi.reading.store import DownloadFolder

    settings, this = settings_to_read(**flags), read_label(label)
    with opened_items(settings) as items:
        files, read = items.files(this, number)
        if not files:
            raise click.ClickException(f"{printable(label)} has no files to fetch")
        downloads, size = DownloadFolder(folder), sum(file.size for file in files)
        with progress("fetching", size) as on_bytes:
            for file in files:
                is_new = downloads.fetch(file, partial(read, file), on_bytes)
                _tell(folder, file, is_new=is_new, as_json=as_json)


def _tell(folder: Path, file: File, *, is_new: bool, as_json: bool) -> None:
    place = str(folder / file.path)
    if as_json:
        print_json({"path": place, "size": file.size, "sha512": file.sha512, "fetched": is_new})
    else:
        click.echo(printable(place) if is_new else f"{printable(place)} is there already")
