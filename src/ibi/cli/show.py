"""`ibi show` prints the record of an item, now or in an earlier version. `ibi get` fetches its files into a folder, and
checks their digests. `ibi versions` lists its versions: author, date, reason and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibi.cli.options import read_label, setting_options, settings_to_read
from ibi.cli.output import as_json_option, each, print_json
from ibi.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ibi.cli.item_output import Links
    from ibi.config import Settings
    from ibi.label import Label
    from ibi.model.file import File
    from ibi.model.item import Item
    from ibi.services.items.archive_store import ArchiveStore
    from ibi.services.items.versions import ItemVersion

    Opened = tuple[list[File], Callable[[File, int], Iterable[bytes]]]
    """The files of an item, and a function that reads one from an offset on."""


@click.command()
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@click.option("--version", "number", metavar="N", type=click.IntRange(min=1), help="As it was in that version.")
@as_json_option
@setting_options("data", "config", "server", "token")
def show(labels: tuple[str, ...], number: int | None, *, as_json: bool, **flags: str | None) -> None:
    """Show items: their labels, description, relations and files."""
    from ibi.cli.item_output import links, print_item

    settings = settings_to_read(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        client = records_client(settings)

        def read(label: str) -> tuple[Item, Links, bool]:
            this = read_label(label)
            record = client.record(this) if number is None else client.version(this, number)
            item = item_of(record, settings)
            return item, links_of(record, item), record.get("unconfirmed") is True

        each(labels, read, lambda found: print_item(*found[:2], as_json=as_json, is_unconfirmed=found[2]))
        return
    from ibi.cli.archive_store import is_unconfirmed, opened_store

    with opened_store(settings) as store:
        each(
            labels,
            lambda label: _item(store, read_label(label), number),
            lambda item: print_item(
                item, links(item, settings), as_json=as_json, is_unconfirmed=is_unconfirmed(settings, item)
            ),
        )


def _item(store: ArchiveStore, label: Label, number: int | None) -> Item:
    item = store.find(label)
    if number is None:
        return item
    from ibi.services.items.versions import Versions

    found = Versions(store.content, store.integrity).find(item, number).item
    if found is None:
        raise click.ClickException(f"version {number} of {label} has no record: the item was not here then")
    return found


# --- `ibi get` --------------------------------------------------------------------------------------------------------


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


# --- versions ---------------------------------------------------------------------------------------------------------


_A_PAGE = 100
_FILES = ("files_added", "files_changed", "files_removed")


@click.command()
@click.argument("label", metavar="LABEL")
@as_json_option
@setting_options("data", "config", "server", "token")
def versions(label: str, *, as_json: bool, **flags: str | None) -> None:
    """List the versions of an item, newest first: who made each, when and why, and what changed."""
    settings, this = settings_to_read(**flags), read_label(label)
    found = _remote_versions(settings, this) if settings.is_remote else _local_versions(settings, this)
    for version in found:
        if as_json:
            print_json(version)
        else:
            click.echo("\n".join(_lines(version)))


def _remote_versions(settings: Settings, label: Label) -> Iterator[dict[str, Any]]:
    from ibi.cli.remote_items import records_client

    for version in records_client(settings).versions(label):
        yield {name: value for name, value in version.items() if name != "links"}


def _local_versions(settings: Settings, label: Label) -> Iterator[dict[str, Any]]:
    from ibi.cli.archive_store import opened_store
    from ibi.services.items.versions import Versions

    with opened_store(settings) as store:
        item, before = store.find(label), None
        history = Versions(store.content, store.integrity)
        while page := history.list(item, before=before, most=_A_PAGE):
            yield from map(_version_document, page)
            before = page[-1].number


def _version_document(each: ItemVersion) -> dict[str, Any]:
    """Return the version in the form of a server's answer."""
    return {
        "number": each.number,
        "version": None if each.item is None else each.item.version,
        "current": each.is_current,
        "who": each.change.user,
        "message": each.change.message,
        "at": str(each.change.at),
        "changed": list(each.changes.fields),
        "files_added": list(each.changes.added),
        "files_changed": list(each.changes.changed),
        "files_removed": list(each.changes.removed),
    }


def _lines(each: dict[str, Any]) -> Iterator[str]:
    mark = "  (current)" if each.get("current") else ""
    # Without a token a server does not reveal the author.
    said = (printable(str(each[name])) for name in ("at", "who", "message") if each.get(name) is not None)
    yield "  ".join((str(each.get("number")), *said)) + mark
    for name in ("changed", *_FILES):
        values: Iterable[object] = each.get(name) or ()
        if values:
            yield f"   {name.replace('_', ' ')}: {', '.join(printable(str(value)) for value in values)}"
