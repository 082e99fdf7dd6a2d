"""Output of items by the commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

from ibi.archive.rules.profile import ArchiveUrls
from ibi.command.output import print_json, print_lines
from ibi.items.model.item import Item
from ibi.items.model.item_json import item_document, local_document
from ibi.items.model.metadata import Agent
from ibi.people.model.account import shown_account
from ibi.settings import Settings
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.safe_text import printable
from ibi.standard.vocabulary import State

if TYPE_CHECKING:
    from collections.abc import Callable


_WITH_PROGRESS = 1 << 24
"""Bytes below which no progress bar is shown: it would be gone before it is read."""


Links = Mapping[str, str | None]
"""`rep`, `ibip`, `persistent_url` and `url`."""


def links(item: Item, settings: Settings) -> Links:
    """Return the labels of an item, its persistent URL and its URL in this Archive."""
    label: Label = item.labels.ibip or item.rep
    return {
        "rep": item.rep.spelling,
        "ibip": None if item.labels.ibip is None else item.labels.ibip.spelling,
        "persistent_url": PersistentUrl(label).text(settings.resolver or settings.own_url),
        "url": _url(item, settings),
    }


def _url(item: Item, settings: Settings) -> str:
    urls = ArchiveUrls(settings.own_url, settings.content_url or settings.own_url)
    if item.target_url is not None:
        return item.target_url
    return urls.metadata(item, None, None) if item.target is None else urls.file(item, item.target)


def print_links(title: str, found: Links, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        print_lines(printable(title), {name.replace("_", " "): printable(text) for name, text in found.items() if text})


class PublishedItem(NamedTuple):
    """An item after a deposit or an update."""

    title: str
    links: Links
    version: int = 1
    removed: Sequence[str] = ()
    """Files that the version before had. Links to them no longer work."""
    warnings: Iterable[str] = ()
    """Warnings for the depositor. To find them may take a while, so they are read last."""

    @classmethod
    def of(cls, item: Item, found: Links, removed: Sequence[str] = (), warnings: Iterable[str] = ()) -> PublishedItem:
        return cls("; ".join(item.metadata.titles()), found, item.version, removed, warnings)


def print_deposited(published: PublishedItem, *, as_json: bool) -> None:
    print_links(published.title, published.links, as_json=as_json)
    _print_warnings(published)


def print_updated(published: PublishedItem, *, as_json: bool) -> None:
    """Print an item after an update, and the removed files."""
    if as_json:
        print_json({**published.links, "version": published.version, "removed": list(published.removed)})
    else:
        for path in published.removed:
            click.echo(f"ibi: {printable(path)} is gone from the item: links to it lead nowhere from now on", err=True)
        print_links(published.title, published.links, as_json=False)
    _print_warnings(published)


def _print_warnings(published: PublishedItem) -> None:
    for warning in published.warnings:
        click.echo(f"ibi: {warning}", err=True)


def print_item(item: Item, found: Links, *, as_json: bool, is_unconfirmed: bool = False) -> None:
    """Print an item. `is_unconfirmed` means that its Archive may have given the Original away and does not know yet."""
    if as_json:
        unconfirmed = {"unconfirmed": True} if is_unconfirmed else {}
        print_json({**found, **unconfirmed, "item": item_document(item), "local": local_document(item)})
    else:
        lines = {name: printable(text) for name, text in _lines(item, found)}
        if is_unconfirmed:
            lines["state"] += ", being confirmed: this Archive may have been put back from a backup"
        print_lines(printable("; ".join(item.metadata.titles())) or str(item.rep), lines)


def _lines(item: Item, found: Links) -> Iterator[tuple[str, str]]:
    for name, text in found.items():
        if text and not (item.state is State.DELETED and name == "url"):
            yield name.replace("_", " "), text
    yield "state", item.state.value
    yield from _original(item)
    yield "created", str(item.created)
    yield "updated", f"{item.updated}, version {item.version}"
    yield from _description(item)
    yield from _relations(item)
    yield from _access(item)
    for file in item.files:
        mark = "  (target)" if file.path == item.target else ""
        yield f"file {file.path}", f"{file.size} bytes, {file.media_type}{mark}"


def _original(item: Item) -> Iterator[tuple[str, str]]:
    """Yield the place of a Copy's Original, as far as the Copy knows, and its deletion."""
    if item.source is not None:
        protocol = "http" if item.source_protocol is None else item.source_protocol.value.lower()
        yield "taken from", f"{protocol}://{item.source}"
    if item.transferred_to is not None:
        yield "given to", str(item.transferred_to)
    if item.original_tombstone is not None:
        yield "original", f"deleted {item.original_tombstone.when}: {item.original_tombstone.why}"


def _description(item: Item) -> Iterator[tuple[str, str]]:
    if item.language is not None:
        yield "language", str(item.language)
    if item.metadata.creator:
        yield "creator", "; ".join(map(_format_agent, item.metadata.creator))
    for element in ("publisher", "date", "subject", "type"):
        values = item.metadata.values(element)
        if values:
            yield element, "; ".join(map(str, values))
    if item.metadata.resource_type is not None:
        yield "kind", str(item.metadata.resource_type)
    if item.metadata.licence is not None:
        yield "licence", str(item.metadata.licence)
    if item.alternates:
        yield "also named", " ".join(map(str, item.alternates))


def _format_agent(agent: Agent) -> str:
    """Return an agent in the form that `ibi deposit` accepts."""
    return agent.name if agent.orcid is None else f"{agent.name} <{agent.orcid}>"


def _relations(item: Item) -> Iterator[tuple[str, str]]:
    for name in ("edition_of", "next_edition", "translation_of", "metadata_item", "describes"):
        forms: LabelForms | None = getattr(item, name)
        if forms is not None:
            yield name.replace("_", " "), str(forms.labels[0])
    for tag, forms in item.translations:
        yield f"in {tag}", str(forms.labels[0])


def _access(item: Item) -> Iterator[tuple[str, str]]:
    if item.owner is not None:
        yield "owner", shown_account(item.owner)
    if item.visibility.embargo is not None:
        reason = item.visibility.embargo_reason
        yield "embargo", f"until {item.visibility.embargo}{'' if reason is None else f': {reason}'}"
    if item.visibility.networks:
        yield "readers", f"only from {', '.join(map(str, item.visibility.networks))}"
    if item.tombstone is not None:
        yield "deleted", f"{item.tombstone.when}: {item.tombstone.why}"
        if item.tombstone.replaced_by is not None:
            yield "replaced by", str(item.tombstone.replaced_by.labels[0])


@contextmanager
def progress(what: str, size: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar in bytes on a terminal for long operations. `size` is None if it is unknown."""
    import sys

    if (size is not None and size < _WITH_PROGRESS) or not sys.stderr.isatty():
        yield lambda length: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=size)
        yield lambda length: bar.advance(task, length)
