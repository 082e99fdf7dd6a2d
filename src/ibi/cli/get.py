"""`ibi get` fetches the files of an item into a folder, and checks their digests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibi.cli.options import read_label, setting_options, settings_to_read
from ibi.cli.output import as_json_option, print_json
from ibi.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ibi.config import Settings
    from ibi.label import Label
    from ibi.model.file import File

    Opened = tuple[list[File], Callable[[File, int], Iterable[bytes]]]
    """The files of an item, and a function that reads one from an offset on."""


@click.command()
@click.argument("label", metavar="LABEL")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path, file_okay=False))
@click.option("--version", "number", metavar="N", type=click.IntRange(min=1), help="As it was in that version.")
@as_json_option
@setting_options("data", "config", "server", "token")
def get(label: str, folder: Path, number: int | None, *, as_json: bool, **flags: str | None) -> None:
    """Fetch the files of an item into a folder; asked again, go on where it broke off."""
    from ibi.cli.item_output import progress
    from ibi.storage.item_download import DownloadFolder

    settings, this = settings_to_read(**flags), read_label(label)
    source = _remote(settings, this, number) if settings.is_remote else _local(settings, this, number)
    with source as (files, read_from):
        if not files:
            raise click.ClickException(f"{printable(label)} has no files to fetch")
        downloads, size = DownloadFolder(folder), sum(file.size for file in files)
        with progress("fetching", size) as on_bytes:
            for file in files:
                is_new = downloads.fetch(file, partial(read_from, file), on_bytes)
                _tell(folder, file, is_new=is_new, as_json=as_json)


def _tell(folder: Path, file: File, *, is_new: bool, as_json: bool) -> None:
    place = str(folder / file.path)
    if as_json:
        print_json({"path": place, "size": file.size, "sha512": file.sha512, "fetched": is_new})
    else:
        click.echo(printable(place) if is_new else f"{printable(place)} is there already")


@contextmanager
def _remote(settings: Settings, label: Label, number: int | None) -> Iterator[Opened]:
    from ibi.cli.remote_items import files_of, records_client

    client = records_client(settings)
    yield files_of(client, label, number, settings), lambda file, offset: client.file_from(label, file, number, offset)


@contextmanager
def _local(settings: Settings, label: Label, number: int | None) -> Iterator[Opened]:
    from ibi.cli.archive_store import opened_store
    from ibi.services.items.versions import Versions

    with opened_store(settings) as store:
        item = store.find(label)
        versions = Versions(store.content, store.integrity)
        history: Any = versions.list(item, before=None, most=1)[0] if number is None else versions.find(item, number)
        files = [] if history.item is None else list(history.item.files)

        def read_from(file: File, offset: int) -> Iterator[bytes]:
            with versions.open_file(item, history.number, file.path) as opened:
                yield from opened.pieces(offset, opened.size - offset)

        yield files, read_from
