"""`ibi versions` lists the versions of an item: author, date, reason and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import click

from ibi.command.items import opened_items
from ibi.command.options import read_label, setting_options, settings_to_read
from ibi.command.output import as_json_option, print_json
from ibi.standard.safe_text import printable

_FILES = ("files_added", "files_changed", "files_removed")


@click.command()
@click.argument("label", metavar="LABEL")
@as_json_option
@setting_options("data", "config", "server", "token")
def versions(label: str, *, as_json: bool, **flags: str | None) -> None:
    """List the versions of an item, newest first: who made each, when and why, and what changed."""
    settings, this = settings_to_read(**flags), read_label(label)
    with opened_items(settings) as items:
        for version in items.versions(this):
            if as_json:
                print_json(version)
            else:
                click.echo("\n".join(_lines(version)))


def _lines(each: dict[str, Any]) -> Iterator[str]:
    mark = "  (current)" if each.get("current") else ""
    # Without a token a server does not reveal the author.
    said = (printable(str(each[name])) for name in ("at", "who", "message") if each.get(name) is not None)
    yield "  ".join((str(each.get("number")), *said)) + mark
    for name in ("changed", *_FILES):
        values: Iterable[object] = each.get(name) or ()
        if values:
            yield f"   {name.replace('_', ' ')}: {', '.join(printable(str(value)) for value in values)}"
