"""`ibi versions` lists the versions of an item: author, date, reason and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from ibi.cli.options import read_label, setting_options, settings_to_read
from ibi.cli.output import as_json_option, print_json
from ibi.safe_text import printable

if TYPE_CHECKING:
    from ibi.config import Settings
    from ibi.label import Label
    from ibi.services.items.versions import ItemVersion


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
