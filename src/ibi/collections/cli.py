"""`ibi collection`: named sets of items of the data directory, found by a search or chosen by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from ibi.command.archive_store import account_named, local_settings, opened_store
from ibi.command.options import WholeHelpGroup, read_label, setting_options
from ibi.command.output import as_json_option, print_json, print_lines

if TYPE_CHECKING:
    from ibi.collections.model import ItemCollection
    from ibi.collections.service import Collections
    from ibi.settings import Settings

_where = setting_options("data", "config")
_name = click.argument("name")
_labels = click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
_WORDS = (
    click.option("--title", metavar="TEXT", help="What it is called."),
    click.option("--description", metavar="TEXT", help="What it is, for its page."),
    click.option("--search", metavar="WORDS", help="What finds its items; an empty text has them chosen by hand."),
    click.option(
        "--curator",
        metavar="ACCOUNT",
        help="Who looks after it: a person or the name of tokens; empty for the Archive.",
    ),
)


def _words(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that describe a collection to a command."""
    for option in reversed(_WORDS):
        command = option(command)
    return command


@contextmanager
def _open_collections(settings: Settings) -> Iterator[Collections]:
    from ibi.collections.service import Collections
    from ibi.collections.store import SqliteCollections
    from ibi.people.store.audit_log import FileAuditLog
    from ibi.storage.machine import MachineClocks

    with (
        opened_store(settings, changing=True) as store,
        closing(SqliteCollections(settings.data)) as kept,
        closing(FileAuditLog(settings.data)) as audit,
    ):
        yield Collections(kept, store.catalog, MachineClocks(), audit=audit)


@click.group(cls=WholeHelpGroup)
def collection() -> None:
    """Make collections of items, and change what is in them."""


@collection.command("list")
@as_json_option
@_where
def list_collections(*, as_json: bool, **flags: str | None) -> None:
    """List the collections, in the order of their titles."""
    with _open_collections(local_settings(flags)) as collections:
        for each in collections.list():
            if as_json:
                print_json(_document(each))
            else:
                click.echo(f"{each.name}  {_safe(each.title)}")


@collection.command()
@_name
@as_json_option
@_where
def show(name: str, *, as_json: bool, **flags: str | None) -> None:
    """Show a collection, and the items that were chosen for it by hand."""
    with _open_collections(local_settings(flags)) as collections:
        found = collections.require(name)
        _print(found, [str(each) for each in collections.members(name)], as_json=as_json)


@collection.command()
@_name
@_words
@as_json_option
@_where
def create(name: str, *, as_json: bool, **values: str | None) -> None:
    """Make a collection; NAME stands in its address, and stays: small letters, digits and hyphens."""
    from ibi.collections.service import CollectionDraft
    from ibi.people.model.account import COMMAND

    settings, said = _settings_and_words(values)
    draft = CollectionDraft(
        title=said["title"] or name,
        description=said["description"] or "",
        search=_read_search(said["search"] or ""),
        curator=account_named(settings, said["curator"]),
    )
    with _open_collections(settings) as collections:
        _print(collections.create(COMMAND, name, draft), [], as_json=as_json)


@collection.command()
@_name
@_words
@as_json_option
@_where
def change(name: str, *, as_json: bool, **values: str | None) -> None:
    """Say something else of a collection: what is not given stays as it is."""
    from ibi.collections.service import CollectionDraft
    from ibi.people.model.account import COMMAND

    settings, said = _settings_and_words(values)
    with _open_collections(settings) as collections:
        now = collections.require(name)
        draft = CollectionDraft(
            title=now.title if said["title"] is None else said["title"],
            description=now.description if said["description"] is None else said["description"],
            search=now.search if said["search"] is None else _read_search(said["search"]),
            curator=now.curator if said["curator"] is None else account_named(settings, said["curator"]),
        )
        changed = collections.change(COMMAND, name, draft)
        _print(changed, [str(each) for each in collections.members(name)], as_json=as_json)


@collection.command()
@_name
@_where
def remove(name: str, **flags: str | None) -> None:
    """Remove a collection; its items stay as they are."""
    from ibi.people.model.account import COMMAND

    with _open_collections(local_settings(flags)) as collections:
        collections.remove(COMMAND, name)


@collection.command()
@_name
@_labels
@_where
def add(name: str, labels: tuple[str, ...], **flags: str | None) -> None:
    """Put items into a collection by hand."""
    from ibi.people.model.account import COMMAND

    with _open_collections(local_settings(flags)) as collections:
        click.echo(f"{collections.put(COMMAND, name, [read_label(each) for each in labels])} added")


@collection.command()
@_name
@_labels
@_where
def take(name: str, labels: tuple[str, ...], **flags: str | None) -> None:
    """Take items out of a collection."""
    from ibi.people.model.account import COMMAND

    with _open_collections(local_settings(flags)) as collections:
        click.echo(f"{collections.take_out(COMMAND, name, [read_label(each) for each in labels])} taken out")


def _settings_and_words(values: dict[str, str | None]) -> tuple[Settings, dict[str, str | None]]:
    said = {each: values.pop(each) for each in ("title", "description", "search", "curator")}
    return local_settings(values), said


def _read_search(words: str) -> Any:
    from ibi.collections.model import CollectionSearch

    return CollectionSearch(text=" ".join(words.split())) if words.strip() else None


def _print(found: ItemCollection, members: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({**_document(found), "items": members})
        return
    lines = {key: _safe(str(value)) for key, value in _document(found).items() if value and key != "title"}
    print_lines(_safe(found.title), lines)
    for each in members:
        click.echo(f"  {each}")


def _document(found: ItemCollection) -> dict[str, Any]:
    from ibi.people.model.account import shown_account

    search = found.search
    filters = () if search is None else search.filters
    words = None if search is None else " ".join((search.text, *(f"{facet.value}={value}" for facet, value in filters)))
    return {
        "name": found.name,
        "title": found.title,
        "description": found.description,
        "curator": shown_account(found.curator),
        "search": None if words is None else words.strip(),
        "created": str(found.created),
        "changed": str(found.changed),
    }


def _safe(text: str) -> str:
    from ibi.standard.safe_text import printable

    return printable(text)
